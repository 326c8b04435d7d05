/* SPDX-License-Identifier: BSD-3-Clause */
/* The movers between GPUs: their entries in the registry, and opening them; see gpu.h. */
#include "common/mover/gpu.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"

void fb_gpu_mover_close(struct fb_mover *mover)
{
	struct fb_gpu_mover *m = (struct fb_gpu_mover *)mover;

	fb_gpu_mover_end(m);
	fb_nccl_group_close(&m->comms, &m->nccl);
	fb_segment_close(&m->flags);
	fb_gpu_view_close(&m->gpu);
	free(m->last);
	free(m->peer);
	fb_mover_free(mover);
}

/* Collective: opens the library that the mover needs, or checks what the GPUs can do. */
static int find(struct fb_gpu_mover *m, char why[FB_REASON_CHARS])
{
	const struct fb_mover *mover = &m->mover;

	if (mover->ops == &fb_mover_nccl) {
		const struct fb_nccl_need need = {
			.choice = {"library", "library"}, .registration = FB_NCCL_NONE,
			.channels = (int)mover->session->settings->channels,
		};
		int err = fb_nccl_find(&m->nccl, mover->session, mover->group, m->gpu.shared, why);

		if (!err && !fb_nccl_has(&m->nccl, FB_NCCL_POINT_TO_POINT, why, FB_REASON_CHARS))
			err = FB_EUNSUPPORTED;
		return err ? err : fb_nccl_group_get(&m->comms, &m->nccl, mover->group, &need,
						     &m->comm);
	}
	if (mover->ops->segment)
		return fb_nvshmem_mover_find(m, why);
	if (m->gpu.all_reach)
		return FB_OK;
	snprintf(why, FB_REASON_CHARS, "not every GPU reaches every other");
	return FB_EUNSUPPORTED;
}

int fb_gpu_mover_open(struct fb_mover **mover, const struct fb_mover_ops *ops,
		      const struct fb_session *session, const struct fb_group *group,
		      char why[FB_REASON_CHARS])
{
	struct fb_gpu gpu;
	struct fb_gpu_mover *m;
	int err = fb_gpu_view_open(&gpu, session, group, why);

	if (err)
		return err;
	err = fb_mover_new(mover, ops, sizeof(*m), session, group);
	if (err) {
		fb_gpu_view_close(&gpu);
		return err;
	}
	m = (struct fb_gpu_mover *)*mover;
	m->gpu = gpu;
	m->last = calloc((size_t)group->nranks, sizeof(*m->last));
	m->peer = calloc((size_t)group->nranks, sizeof(*m->peer));
	err = fb_group_agree(group, m->last && m->peer ? FB_OK : FB_ENOMEM);
	if (!err)
		err = find(m, why);
	if (!err)
		err = fb_gpu_mover_begin(m, why);
	if (err)
		fb_gpu_mover_close(*mover);
	return err;
}

static int open_copy(struct fb_mover **mover, const struct fb_session *session,
		     const struct fb_group *group, char why[FB_REASON_CHARS])
{
	return fb_gpu_mover_open(mover, &fb_mover_copy, session, group, why);
}

static int open_cuda(struct fb_mover **mover, const struct fb_session *session,
		     const struct fb_group *group, char why[FB_REASON_CHARS])
{
	return fb_gpu_mover_open(mover, &fb_mover_cuda, session, group, why);
}

static int open_nccl(struct fb_mover **mover, const struct fb_session *session,
		     const struct fb_group *group, char why[FB_REASON_CHARS])
{
	return fb_gpu_mover_open(mover, &fb_mover_nccl, session, group, why);
}

/* NCCL has no notices. */
static int none_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	(void)mover;
	(void)from;
	(void)notice;
	*count = 0;
	return FB_OK;
}

/* "kernels, push, NVLink" */
static void describe(const struct fb_move *move, const char *by, struct fb_traits *traits)
{
	const struct fb_gpu_mover *m = (const struct fb_gpu_mover *)move->mover;
	const char *link = "device memory", *way = "push";

	for (uint32_t i = 0; i < move->transfers; i++) {
		const struct fb_transfer *t = &move->transfer[i];

		way = t->verb == FB_MOVE_GET ? "pull" : way;
		if (t->peer != move->mover->group->rank)
			link = fb_gpu_link_to(&m->gpu, t->peer);
	}
	snprintf(traits->path, sizeof(traits->path), "%s, %s, %s", by, way, link);
	snprintf(traits->flags, sizeof(traits->flags), "%s", m->gpu.shared ? "gpu-shared" : "");
}

static void describe_copy(struct fb_move *move, struct fb_traits *traits)
{
	char form[48], by[80];

	fb_copy_form(move, form, sizeof(form));
	snprintf(by, sizeof(by), "copy engine, %s", form);
	describe(move, by, traits);
	traits->channels = 1;
}

static void describe_cuda(struct fb_move *move, struct fb_traits *traits)
{
	describe(move, fb_cuda_form(move), traits);
	traits->channels = (int)((const struct fb_gpu_mover *)move->mover)->push_blocks;
}

static void describe_nccl(struct fb_move *move, struct fb_traits *traits)
{
	const struct fb_gpu_mover *m = (const struct fb_gpu_mover *)move->mover;
	char version[FB_NCCL_NAME_CHARS];

	snprintf(traits->path, sizeof(traits->path), "NCCL %s ncclSend and ncclRecv",
		 fb_nccl_version_text(&m->nccl, version));
}

enum {
	ONE_SIDED = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET,
	TWO_SIDED = 1u << FB_MOVE_SEND | 1u << FB_MOVE_RECV,
};

static const char *const copy_forms[] = {"auto", "loop", "strided", "batch", "graph",
					 NULL};

static const char *const cuda_forms[] = {"threads", "tma", NULL};

const struct fb_mover_ops fb_mover_copy = {
	.name = "copy",
	.summary = "the GPUs' copy engines",
	.transport = "p2p",
	.verbs = ONE_SIDED,
	.device = true,
	.streams = true,
	.one_host = true, .fifo = true, .lands = true, /* not run on hardware */
	.forms = copy_forms,
	.open = open_copy,
	.close = fb_gpu_mover_close,
	.add = fb_region_add,
	.remove = fb_region_remove,
	.prepare = fb_copy_prepare,
	.release = fb_copy_release,
	.post = fb_gpu_move_post,
	.test = fb_gpu_move_test,
	.arrived = fb_copy_arrived,
	.enqueue_behind = fb_copy_enqueue_behind,
	.describe = describe_copy,
};

const struct fb_mover_ops fb_mover_cuda = {
	.name = "cuda",
	.summary = "kernels that push into, or pull from, other GPUs' memory",
	.transport = "p2p",
	.verbs = ONE_SIDED,
	.device = true,
	.streams = true,
	.ordered = true,
	.one_host = true, .fifo = true, .lands = true, /* not run on hardware */
	.forms = cuda_forms,
	.open = open_cuda,
	.close = fb_gpu_mover_close,
	.add = fb_region_add,
	.remove = fb_region_remove,
	.prepare = fb_cuda_prepare,
	.release = fb_cuda_release,
	.post = fb_gpu_move_post,
	.test = fb_gpu_move_test,
	.arrived = fb_cuda_arrived,
	.enqueue_behind = fb_cuda_enqueue_behind,
	.describe = describe_cuda,
};

const struct fb_mover_ops fb_mover_nccl = {
	.name = "nccl",
	.summary = "NVIDIA's NCCL",
	.transport = "library",
	.verbs = TWO_SIDED,
	.device = true,
	.streams = true,
	.open = open_nccl,
	.close = fb_gpu_mover_close,
	.add = fb_region_add,
	.remove = fb_region_remove,
	.prepare = fb_nccl_move_prepare,
	.release = fb_nccl_move_release,
	.post = fb_nccl_move_post,
	.test = fb_nccl_move_test,
	.arrived = none_arrived,
	.enqueue_behind = fb_nccl_move_enqueue,
	.describe = describe_nccl,
};
