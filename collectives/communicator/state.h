/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the program communicator, and its functions for the harness. */
#ifndef FB_COLLECTIVES_COMMUNICATOR_STATE_H
#define FB_COLLECTIVES_COMMUNICATOR_STATE_H

#include "collectives/engine_options.h"
#include "collectives/communicator/life.h"
#include "common/run/program.h"

/* What a user of communicators can get wrong; the last rank does it. */
enum fb_misuse {
	FB_MISUSE_NONE,
	FB_MISUSE_CREATE,
	FB_MISUSE_DESTROY,
	FB_MISUSE_BUFFER,
	FB_MISUSE_REGISTER,
	FB_MISUSE_OFFSET,
};

struct fb_life_options {
	const char *operation, *communicators, *grid; /* lists */
	int misuse;
};

enum { FB_LIFE_MOST_ENGINES = 8, FB_LIFE_MOST_COMMUNICATORS = 1024 };

struct fb_life_state {
	const struct fb_session *session;
	const struct fb_group *world;
	const struct fb_settings *settings;
	const struct fb_life_options *options;
	/* In the order of fb_engines; those asked for are open on the world, to ask their `can`. */
	struct fb_collectives engine[FB_LIFE_MOST_ENGINES];
	struct fb_nccl nccl;
	char no_nccl[FB_REASON_CHARS]; /* why not; empty: it is there */
	struct fb_engine_options engine_options; /* of the current pass of fb_life_expand() */
	const struct fb_life *adding;
};

/* The programs' own columns. */
enum fb_life_column {
	FB_CREATE_US,
	FB_CREATE_P95_US,
	FB_CREATE_MAX_US,
	FB_CALL_US,
	FB_CALL_P95_US,
	FB_CALL_MAX_US,
	FB_DESTROY_US,
	FB_DESTROY_P95_US,
	FB_DESTROY_MAX_US,
	FB_DEVICE_BYTES,
	FB_HOST_BYTES,
	FB_SOCKETS,
	FB_CREATE_EARLY_US,
	FB_CREATE_LATE_US,
	FB_DEVICE_EARLY_BYTES,
	FB_DEVICE_LATE_BYTES,
	FB_HOST_EARLY_BYTES,
	FB_HOST_LATE_BYTES,
	FB_LIFE_COLUMNS,
};

/* Sizes of the groups of a grid: TPxPPxDP. All 1 for "none": one group of all ranks. */
struct fb_life_grid {
	int size[FB_LIFE_PARTS];
};

/* The colour of a rank's group in a part of the grid; with "none" 0. Pure. */
int fb_life_grid_colour(const struct fb_life_grid *grid, int part, int rank);

/* The life of a case of these keys. There is one. */
const struct fb_life *fb_life_of(const struct fb_case *c);

/* What the keys of `variant` say. */
void fb_life_keys(const struct fb_case *c, int *communicators, struct fb_life_grid *grid);

/* The operation of a case, without buffers. */
struct fb_operation fb_life_operation(const struct fb_case *c);

/* These functions have the contract of fb_program's members of the same name. */
int fb_life_expand(struct fb_run *run, void *state);
bool fb_life_can(void *state, const struct fb_case *c, char reason[FB_REASON_CHARS]);
int fb_life_set_up(void *state, const struct fb_case *c, void **instance);
int fb_life_prime(void *instance);
int fb_life_run(void *instance, int calls);
bool fb_life_anew(void *instance);
void fb_life_seconds(void *state, const struct fb_case *c, double *sample, double *other);
int fb_life_check(void *instance, int calls, struct fb_mismatch *bad);
void fb_life_describe(void *instance, struct fb_traits *traits);
void fb_life_summarise(void *instance, const double *samples_us, size_t n,
		       struct fb_traits *traits);
void fb_life_tear_down(void *instance);

#endif
