/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Movers libfabric and libfabric_gpu: libfabric's RMA between reliable datagram endpoints, by the
 * provider that FI_PROVIDER names or that libfabric takes first (common/library/libfabric.h).
 *
 * Each piece is a write or read of its own. A write asks for FI_DELIVERY_COMPLETE: it completes
 * when its bytes are in the target's memory. Order: providers order writes differently or not at
 * all, so nothing here needs their order. A notice is a message that is sent when all pieces of its
 * transfer, and of all transfers posted before, are complete; the target reads it from its
 * completion queue, so its later loads see what the writes have stored. A read is complete when its
 * bytes have arrived. If a transfer is one piece, and all earlier transfers to the peer had been
 * delivered when it was posted, the write itself carries the notice (FI_REMOTE_CQ_DATA): its
 * completion at the target says that its bytes are there. So k notices stand for the first k
 * transfers, in whatever order writes and messages arrive.
 *
 * Lifetime. A provider may use an operation's context until its completion has been read. So
 * contexts are in a pool of the mover, with as many as may be under way, and a move that failed
 * with operations under way is not freed. Providers move bytes only in calls: a rank that waits
 * reads its completion queue, also as target of writes, and all ranks go on reading until all have
 * come to the barrier before memory or endpoints are closed.
 */
#include "common/mover/libfabric.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/cuda/gpu_direct.h"

#if FB_HAVE_LIBFABRIC

/* --- opening ---------------------------------------------------------------------------------- */

static void progress(struct fb_mover *mover)
{
	(void)fb_ofi_progress((struct fb_ofi_mover *)mover);
}

/* 0; else the job ends. */
static int progress_barrier(struct fb_mover *mover)
{
	return fb_mover_barrier(mover, progress, "waiting for all ranks' libfabric");
}

static void ofi_close(struct fb_mover *mover)
{
	struct fb_ofi_mover *m = (struct fb_ofi_mover *)mover;

	/* With names all ranks have endpoints. If the barrier fails, the job ends. */
	if (m->end.names && progress_barrier(mover))
		return;
	fb_ofi_close(&m->end);
	free(m->busy);
	free(m->arrived);
	fb_gpu_view_close(&m->gpu);
	fb_mover_free(mover);
}

/* Tries to register a page of GPU memory, because providers claim support without a GPU. */
static bool takes(void *arg, void *memory, size_t bytes, int fd, uint64_t offset, char *why,
		  size_t n)
{
	struct fb_ofi_mover *m = arg;
	struct fid_mr *mr = NULL;
	int status = fb_ofi_register(&m->end, memory, bytes, FI_READ | FI_WRITE, m->gpu.device,
				     &mr);

	(void)fd;
	(void)offset;
	if (status)
		snprintf(why, n, "provider %.60s takes no memory of GPUs: %s",
			 m->end.info->fabric_attr->prov_name, m->end.ofi.strerror(-status));
	FB_OFI_CLOSE(mr);
	return !status;
}

static int knows_gpus(struct fb_ofi_mover *m, char why[FB_REASON_CHARS])
{
	const struct fb_gpu_direct_taker taker = {takes, m};

	return fb_gpu_direct_methods(&m->gpu, FB_GPU_DIRECT_PEERMEM, &taker, &m->flushes, why,
				     FB_REASON_CHARS) ? FB_OK : FB_EUNSUPPORTED;
}

static int open_as(struct fb_mover **mover, const struct fb_mover_ops *ops,
		   const struct fb_session *session, const struct fb_group *g,
		   char why[FB_REASON_CHARS])
{
	int err = fb_mover_new(mover, ops, sizeof(struct fb_ofi_mover), session, g);
	size_t n = (size_t)g->nranks;
	struct fb_ofi_mover *m;

	if (err)
		return err;
	m = (struct fb_ofi_mover *)*mover;
	m->end.complete = fb_ofi_complete;
	m->end.arg = m;
	m->busy = calloc(n, sizeof(*m->busy));
	m->arrived = calloc(n, sizeof(*m->arrived));
	err = fb_group_agree(g, m->busy && m->arrived ? FB_OK : FB_ENOMEM);
	if (!err && ops->device)
		err = fb_gpu_view_open(&m->gpu, session, g, why);
	if (!err)
		err = fb_ofi_load(&m->end, session, g, ops->device, why);
	if (!err)
		err = fb_ofi_open(&m->end, g, why);
	if (!err && ops->device)
		err = fb_group_agree_why(g, knows_gpus(m, why), why, FB_REASON_CHARS);
	if (err) {
		ofi_close(*mover);
		return err;
	}
	m->data = m->end.info->domain_attr->cq_data_size >= sizeof(uint32_t);
	return FB_OK;
}

static int ofi_connect(struct fb_mover *mover, const int *peers, int n)
{
	struct fb_ofi_mover *m = (struct fb_ofi_mover *)mover;
	int err = FB_OK;

	/* A rank's transfers with itself: the processor copies host memory, but not GPU memory. */
	for (int i = 0; i < n && !err; i++)
		if (peers[i] != mover->group->rank || mover->ops->device)
			err = fb_ofi_connect(&m->end, peers[i]);
	return fb_group_agree(mover->group, err);
}

/* --- regions ---------------------------------------------------------------------------------- */

static void ofi_remove(struct fb_region *region)
{
	struct fb_ofi_memory *r = (struct fb_ofi_memory *)region;

	/* After the barrier no peer uses the region; if it fails, the job ends. */
	if (progress_barrier(region->mover))
		return;
	FB_OFI_CLOSE(r->mr);
	free(r);
}

static int open_region(struct fb_region *region)
{
	struct fb_ofi_memory *r = (struct fb_ofi_memory *)region;
	struct fb_ofi_mover *m = (struct fb_ofi_mover *)region->mover;
	const struct fb_segment *segment = region->segment;
	int status;

	if (m->failed)
		return fb_error(m->failed, "mover libfabric: an earlier transfer failed");
	status = fb_ofi_register(&m->end, fb_segment_part(segment, m->mover.group->rank),
				 segment->part_bytes, FI_READ | FI_WRITE | FI_REMOTE_READ |
				 FI_REMOTE_WRITE, m->mover.ops->device ? m->gpu.device : -1,
				 &r->mr);

	return status ? fb_ofi_error(&m->end, status, "fi_mr_regattr", -1) : FB_OK;
}

/* Remote addresses are the target's virtual addresses, or offsets in its region. */
static int ofi_add(struct fb_mover *mover, const struct fb_segment *segment,
		   struct fb_region **region)
{
	const struct fb_ofi_mover *m = (const struct fb_ofi_mover *)mover;
	const struct fb_group *g = mover->group;
	size_t bytes = sizeof(struct fb_ofi_memory) +
		       (size_t)g->nranks * sizeof(struct fb_ofi_target);
	int err = fb_region_new(mover, segment, bytes, open_region, region);
	struct fb_ofi_target own = {0, 0};
	struct fb_ofi_memory *r;

	if (err)
		return err;
	r = (struct fb_ofi_memory *)*region;
	own.key = fi_mr_key(r->mr);
	if (m->end.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
		own.base = (uintptr_t)fb_segment_part(segment, g->rank);
	MPI_Allgather(&own, sizeof(own), MPI_BYTE, r->target, sizeof(own), MPI_BYTE, g->comm);
	return FB_OK;
}

static void ofi_describe(struct fb_move *move, struct fb_traits *traits)
{
	const struct fb_ofi_mover *m = (const struct fb_ofi_mover *)move->mover;

	fb_ofi_path(&m->end, traits->path, sizeof(traits->path));
	traits->channels = 1;
}

#define OPERATIONS                                                                                 \
	.close = ofi_close, .add = ofi_add, .remove = ofi_remove, .connect = ofi_connect,          \
	.prepare = fb_ofi_move_prepare, .release = fb_ofi_move_release, .post = fb_ofi_move_post,  \
	.test = fb_ofi_move_test, .arrived = fb_ofi_move_arrived, .describe = ofi_describe

#else

static int open_as(struct fb_mover **mover, const struct fb_mover_ops *ops,
		   const struct fb_session *session, const struct fb_group *group,
		   char why[FB_REASON_CHARS])
{
	(void)mover;
	(void)ops;
	(void)session;
	(void)group;
	snprintf(why, FB_REASON_CHARS, "built without libfabric's headers of 1.14 or later");
	return FB_EUNSUPPORTED;
}

#define OPERATIONS .close = NULL

#endif

static int ofi_open(struct fb_mover **mover, const struct fb_session *session,
		    const struct fb_group *group, char why[FB_REASON_CHARS])
{
	return open_as(mover, &fb_mover_libfabric, session, group, why);
}

static int gpu_open(struct fb_mover **mover, const struct fb_session *session,
		    const struct fb_group *group, char why[FB_REASON_CHARS])
{
	return open_as(mover, &fb_mover_libfabric_gpu, session, group, why);
}

const struct fb_mover_ops fb_mover_libfabric = {
	.name = "libfabric", .summary = "libfabric's RMA", .transport = "libfabric",
	.verbs = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET, .fifo = true, .lands = true,
	.open = ofi_open, OPERATIONS,
};

/* Not run on hardware. */
const struct fb_mover_ops fb_mover_libfabric_gpu = {
	.name = "libfabric_gpu", .summary = "libfabric's RMA of GPU memory",
	.transport = "libfabric", .verbs = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET,
	.device = true, .open = gpu_open, OPERATIONS,
};
