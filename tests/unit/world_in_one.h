/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers of all ranks in this process's memory, for engines whose logic needs no launcher. */
#ifndef FB_TESTS_UNIT_WORLD_IN_ONE_H
#define FB_TESTS_UNIT_WORLD_IN_ONE_H

#include <stdlib.h>

#include "collectives/buffers.h"
#include "collectives/traffic.h"
#include "common/memory/memory_ops.h"

enum { WORLD_MOST = 9 };

struct world_in_one {
	int nranks;
	struct fb_segment segment;
	int part_of[WORLD_MOST];
	uint64_t elements[WORLD_MOST * WORLD_MOST];
	struct fb_counts counts;
	struct fb_operation op;
};

/* Zero and odd counts among others. */
static inline void world_counts(struct world_in_one *w)
{
	w->counts = (struct fb_counts){.nranks = w->nranks, .elements = w->elements};
	for (int i = 0; i < w->nranks * w->nranks; i++)
		w->elements[i] = (uint64_t)(i * 7 + 3) % 5;
	fb_traffic_spread(w->op.collective, (size_t)w->nranks, w->elements);
	fb_traffic_sizes(&w->counts);
	w->op.counts = &w->counts;
	w->op.count = w->counts.max;
}

/* op: all but segment, counts and offsets. Freed by world_close. */
static inline int world_open(struct world_in_one *w, int nranks, struct fb_operation op)
{
	size_t bytes;

	*w = (struct world_in_one){.nranks = nranks, .op = op};
	if (fb_collective_info(op.collective)->unequal)
		world_counts(w);
	bytes = fb_buffers_layout(&w->op, nranks);
	for (int r = 0; r < nranks; r++)
		w->part_of[r] = r;
	w->segment = (struct fb_segment){
		.base = aligned_alloc(4096, bytes * (size_t)nranks), .part_bytes = bytes,
		.nparts = nranks, .part_of = w->part_of, .ops = &fb_memory_host,
	};
	w->op.segment = &w->segment;
	return w->segment.base ? 0 : -1;
}

static inline void world_close(struct world_in_one *w)
{
	free(w->segment.base);
}

static inline struct fb_data world_data(const struct world_in_one *w, uint64_t seed)
{
	return (struct fb_data){
		.seed = seed, .type = w->op.datatype, .op = w->op.redop,
		.reduces = fb_collective_info(w->op.collective)->reduces, .nranks = w->nranks,
	};
}

#endif
