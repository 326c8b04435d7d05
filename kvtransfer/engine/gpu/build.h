/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a job to what the GPU engines launch on a rank. Pure, without CUDA, so that tests run it
 * with the emulator.
 *
 * A rank's part of the flags, memory in which ranks count for each other: for each rank the
 * counters of what has come from it, then for each rank those of what it has unpacked.
 */
#ifndef FB_KVTRANSFER_ENGINE_GPU_BUILD_H
#define FB_KVTRANSFER_ENGINE_GPU_BUILD_H

#include "kvtransfer/engine/gpu/launch.h"
#include "kvtransfer/job.h"

enum { FB_KV_FLAG_BYTES = 8 * FB_KV_MOST_BLOCKS };

/* What a launch moves. */
enum fb_kv_work {
	FB_KV_GATHER_OUT,   /* own pages to own staging */
	FB_KV_PUSH_PAGES,   /* own pages to the peers' pages */
	FB_KV_PUSH_PACKED,  /* own pages to the peers' staging */
	FB_KV_PUSH_OUT,     /* own staging to the peers' */
	FB_KV_AWAIT,        /* nothing: one block waits for what the peers push */
	FB_KV_SCATTER_IN,   /* own staging to own pages, behind a wait */
};

/* Where a pair's pieces lie on the GPU. */
struct fb_kv_pieces {
	uint64_t address;
	uint32_t count;
};

/* A request as its launches see it. */
struct fb_kv_view {
	const struct fb_kv_job *job;
	const struct fb_segment *flags;    /* NULL: launches neither wait nor count */
	const struct fb_kv_pieces *pieces; /* [pairs] */
	uint32_t push_blocks, local_blocks; /* of launches that push, and of all others */
};

/* How many pieces a pair has, and the pieces; `to` may be NULL. */
uint32_t fb_kv_cut(const struct fb_kv_pair *pair, struct fb_kv_piece *to);

/*
 * The launch of a step in call number `call` (from 1). False where this rank has nothing to do in
 * it. `last`: it frees the senders' way for the next call (FB_KV_AWAIT, FB_KV_SCATTER_IN).
 */
bool fb_kv_build(const struct fb_kv_view *view, enum fb_kv_work work, uint32_t step,
		 uint64_t call, bool last, struct fb_kv_launch *launch);

/* Blocks of a launch. */
uint32_t fb_kv_blocks_of(const struct fb_kv_view *view, enum fb_kv_work work);

/* A launch of engine cuda. `counts`: it waits for its peers and counts at them. */
struct fb_kv_task {
	enum fb_kv_work work;
	bool counts, last;
};

enum { FB_KV_STEP_TASKS = 2 };

/*
 * What engine cuda launches for a step, to send or to receive; all steps' sends come before the
 * receives, so that no rank waits in a circle. Returns how many there are.
 */
int fb_kv_push_tasks(const struct fb_kv_job *job, unsigned phases,
		     struct fb_kv_task task[FB_KV_STEP_TASKS]);
int fb_kv_receive_tasks(const struct fb_kv_job *job, unsigned phases, uint32_t step,
			struct fb_kv_task task[FB_KV_STEP_TASKS]);

/* This process's address of the counters that `rank` waits for: what came from, or was freed by. */
char *fb_kv_done_flag(const struct fb_segment *flags, int rank, int from);
char *fb_kv_free_flag(const struct fb_segment *flags, int nranks, int rank, int by);

/* Runs that follow each other at an even distance on both sides, as a copy of `rows`. */
struct fb_kv_strip {
	uint64_t src, dst, bytes; /* bytes: of a row */
	uint64_t src_pitch, dst_pitch;
	uint32_t rows;
};

/* The strip that begins at run `first`; the next one begins `rows` behind it. */
void fb_kv_strip_at(const struct fb_kv_job *job, const struct fb_kv_pair *pair, uint32_t first,
		    struct fb_kv_strip *strip);

#endif
