/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several GPUs in one process, as ranks of NCCL's communicators: driven by one thread that puts the
 * calls for all of them into a group, or by a thread for each.
 *
 * The first GPU's thread is the caller's own. The others wait for work; a while by looking, so that
 * they begin at once, then asleep.
 */
#ifndef FB_COLLECTIVES_ENGINE_NCCL_TEAM_H
#define FB_COLLECTIVES_ENGINE_NCCL_TEAM_H

#include "common/cuda/gpu.h"
#include "common/library/nccl/api.h"

/* How the communicators of a process's GPUs are made, and who calls. */
enum fb_nccl_method {
	FB_NCCL_ALL,     /* ncclCommInitAll; one thread, calls in groups. One process only */
	FB_NCCL_THREADS, /* a thread for each GPU makes its communicator and its calls */
	FB_NCCL_GROUP,   /* one thread: ncclCommInitRank in a group, calls in groups */
	FB_NCCL_METHODS,
};

/* "init_all", "threads", "group", NULL. */
extern const char *const fb_nccl_methods[FB_NCCL_METHODS + 1];

/* One of those names as a number; FB_NCCL_METHODS: it is none. */
enum fb_nccl_method fb_nccl_method_of(const char *name);

/*
 * The method of a launch: one of those names, or "graph" or "graph_threads" (*graph), which capture
 * calls and make communicators as "group" or "threads". FB_NCCL_METHODS: there is no such launch.
 */
enum fb_nccl_method fb_nccl_method_of_launch(const char *launch, bool *graph);

struct fb_nccl_team; /* opaque */

/*
 * Collective: how many GPUs each process gets: `asked`, or if that is 0 its share of the GPUs that
 * it sees. Returns 0 with the reason if there are too few. The same on all ranks.
 */
int fb_nccl_team_size(const struct fb_gpu *gpu, const struct fb_group *group, int asked,
		      char reason[FB_REASON_CHARS]);

/*
 * Local: `gpus` GPUs from this process's first one on. `gpu` is its view, which outlives the team.
 * 0, FB_ENOMEM or FB_ESYS (printed).
 */
int fb_nccl_team_open(struct fb_nccl_team **team, const struct fb_gpu *gpu,
		      const struct fb_group *group, int gpus);

/* NULL is fine. */
void fb_nccl_team_close(struct fb_nccl_team *team);

/* The view of one of them: as the process's, but for `device`. */
const struct fb_gpu *fb_nccl_team_gpu(const struct fb_nccl_team *team, int member);

/*
 * Calls job(arg, member) for each GPU, which is current then: all at once in their threads
 * (`threads`), or one after the other. The first error of them is returned. The process's usual
 * device is current again in the caller's thread.
 */
int fb_nccl_team_each(struct fb_nccl_team *team, bool threads, int (*job)(void *arg, int member),
		      void *arg);

/* The same for calls of NCCL that wait for each other: each in its thread, or all in a group. */
int fb_nccl_team_together(struct fb_nccl_team *team, const struct fb_nccl *nccl,
			  enum fb_nccl_method way, int (*job)(void *arg, int member), void *arg);

/*
 * Collective: a communicator of all GPUs of all processes; comm[gpus] are this process's. The same
 * on all ranks: 0, or an error (printed), whereupon none is left.
 */
int fb_nccl_team_init(struct fb_nccl_team *team, const struct fb_nccl *nccl,
		      enum fb_nccl_method way, fb_nccl_comm *comm);

/* Local, on all ranks: ends those that are not NULL. 0 or an error (printed). */
int fb_nccl_team_destroy(const struct fb_nccl_team *team, const struct fb_nccl *nccl,
			 fb_nccl_comm *comm);

#endif
