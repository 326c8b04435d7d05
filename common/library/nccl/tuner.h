/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface between NCCL and a tuner plugin, versions 2 to 7 (NCCL 2.21 to 2.32), declared by
 * hand, and the table that drives this one. A line of the table is
 *
 *	FUNCTION FROM TO ALGORITHM PROTOCOL CHANNELS
 *	allreduce 0 65536 ring ll 4
 *
 * with bytes from FROM to TO, both included, and 0 channels where NCCL chooses them. `#` begins a
 * comment. The first line that matches counts; a cell that NCCL rules out is left alone.
 */
#ifndef FB_COMMON_LIBRARY_NCCL_TUNER_H
#define FB_COMMON_LIBRARY_NCCL_TUNER_H

#include <stddef.h>
#include <stdint.h>

/*
 * For a program that has loaded the plugin (plugin.h): until the next call of this every collective
 * is to use the algorithm (NULL: whatever NCCL or the table chooses) by the protocol (NULL: any),
 * named as in the table. 0, or -1 where there is no such name. Interfaces from version 3 on.
 */
int fb_nccl_tuner_force(const char *algorithm, const char *protocol);

/* How often since then NCCL has asked, and could use what is forced. */
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

/* 2: what is not set NCCL chooses. 3 and later: costs[algorithms][protocols], the least wins. */
typedef int (*fb_nccl_choose_2)(void *context, int function, size_t bytes, int collnet, int nvls,
				int operations, int *algorithm, int *protocol, int *channels);
typedef int (*fb_nccl_choose_3)(void *context, int function, size_t bytes, int operations,
				float **costs, int algorithms, int protocols, int *channels);
typedef int (*fb_nccl_choose_4)(void *context, int function, size_t bytes, int operations,
				float **costs, int algorithms, int protocols, int registered,
				int *channels); /* 4 to 7 */

#endif
