/* SPDX-License-Identifier: BSD-3-Clause */
/* The session's GPU as a group of ranks sees it; see gpu.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/cuda/gpu.h"
#include "common/cuda/gpu_facts.h"
#include "common/cuda/gpu_segment.h"
#include "common/run/counters.h"

static void read_links(const void *gpu, struct fb_gpu_links *links)
{
	fb_gpu_links_read(gpu, links);
}

static int open_once(void *thing, const struct fb_session *session, char why[FB_REASON_CHARS])
{
	const struct fb_gpu *gpu = thing;
	int err = fb_gpu_open(thing, session->world, why);

	/* A build without CUDA has no fb_gpu_open that could say so (without.c). */
	if (err == FB_EUNSUPPORTED && !*why)
		snprintf(why, FB_REASON_CHARS, FB_NO_CUDA);
	if (!err && session->counters) {
		session->counters->gpu = gpu;
		session->counters->read_gpu = read_links;
	}
	/* Helps a reader to find the GPU of a slow rank. */
	if (!err) {
		fb_gpu_facts(gpu, session);
		fb_launch_fact(session, "rank.gpu", "%d at %s", gpu->device, gpu->bus_id);
		fb_launch_fact(session, "rank.gpu_uuid", "%s", gpu->uuid);
	}
	return err;
}

static void close_once(void *thing)
{
	fb_gpu_close(thing);
}

static const struct fb_once once = {
	.bytes = sizeof(struct fb_gpu), .open = open_once, .close = close_once};

void fb_gpu_view_close(struct fb_gpu *view)
{
	free(view->peers);
	free(view->reaches);
	fb_gpu_kept_close(view->kept);
	*view = (struct fb_gpu){.device = 0};
}

int fb_gpu_view_open(struct fb_gpu *view, const struct fb_session *session,
		     const struct fb_group *group, char reason[FB_REASON_CHARS])
{
	size_t n = (size_t)group->nranks;
	const struct fb_gpu *gpu;
	const char *why;
	void *thing;
	int err = fb_session_once(session, &once, &thing, &why), all = 1;

	if (err) {
		snprintf(reason, FB_REASON_CHARS, "%s", why);
		return err;
	}
	gpu = thing;
	*view = *gpu;
	view->group = group;
	view->peers = calloc(n, sizeof(*view->peers));
	view->reaches = calloc(n, sizeof(*view->reaches));
	view->kept = fb_gpu_kept_open();
	err = view->peers && view->reaches && view->kept ? FB_OK : FB_ENOMEM;
	err = fb_group_agree(group, err);
	if (err) {
		fb_gpu_view_close(view);
		return fb_error(err, "out of memory for the GPUs of %d ranks", group->nranks);
	}
	for (size_t r = 0; r < n; r++) {
		int rank = group->world_rank_of[r];

		memcpy(view->peers[r], gpu->peers[rank], sizeof(view->peers[r]));
		view->reaches[r] = gpu->reaches[rank];
		all &= view->reaches[r];
	}
	MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, group->comm);
	view->all_reach = all;
	return FB_OK;
}
