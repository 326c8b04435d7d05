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
