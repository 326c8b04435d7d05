/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover nvshmem: regions are in NVSHMEM's symmetric memory (ops->segment), and all is done by the
 * host library's calls on streams. A run of neighbours is one putmem or getmem; behind all runs of
 * a move stands a quiet, and behind that each transfer's notice, a word in symmetric memory that is
 * set at the peer. In form put-signal, where all that give notices are PUTs of one run, each run
 * carries its notice by itself (putmem_signal); in form put none does. What needs CUDA's headers is
 * in gpu/nvshmem_move.c.
 *
 * Between GPUs that reach each other NVSHMEM itself copies by copy engines.
 */
#include <stdio.h>

#include "common/base/error.h"
#include "common/cuda/symmetric.h"
#include "common/mover/gpu.h"
#include "common/mover/gpu_build.h"

static int open_segment(struct fb_segment *segment, const struct fb_session *session,
			const struct fb_group *group, size_t part_bytes)
{
	char why[FB_REASON_CHARS];
	struct fb_nvshmem *nvshmem;
	int err = fb_nvshmem_find(&nvshmem, session, group, false, why);

	if (err)
		return fb_error(err, "%s", why);
	return fb_symmetric_open(segment, nvshmem, group, part_bytes);
}

int fb_nvshmem_mover_find(struct fb_gpu_mover *m, char why[FB_REASON_CHARS])
{
	const struct fb_group *group = m->mover.group;
	int err = fb_nvshmem_find(&m->nvshmem, m->mover.session, group, m->gpu.shared, why);

	return err ? err : fb_symmetric_open(&m->flags, m->nvshmem, group,
					     fb_move_flags_bytes(group));
}

static int nvshmem_open(struct fb_mover **mover, const struct fb_session *session,
			const struct fb_group *group, char why[FB_REASON_CHARS])
{
	int err = fb_gpu_mover_open(mover, &fb_mover_nvshmem, session, group, why);

	if (err)
		return err;
	err = fb_group_agree(group, fb_nvshmem_mover_load((struct fb_gpu_mover *)*mover));
	if (err)
		fb_gpu_mover_close(*mover);
	return err;
}

/* Other memory, such as cudaMalloc's, peers cannot name. */
static int nvshmem_add(struct fb_mover *mover, const struct fb_segment *segment,
		       struct fb_region **region)
{
	const struct fb_gpu_mover *m = (const struct fb_gpu_mover *)mover;
	const struct fb_nvshmem *nvshmem = m->nvshmem;
	const char *part = fb_segment_part(segment, mover->group->rank);
	int err = FB_OK;

	if (!nvshmem->ptr(part, nvshmem->my_pe()))
		err = fb_error(FB_EINPUT, "mover nvshmem: the region is not in symmetric memory");
	err = fb_group_agree(mover->group, err);
	return err ? err : fb_region_add(mover, segment, region);
}

static void nvshmem_describe(struct fb_move *move, struct fb_traits *traits)
{
	const struct fb_gpu_mover *m = (const struct fb_gpu_mover *)move->mover;
	const char *link = "device memory", *how = "put";
	char version[FB_NVSHMEM_VERSION_CHARS];

	for (uint32_t i = 0; i < move->transfers; i++) {
		how = move->transfer[i].verb == FB_MOVE_GET ? "get" : how;
		if (move->transfer[i].peer != move->mover->group->rank)
			link = fb_gpu_link_to(&m->gpu, move->transfer[i].peer);
	}
	snprintf(traits->path, sizeof(traits->path), "NVSHMEM %s %s on stream, %s",
		 fb_nvshmem_version(m->nvshmem, version), how, link);
}

static const char *const forms[] = {"put-signal", "put", NULL};

const struct fb_mover_ops fb_mover_nvshmem = {
	.name = "nvshmem",
	.summary = "NVIDIA's NVSHMEM: put, put with signal and get on streams",
	.transport = "library",
	.verbs = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET,
	.device = true,
	.streams = true,
	.forms = forms,
	.open = nvshmem_open,
	.close = fb_gpu_mover_close,
	.add = nvshmem_add,
	.remove = fb_region_remove,
	.prepare = fb_nvshmem_prepare,
	.release = fb_nvshmem_release,
	.post = fb_gpu_move_post,
	.test = fb_gpu_move_test,
	.arrived = fb_nvshmem_arrived,
	.enqueue_behind = fb_nvshmem_enqueue_behind,
	.enqueue = fb_move_enqueue,
	.enqueue_await = fb_mover_enqueue_await,
	.describe = nvshmem_describe,
	.segment = open_segment,
};
