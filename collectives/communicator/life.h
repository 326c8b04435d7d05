/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a communicator in three parts that are timed apart: it is created, a first collective
 * runs on it, it is destroyed. A life is one way to do that, of one engine; the program
 * communicator repeats it, for as many communicators at once as a case says.
 *
 * A row's time is that of all three parts for all communicators of the case. Its columns create_us,
 * call_us and destroy_us have each part alone: the slowest rank's, in each repetition.
 */
#ifndef FB_COLLECTIVES_COMMUNICATOR_LIFE_H
#define FB_COLLECTIVES_COMMUNICATOR_LIFE_H

#include "collectives/api.h"
#include "common/library/nccl/api.h"
#include "common/cuda/gpu_segment.h"
#include "common/cuda/gpu_stream.h"

/* A grid has a group for tensor parallelism, one for pipeline stages, one for replicas. */
enum { FB_LIFE_PARTS = 3 };

/* A group of ranks that gets communicators, and the all_reduce that is the first call on each. */
struct fb_life_part {
	struct fb_group group;     /* zeroed: this rank is in none */
	struct fb_collectives engine; /* on the group; for its memory and its view of the GPU */
	struct fb_segment segment; /* of the group's buffers */
	struct fb_operation op;
	struct fb_data data;
	bool in;                   /* this rank is a member */
};

/* What a life works with: one case. */
struct fb_life_context {
	const struct fb_session *session;
	const struct fb_group *world;
	const struct fb_case *key;
	const struct fb_life *life;
	const struct fb_nccl *nccl; /* of engine nccl */
	int count, parts;           /* communicators of each part */
	struct fb_life_part part[FB_LIFE_PARTS];
	const struct fb_gpu *gpu;   /* of engines on GPUs; NULL else */
	void *own;                  /* the life's, from begin to end */
	/* --misuse: this rank registers nothing, or registers from a page further on. */
	bool unregistered, shifted;
	char path[FB_PATH_CHARS];
};

/* Which ranks get communicators. */
enum fb_life_members {
	FB_LIFE_ALL,    /* or the groups of the case's grid */
	FB_LIFE_SHRUNK, /* all but the last rank: there have to be two */
	FB_LIFE_GROWN,  /* all, the last rank being new */
};

struct fb_life {
	const char *engine, *operation; /* engine NULL: any of this project's own */
	const char *help;
	enum fb_life_members members;
	bool grid;      /* takes --grid */
	bool registers; /* takes --registration */
	bool anew;      /* communicators are made and ended in each repetition */
	bool keeps;     /* keeps memory between repetitions, so it is read in each of them */
	/* Offsets in struct fb_nccl of two functions that it calls; equal if it calls one. */
	size_t needs[2];
	const char *named, *since; /* "ncclCommGrow", "2.29": for the reason without it */

	/*
	 * Collective over the world. `begin` and `end` are not timed; `end` follows
	 * `begin`, also a failed one. create, call and destroy are timed apart; NULL:
	 * nothing to do. 0 or an error (printed).
	 */
	int (*begin)(struct fb_life_context *context);
	void (*end)(struct fb_life_context *context);
	int (*create)(struct fb_life_context *context);
	int (*call)(struct fb_life_context *context);
	int (*destroy)(struct fb_life_context *context);
};

/* Lists; each ends in a life without an operation. */
extern const struct fb_life fb_lives_mpi[], fb_lives_own[], fb_lives_nccl[],
	fb_lives_nccl_process[];

/* The communicator of that number in a part, in an array of count * parts of them. */
static inline int fb_life_index(const struct fb_life_context *context, int number, int part)
{
	return number * context->parts + part;
}

#endif
