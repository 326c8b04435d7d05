/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out what NCCL really ran, from NCCL's log of one call that is not timed.
 *
 * NCCL logs algorithm, protocol and channels of a call (NCCL_DEBUG=INFO, subsystem TUNING) on rank
 * 0 only. Each rank logs the transports that it sends by (P2P, SHM, NET), and its setup (INIT,
 * BOOTSTRAP, ENV, GRAPH). Writing the log costs time, so it is switched on for one call and off
 * again, by ncclResetDebugInit, which versions since 2.24 have. Sends and receives have no line in
 * TUNING, and before 2.29 copy engines have none: NCCL's profiler reports these if
 * --nccl-gpu-time is given (watch.h).
 *
 * If the user has set NCCL_DEBUG, the user still gets the log: this module prints its own file
 * after reading it. A file that the user named is read in place; its contents depend on the level
 * and the subsystems that the user set.
 */
#ifndef FB_COLLECTIVES_ENGINE_NCCL_TUNING_H
#define FB_COLLECTIVES_ENGINE_NCCL_TUNING_H

#include "collectives/engine/nccl/calls.h"
#include "common/library/nccl/api.h"
#include "common/library/nccl/force.h"
#include "common/library/nccl/watch.h"
#include "common/library/nccl/wire.h"
#include "common/record/traits.h"
#include "common/session.h"

/* Plain data, to be broadcast as bytes. Empty texts: not in the log. */
struct fb_nccl_ran {
	char algorithm[FB_NCCL_NAME_CHARS]; /* "ring", spelled as --nccl-force does; "sendrecv" */
	char protocol[FB_NCCL_NAME_CHARS];  /* "ll128"; of copies between nodes "rail-ring" */
	char kernel[64];                    /* of symmetric windows: "AllReduce_AGxLL_R" */
	int channels;                       /* 0: not in the log */
	bool silent;                        /* the profiler reported no event of the call, either */
	bool concluded;                     /* inferred by fb_nccl_ran_conclude */
	int cluster;                        /* CTAs of a cluster, from 2.31 on; 0: not in the log */
};

/*
 * The largest call in the log, the last of such, as blocks of unequal size are calls of a group.
 * Zeroes if there is none.
 */
void fb_nccl_ran_parse(const char *log, struct fb_nccl_ran *ran);

/*
 * Infers what a call of several ranks ran if nothing is reported of it and only one thing can be:
 * copy engines, if they may do it and the profiler reported no event (before 2.29 it reports all
 * other calls); sends and receives, if NCCL makes the call of nothing else. `settings` are those of
 * fb_nccl_setup. Pure but for NCCL_CTA_POLICY in the environment.
 */
void fb_nccl_ran_conclude(struct fb_nccl_ran *ran, const struct fb_nccl_call *call,
			  const struct fb_nccl_group *group, const char *settings);

/* Returns whether NCCL ran what was asked for, as far as it says. */
bool fb_nccl_ran_as(const struct fb_nccl_ran *ran, const struct fb_nccl_algo_proto *choice);

/*
 * Whether NCCL_ALGO or NCCL_PROTO of the user name something for the collective although a kernel
 * of symmetric windows or the copy engines ran, which follow neither.
 */
bool fb_nccl_ran_ignores(const struct fb_nccl_ran *ran, enum fb_collective collective);

/*
 * "NCCL 2.28.9 ncclAllReduce: ring ll128 via NET/IB/mlx5_0/GDRDMA, network IB"; "untold" where
 * neither its log nor its profiler says anything of the call. `how` stands before the algorithm.
 */
void fb_nccl_ran_path(const struct fb_nccl *nccl, const char *call, const char *how,
		      const struct fb_nccl_ran *ran, const struct fb_nccl_wire *wire,
		      char path[FB_PATH_CHARS]);

enum { FB_NCCL_LOG_VALUES = 3 };

/* A log under way. */
struct fb_nccl_log {
	const struct fb_nccl *nccl;      /* NULL: not switched on by this module */
	char file[256];                  /* "": nothing is read */
	long from;                       /* of the file: what was there before */
	char *before[FB_NCCL_LOG_VALUES]; /* the user's variables; owned, NULL: not set */
};

/*
 * Local. Begin switches the log on if that is possible. End reads the file, removes it unless it is
 * the user's, and adds to *wire. It fills *ran from the log, or else from what the profiler
 * reported, or else with zeroes.
 */
void fb_nccl_log_begin(struct fb_nccl_log *log, const struct fb_nccl *nccl, int rank);
void fb_nccl_log_end(struct fb_nccl_log *log, struct fb_nccl_ran *ran, struct fb_nccl_wire *wire);

/*
 * Collective, instead of the end: *ran becomes rank 0's. *wire is this rank's, but `warnings` the
 * largest of all ranks, and a rank without a warning gets the text of the first rank with one.
 * wire->setup and *known become *known with what this log adds. The setup of rank 0 and the paths
 * of all ranks become facts of the launch.
 */
void fb_nccl_log_share(struct fb_nccl_log *log, const struct fb_nccl *nccl,
		       const struct fb_session *session, const struct fb_group *group,
		       struct fb_nccl_setup *known, struct fb_nccl_ran *ran,
		       struct fb_nccl_wire *wire);

#endif
