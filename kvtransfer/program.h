/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program kv_reshard: its options, cases, and what joins engines and the harness.
 *
 * A row is one hand-over of one request's KV cache: its time ends when every decode rank has seen
 * that all its pages are there. algbw is bytes delivered to decode ranks / time; busbw is what
 * leaves or reaches the busiest rank over its links / time. The bound is the time that the same
 * engine takes to move the same bytes packed, one contiguous message for each pair, measured in the
 * same setup.
 */
#ifndef FB_KVTRANSFER_PROGRAM_H
#define FB_KVTRANSFER_PROGRAM_H

#include "common/base/sizes.h"
#include "common/run/program.h"
#include "kvtransfer/carrier.h"
#include "kvtransfer/pages.h"

/* Where the ranks of the two groups are. */
enum fb_kv_placement {
	FB_KV_AUTO,     /* disjoint where there are ranks enough, else shifted */
	FB_KV_DISJOINT, /* decode ranks behind the prefill ranks */
	FB_KV_SHARED,   /* index i of both groups is rank i */
	FB_KV_SHIFTED,  /* decode ranks turned by half of all ranks */
	FB_KV_PLACEMENTS,
};

/* The values of the program's own options. */
struct fb_kv_settings {
	uint64_t layers, kv_heads, head_dim, page_run;
	struct fb_sizes tokens, block_tokens, prefill_tp, decode_tp;
	uint64_t layouts, placements; /* bits */
};

extern const struct fb_option fb_kv_options[];

enum fb_kv_column {
	FB_KV_DESCRIPTORS,
	FB_KV_PAIR_DESCRIPTORS,
	FB_KV_RUN_BYTES,
	FB_KV_PAIRS,
	FB_KV_CROSSING,
	FB_KV_PLAN_US,
	FB_KV_PACK_US,
	FB_KV_TRANSFER_US,
	FB_KV_UNPACK_US,
	FB_KV_COLUMNS,
};

extern const struct fb_column fb_kv_columns[FB_KV_COLUMNS];

/* Memory that pages lie in: of the processors, of the GPUs, or what a GPU mover has of its own. */
enum fb_kv_memory { FB_KV_HOST_MEMORY, FB_KV_DEVICE_MEMORY, FB_KV_MOVER_MEMORY, FB_KV_MEMORIES };

/* Lives as long as the run. Members are equal on all ranks but for pointers. */
struct fb_kv_state {
	struct fb_kv_context context;
	const struct fb_kv_settings *own;
	const struct fb_kv_engine_ops *const *ops; /* ending in NULL */
	struct fb_kv_engine **engines;             /* as in ops; NULL: not asked for */
	struct fb_segment segment[FB_KV_MEMORIES];
	uint64_t part_bytes[FB_KV_MOVER_MEMORY]; /* enough for every case of the run */
	uint64_t memory_limit;               /* of the host, for a rank */
	struct fb_gpu gpu;
	bool has_gpu;
	char no_gpu[FB_REASON_CHARS];
};

/*
 * The whole of main(), with all movers and more engines, ending in NULL. `defaults`:
 * of common options; NULL: the usual ones.
 */
int fb_kv_main(const struct fb_kv_engine_ops *const *more, const struct fb_default *defaults,
	       int argc, char **argv);

/* --- cases.c ---------------------------------------------------------------------------------- */

/* fb_program.expand and .can */
int fb_kv_expand(struct fb_run *run, void *state);
bool fb_kv_can(void *state, const struct fb_case *c, char reason[FB_REASON_CHARS]);

/* Index in state->ops of a case's engine. */
size_t fb_kv_engine_of(const struct fb_kv_state *state, const struct fb_case *c);

/* The job of a case, without runs and segment; as fb_kv_job_open. Its shape divides. */
int fb_kv_case_job(const struct fb_kv_state *state, const struct fb_case *c,
		   struct fb_kv_job *job);

#endif
