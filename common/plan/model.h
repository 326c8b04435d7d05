/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checker's machine: symbolic memory with vector clocks, links with symbolic messages.
 * Internal to common/plan (model.c: state, model_step.c: one step, check.c: all).
 */
#ifndef FB_COMMON_PLAN_MODEL_H
#define FB_COMMON_PLAN_MODEL_H

#include "common/plan/check.h"

/* Symbol of one unit; the set of contributors lies in a separate array of words. */
struct fb_symbol {
	uint32_t label; /* 0: nothing was written; otherwise 1 + identity of the input piece */
	bool finished;
};

/* Last accesses of one unit of memory. */
struct fb_access {
	uint32_t writer, write_clock; /* thread + 1, 0: none */
	uint32_t nreads, reads_room;
	struct fb_read {
		uint32_t thread, clock;
	} *reads;
};

struct fb_memory {
	uint32_t units;
	struct fb_symbol *symbols;
	uint64_t *sets; /* [units][words] */
	struct fb_access *access;
};

/* Something posted on a link: a message, a credit, an acknowledgement. */
struct fb_post {
	uint32_t count, phase, depth;
	double time_us;
	uint8_t buffer;
	uint32_t index;            /* EXPOSE: what may be pulled; PUSH: where it was written */
	struct fb_symbol *symbols; /* [count], FIFO messages only */
	uint64_t *sets;
	uint32_t *clock; /* [threads] or NULL */
};

struct fb_queue {
	struct fb_post *posts;
	size_t n, room, taken;
};

/* One link as seen by its two ends. */
struct fb_wire {
	int from, to, lane;
	struct fb_queue messages; /* data, or the announcement of it */
	struct fb_queue credits;  /* direct: pushes the receiver has allowed */
	struct fb_queue acks;     /* FIFO: slots freed; direct: pulls done */
	size_t pushes;            /* by the sender so far */
	uint64_t units;
};

struct fb_thread {
	int rank, lane;
	uint32_t step, slice, run;
	bool done; /* with the current run */
	uint32_t depth;
	double time_us;
	uint32_t *clock;      /* [threads] */
	struct fb_queue finished; /* [slices * nsteps]: state at the end of each step */
};

struct fb_model {
	struct fb_plan *const *plans;
	const struct fb_check_options *options;
	struct fb_check_report *report;
	int nranks, nlanes;
	uint32_t threads, words;
	struct fb_memory *memory; /* [slices][nranks][FB_BUFFERS] */
	struct fb_thread *thread; /* [nranks * nlanes] */
	struct fb_wire *wires;
	size_t nwires, wires_room;
	uint32_t **in_wire, **out_wire; /* [nranks][link] -> wire */
	uint32_t *runs_done;            /* [nranks] */
	bool failed;
};

int fb_model_open(struct fb_model *m);
void fb_model_close(struct fb_model *m);

struct fb_memory *fb_model_memory(const struct fb_model *m, uint32_t slice, int rank,
				  uint8_t buffer);

/* Records the first failure; returns FB_EPLAN. */
int fb_model_fail(struct fb_model *m, const struct fb_thread *t, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Checks order and bounds of one access of thread t to a chunk, and records it. */
int fb_model_access(struct fb_model *m, struct fb_thread *t, int rank, uint8_t buffer,
		    uint32_t index, uint32_t count, bool write);

/* Appends a post with t's clock, depth and time. Returns NULL without memory. */
struct fb_post *fb_model_post(struct fb_model *m, const struct fb_thread *t, struct fb_queue *q);

/* t has seen what was posted: joins clock and time. */
void fb_model_join(const struct fb_model *m, struct fb_thread *t, const struct fb_post *post);
void fb_model_join_clock(const struct fb_model *m, uint32_t *clock, const uint32_t *other);

/* Sets IN to fresh input and everything else to nothing, as rank's user would. */
int fb_model_reset_rank(struct fb_model *m, int rank);

enum { FB_BLOCKED = 1 };

/* Thread t's next step (model_step.c): FB_OK, FB_BLOCKED or an error. */
int fb_model_execute(struct fb_model *m, struct fb_thread *t);

/* Proves the rank's output. */
int fb_model_check_output(struct fb_model *m, int rank);

#endif
