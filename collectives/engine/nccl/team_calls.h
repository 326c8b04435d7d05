/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NCCL's calls for all GPUs of a process: by a thread for each of them, or by one thread that puts
 * the calls of all GPUs into a group. They are enqueued on a stream of each GPU, or captured once
 * in a graph of each GPU and replayed.
 */
#ifndef FB_COLLECTIVES_ENGINE_NCCL_TEAM_CALLS_H
#define FB_COLLECTIVES_ENGINE_NCCL_TEAM_CALLS_H

#include "collectives/engine/nccl/team.h"
#include "common/cuda/gpu_stream.h"

struct fb_nccl_team_calls {
	struct fb_nccl_team *team; /* borrowed, as nccl */
	const struct fb_nccl *nccl;
	enum fb_nccl_method way;
	int gpus;
	struct fb_gpu_stream **stream; /* [gpus], all with a graph or all without; the user's */
	int calls; /* of the batch that is under way */
};

/*
 * Local, outside of timing: captures the graphs for batches of `calls`, if they are not there. 0 or
 * an error (printed).
 */
int fb_nccl_team_ready(struct fb_nccl_team_calls *c, int calls);

/* `calls` calls back to back on all GPUs, complete on return. 0 or an error (printed). */
int fb_nccl_team_run(struct fb_nccl_team_calls *c, int calls);

#endif
