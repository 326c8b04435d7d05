/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Movers ucx and ucx_gpu: UCX's put and get, found at run time (common/library/ucx.h), with a
 * context and a worker of its own.
 *
 * All pieces are posted at once, and UCX queues what its transports cannot take yet. Then comes a
 * flush of the endpoint, which completes when all pieces are complete at both ends. For GPU memory
 * this is true in few versions of UCX: the flush of cuda_ipc returns while copies run. So ucx_gpu
 * first waits until each piece is complete, and then flushes, which RDMA needs. Order: a notice is
 * an active message that is sent when the flush is complete, so the bytes of a PUT are in the
 * peer's memory before the message begins. The peer counts it in a callback, and UCX orders later
 * loads behind the message. The bytes of a GET have been read when the flush is complete. Moves
 * give their notices in the order of posting, whichever of them is tested.
 */
#include "common/mover/ucx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/spin.h"

static const char library[] = "libucp.so.0";

static fb_ucx_status count_notice(void *arg, const void *bytes, size_t n, void *data, size_t more,
				  const struct fb_ucx_am_info *info)
{
	struct fb_ucx_mover *m = arg;
	struct fb_ucx_notice h = {UINT32_MAX, 0};

	(void)data;
	(void)more;
	(void)info;
	if (n == sizeof(h))
		memcpy(&h, bytes, sizeof(h));
	if (h.from < (uint32_t)m->mover.group->nranks && h.notice && h.notice <= FB_NOTICES)
		m->arrived[h.from][h.notice]++;
	else
		m->foreign = true;
	return FB_UCX_OK;
}

/* Error handler of endpoints between hosts. Without one UCX would end the process. */
static void note_failure(void *arg, void *ep, fb_ucx_status status)
{
	struct fb_ucx_mover *m = arg;

	if (m->failed)
		return;
	/* m->ep may not have the endpoint yet: it may fail inside ep_create(). */
	m->failed = status;
	m->lost = -1;
	for (int r = 0; r < m->mover.group->nranks; r++)
		if (m->ep[r] == ep)
			m->lost = r;
}

/* --- opening ---------------------------------------------------------------------------------- */

static void progress(struct fb_mover *mover)
{
	const struct fb_ucx_mover *m = (const struct fb_ucx_mover *)mover;

	m->ucx.worker_progress(m->worker);
}

/* 0; else the job ends. */
static int progress_barrier(struct fb_ucx_mover *m)
{
	return fb_mover_barrier(&m->mover, progress, "waiting for all ranks' UCX");
}

/* Closes all endpoints, which may need the peers' calls; returns as progress_barrier(). */
static int close_ends(struct fb_ucx_mover *m)
{
	static const struct fb_ucx_op op = {.mask = 0};
	int nranks = m->mover.group->nranks, err = m->address_at ? progress_barrier(m) : FB_OK;

	for (int r = 0; m->ep && r < nranks && !err; r++) {
		struct fb_spin spin = {.yields = m->mover.group->oversubscribed};
		fb_ucx_pending closing = m->ep[r] ? m->ucx.ep_close_nbx(m->ep[r], &op) : NULL;

		while (closing && !err && !fb_ucx_complete(&m->ucx, &closing, "ep_close_nbx", r)) {
			m->ucx.worker_progress(m->worker);
			err = fb_mover_again(&m->mover, &spin, "closing UCX's endpoints");
		}
	}
	return !err && m->address_at ? progress_barrier(m) : err;
}

static void ucx_close(struct fb_mover *mover)
{
	struct fb_ucx_mover *m = (struct fb_ucx_mover *)mover;

	/* If that fails, operations may still run, so nothing is freed. */
	if (close_ends(m))
		return;
	if (m->worker)
		m->ucx.worker_destroy(m->worker);
	if (m->context)
		m->ucx.cleanup(m->context);
	free(m->addresses);
	free(m->address_at);
	free(m->ep);
	free(m->arrived);
	fb_gpu_view_close(&m->gpu);
	fb_mover_free(mover);
}

static int open_worker(struct fb_ucx_mover *m, void **address, size_t *bytes)
{
	const struct fb_ucx_params params = {
		.mask = FB_UCX_PARAMS_FEATURES | FB_UCX_PARAMS_ENDPOINTS,
		.features = FB_UCX_FEATURE_AM | FB_UCX_FEATURE_RMA,
		.endpoints = (size_t)m->mover.group->nranks,
	};
	const struct fb_ucx_worker_params worker = {.mask = FB_UCX_WORKER_THREADS,
						    .threads = FB_UCX_THREADS_SINGLE};
	const struct fb_ucx_am_handler handler = {
		.mask = FB_UCX_HANDLER_ID | FB_UCX_HANDLER_FLAGS | FB_UCX_HANDLER_CALLBACK |
			FB_UCX_HANDLER_ARG,
		.id = FB_UCX_NOTICE_ID, .flags = FB_UCX_AM_WHOLE, .arrived = count_notice, .arg = m,
	};
	const char *call = "init_version";
	fb_ucx_status status = m->ucx.init_version(FB_UCX_MAJOR, FB_UCX_MINOR, &params, NULL,
						   &m->context);

	if (!status) {
		call = "worker_create";
		status = m->ucx.worker_create(m->context, &worker, &m->worker);
	}
	if (!status) {
		call = "worker_set_am_recv_handler";
		status = m->ucx.worker_set_am_recv_handler(m->worker, &handler);
	}
	if (!status) {
		call = "worker_get_address";
		status = m->ucx.worker_get_address(m->worker, address, bytes);
	}
	return status ? fb_ucx_error(&m->ucx, status, call, -1) : FB_OK;
}

/* A UCX that was built without CUDA would take a GPU's addresses for host memory. */
static int knows_gpus(const struct fb_ucx_mover *m, char why[FB_REASON_CHARS])
{
	struct fb_ucx_context_attr attr = {.mask = FB_UCX_CONTEXT_MEMORIES};

	if (m->ucx.context_query(m->context, &attr) == FB_UCX_OK &&
	    attr.memory_types >> FB_UCX_MEMORY_CUDA & 1)
		return FB_OK;
	snprintf(why, FB_REASON_CHARS, "this UCX knows no memory of GPUs (built without CUDA, or "
		 "libuct_cuda.so is missing)");
	return FB_EUNSUPPORTED;
}

static int open_as(struct fb_mover **mover, const struct fb_mover_ops *ops,
		   const struct fb_session *session, const struct fb_group *g,
		   char why[FB_REASON_CHARS])
{
	int err = fb_mover_new(mover, ops, sizeof(struct fb_ucx_mover), session, g);
	void *address = NULL;
	size_t bytes = 0;
	struct fb_ucx_mover *m;

	if (err)
		return err;
	m = (struct fb_ucx_mover *)*mover;
	m->ep = calloc((size_t)g->nranks, sizeof(void *));
	m->arrived = calloc((size_t)g->nranks, sizeof(*m->arrived));
	err = fb_group_agree(g, m->ep && m->arrived ? FB_OK : FB_ENOMEM);
	if (!err && ops->device)
		err = fb_gpu_view_open(&m->gpu, session, g, why);
	if (!err)
		err = fb_ucx_load(&m->ucx, session, g, library, why);
	if (!err)
		err = fb_group_agree(g, open_worker(m, &address, &bytes));
	if (!err && ops->device)
		err = fb_group_agree_why(g, knows_gpus(m, why), why, FB_REASON_CHARS);
	if (!err)
		err = fb_ucx_gather(g, address, bytes, &m->addresses, &m->address_at);
	if (address)
		m->ucx.worker_release_address(m->worker, address);
	if (err)
		ucx_close(*mover);
	return err;
}

static int ucx_open(struct fb_mover **mover, const struct fb_session *session,
		    const struct fb_group *g, char why[FB_REASON_CHARS])
{
	return open_as(mover, &fb_mover_ucx, session, g, why);
}

static int gpu_open(struct fb_mover **mover, const struct fb_session *session,
		    const struct fb_group *g, char why[FB_REASON_CHARS])
{
	return open_as(mover, &fb_mover_ucx_gpu, session, g, why);
}

static int ucx_connect(struct fb_mover *mover, const int *peers, int n)
{
	struct fb_ucx_mover *m = (struct fb_ucx_mover *)mover;
	fb_ucx_status status = FB_UCX_OK;
	int i = 0;

	for (; i < n && !status; i++) {
		/* With error handling UCX would use sockets, even on one host. */
		bool away = mover->group->node_of[peers[i]] != mover->group->node;
		const struct fb_ucx_ep_params params = {
			.mask = FB_UCX_EP_ADDRESS |
				(away ? FB_UCX_EP_ERROR_MODE | FB_UCX_EP_ERROR_HANDLER : 0),
			.address = m->addresses + m->address_at[peers[i]],
			.error_mode = FB_UCX_ERRORS_TOLD, .failed = note_failure, .arg = m,
		};

		/* A rank's transfers with itself: the processor copies host memory only. */
		if ((peers[i] != mover->group->rank || mover->ops->device) && !m->ep[peers[i]])
			status = m->ucx.ep_create(m->worker, &params, &m->ep[peers[i]]);
	}
	return fb_group_agree(mover->group, status ? fb_ucx_error(&m->ucx, status, "ep_create",
								  peers[i - 1]) : FB_OK);
}

/* --- regions ---------------------------------------------------------------------------------- */

static void ucx_remove(struct fb_region *region)
{
	struct fb_ucx_memory *r = (struct fb_ucx_memory *)region;
	struct fb_ucx_mover *m = (struct fb_ucx_mover *)region->mover;

	for (int i = 0; r->rkey && i < m->mover.group->nranks; i++)
		if (r->rkey[i])
			m->ucx.rkey_destroy(r->rkey[i]);
	/* After the barrier no peer uses the region. If it fails, the region stays mapped. */
	if (!progress_barrier(m) && r->memh)
		m->ucx.mem_unmap(m->context, r->memh);
	free(r->base);
	free(r->rkey);
	free(r->packed);
	free(r->at);
	free(r);
}

static int pack(struct fb_ucx_mover *m, struct fb_ucx_memory *r, void **packed, size_t *bytes)
{
	const struct fb_segment *segment = r->region.segment;
	const struct fb_ucx_map_params params = {
		.mask = FB_UCX_MAP_ADDRESS | FB_UCX_MAP_LENGTH,
		.address = fb_segment_part(segment, m->mover.group->rank),
		.length = segment->part_bytes,
	};
	fb_ucx_status status = m->ucx.mem_map(m->context, &params, &r->memh);

	if (status)
		return fb_ucx_error(&m->ucx, status, "mem_map", -1);
	status = m->ucx.rkey_pack(m->context, r->memh, packed, bytes);
	return status ? fb_ucx_error(&m->ucx, status, "rkey_pack", -1) : FB_OK;
}

static int ucx_add(struct fb_mover *mover, const struct fb_segment *segment,
		   struct fb_region **region)
{
	struct fb_ucx_mover *m = (struct fb_ucx_mover *)mover;
	const struct fb_group *g = mover->group;
	struct fb_ucx_memory *r = calloc(1, sizeof(*r));
	uint64_t own = (uintptr_t)fb_segment_part(segment, g->rank);
	void *packed = NULL;
	size_t bytes = 0;
	int err = fb_group_agree(g, r ? FB_OK : FB_ENOMEM);

	if (err || !r) {
		free(r);
		return fb_error(err, "mover ucx: out of memory");
	}
	r->region = (struct fb_region){mover, segment};
	r->base = calloc((size_t)g->nranks, sizeof(*r->base));
	r->rkey = calloc((size_t)g->nranks, sizeof(void *));
	err = fb_group_agree(g, r->base && r->rkey ? pack(m, r, &packed, &bytes) : FB_ENOMEM);
	if (!err)
		err = fb_ucx_gather(g, packed, bytes, &r->packed, &r->at);
	if (packed)
		m->ucx.rkey_buffer_release(packed);
	if (err) {
		ucx_remove(&r->region);
		return err;
	}
	MPI_Allgather(&own, 1, MPI_UINT64_T, r->base, 1, MPI_UINT64_T, g->comm);
	*region = &r->region;
	return FB_OK;
}

static void ucx_describe(struct fb_move *move, struct fb_traits *traits)
{
	const struct fb_ucx_mover *m = (const struct fb_ucx_mover *)move->mover;
	void *ep = NULL;

	for (uint32_t i = 0; i < move->transfers && !ep; i++)
		ep = m->ep[move->transfer[i].peer];
	fb_ucx_path(&m->ucx, ep, traits->path, sizeof(traits->path));
	traits->channels = 1;
}

#define REST                                                                                       \
	.transport = "ucx", .verbs = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET,                        \
	.close = ucx_close, .add = ucx_add, .remove = ucx_remove, .connect = ucx_connect,          \
	.prepare = fb_ucx_move_prepare, .release = fb_ucx_move_release, .post = fb_ucx_move_post,  \
	.test = fb_ucx_move_test, .arrived = fb_ucx_move_arrived, .describe = ucx_describe

const struct fb_mover_ops fb_mover_ucx = {
	.name = "ucx", .summary = "UCX's put and get",
	.open = ucx_open, .fifo = true, .lands = true, REST,
};

/* Between GPUs of a host UCX uses cuda_ipc, whose flush does not wait. Not run on hardware. */
const struct fb_mover_ops fb_mover_ucx_gpu = {
	.name = "ucx_gpu", .summary = "UCX's put and get of GPU memory",
	.device = true, .open = gpu_open, REST,
};
