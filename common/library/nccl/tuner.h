/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface between NCCL and a tuner plugin, versions 2 to 7 (NCCL 2.21 to 2.32), declared by
 * hand, and the table by which this project's plugin chooses. A line of the table is
 *
 *	FUNCTION FROM TO ALGORITHM PROTOCOL CHANNELS
 *	allreduce 0 65536 ring ll 4
 *
 * with sizes from FROM to TO bytes, both included; 0 channels leave their number to NCCL. `#`
 * begins a comment. The first line that matches counts; NCCL ignores a choice that it cannot use.
 */
#ifndef FB_COMMON_LIBRARY_NCCL_TUNER_H
#define FB_COMMON_LIBRARY_NCCL_TUNER_H

#include <stddef.h>
#include <stdint.h>

/*
 * For a program that has loaded the plugin (plugin.h): collectives use this algorithm (NULL: NCCL
 * or the table chooses) with this protocol (NULL: any), named as in the table, until the program
 * calls this again. 0, or -1 for an unknown name. It has no effect with interface version 2.
 */
int fb_nccl_tuner_force(const char *algorithm, const char *protocol);

/* How often NCCL has asked since then and could use the forced choice. */
unsigned fb_nccl_tuner_obeyed(void);

/* `init` and `choose` differ between versions; `chunk` is of version 6 and later, may be NULL. */
struct fb_nccl_tuner {
	const char *name;
	void (*init)(void);
	void (*choose)(void);
	int (*destroy)(void *context);
	void (*chunk)(void);
};

typedef int (*fb_nccl_tuner_init_2)(size_t ranks, size_t nodes, void (*log)(void),
				    void **context); /* 2 to 4 */
/* `constants` of version 7 are larger by a compute capability than those of 5 and 6. */
typedef int (*fb_nccl_tuner_init_5)(void **context, uint64_t hash, size_t ranks, size_t nodes,
				    void (*log)(void), void *domains, void *constants);

/* 2: NCCL chooses what is not set. 3 and later: costs[algorithms][protocols], the least is used. */
typedef int (*fb_nccl_choose_2)(void *context, int function, size_t bytes, int collnet, int nvls,
				int operations, int *algorithm, int *protocol, int *channels);
typedef int (*fb_nccl_choose_3)(void *context, int function, size_t bytes, int operations,
				float **costs, int algorithms, int protocols, int *channels);
typedef int (*fb_nccl_choose_4)(void *context, int function, size_t bytes, int operations,
				float **costs, int algorithms, int protocols, int registered,
				int *channels); /* 4 to 7 */

#endif
