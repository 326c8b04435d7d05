/* SPDX-License-Identifier: BSD-3-Clause */
/* Setup of the ucx engine: ranks exchange addresses through MPI and connect; see ucx.h. */
#include "p2p/engine/ucx.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

static const struct fb_ucx_op plain = {.mask = 0};

static int open_worker(struct fb_ucx_engine *e, void **address, size_t *bytes)
{
	const struct fb_ucx_params params = {
		.mask = FB_UCX_PARAMS_FEATURES | FB_UCX_PARAMS_ENDPOINTS,
		.features = FB_UCX_FEATURE_TAG | FB_UCX_FEATURE_AM | FB_UCX_FEATURE_RMA,
		.endpoints = (size_t)e->world->nranks,
	};
	const struct fb_ucx_worker_params worker = {
		.mask = FB_UCX_WORKER_THREADS, .threads = FB_UCX_THREADS_SINGLE,
	};
	struct fb_ucx_context_attr attr = {.mask = FB_UCX_CONTEXT_MEMORIES};
	const struct fb_ucx *u = &e->ucx;
	fb_ucx_status status;

	status = u->init_version(FB_UCX_MAJOR, FB_UCX_MINOR, &params, NULL, &e->context);
	if (status)
		return fb_ucx_error(u, status, "init_version", -1);
	if (u->context_query(e->context, &attr) == FB_UCX_OK)
		e->cuda = attr.memory_types >> FB_UCX_MEMORY_CUDA & 1;
	status = u->worker_create(e->context, &worker, &e->worker);
	if (status)
		return fb_ucx_error(u, status, "worker_create", -1);
	status = u->worker_get_address(e->worker, address, bytes);
	if (status)
		return fb_ucx_error(u, status, "worker_get_address", -1);
	return fb_ucx_am_listen(e);
}

int fb_ucx_start(struct fb_ucx_engine *e)
{
	void *address = NULL;
	size_t bytes = 0;
	int err;

	e->links = calloc((size_t)e->world->nranks, sizeof(*e->links));
	err = fb_group_agree(e->world, e->links ? FB_OK : FB_ENOMEM);
	if (!err)
		err = fb_group_agree(e->world, open_worker(e, &address, &bytes));
	if (!err)
		err = fb_ucx_gather(e->world, address, bytes, &e->addresses, &e->address_at);
	if (address)
		e->ucx.worker_release_address(e->worker, address);
	return err;
}

int fb_ucx_barrier(struct fb_ucx_engine *e)
{
	struct fb_spin spin = {.yields = e->world->oversubscribed};
	MPI_Request request;
	int done = 0, err = FB_OK;

	MPI_Ibarrier(e->world->comm, &request);
	while (!err) {
		MPI_Test(&request, &done, MPI_STATUS_IGNORE);
		if (done)
			return FB_OK;
		err = fb_ucx_again(e, &spin);
	}
	return err;
}

static int make_endpoint(struct fb_ucx_engine *e, int peer)
{
	const struct fb_ucx_ep_params params = {
		.mask = FB_UCX_EP_ADDRESS, .address = e->addresses + e->address_at[peer],
	};
	fb_ucx_status status = e->ucx.ep_create(e->worker, &params, &e->links[peer].ep);

	if (!status)
		return FB_OK;
	e->links[peer].ep = NULL;
	return fb_ucx_error(&e->ucx, status, "ep_create", peer);
}

enum { RECEIVED, SENT, FLUSHED, CALLS }; /* of each peer, in the order of `pending` */

/* Posts a byte to and from each peer. */
static void post_hello(struct fb_ucx_engine *e, const int *peers, int n, fb_ucx_pending *pending)
{
	for (int i = 0; i < n; i++) {
		pending[RECEIVED * n + i] = e->ucx.tag_recv_nbx(
			e->worker, &e->hello[i], 1, fb_ucx_tag(FB_UCX_HELLO, 0, (uint32_t)peers[i]),
			UINT64_MAX, &plain);
		pending[SENT * n + i] = e->ucx.tag_send_nbx(
			e->links[peers[i]].ep, &e->hello[n], 1,
			fb_ucx_tag(FB_UCX_HELLO, 0, (uint32_t)e->world->rank), &plain);
	}
}

/* 1: bytes of both directions have arrived and been flushed; 0: not yet; or an error (printed). */
static int look_at_hello(struct fb_ucx_engine *e, const int *peers, int n, fb_ucx_pending *pending,
			 bool *flushes)
{
	static const char *const call[] = {"tag_recv_nbx", "tag_send_nbx", "ep_flush_nbx"};
	int is = 1;

	for (int i = 0; i < CALLS * n && is >= 0; i++) {
		int one;

		if (i == FLUSHED * n && is && !*flushes) {
			*flushes = true;
			for (int k = 0; k < n; k++)
				pending[i + k] = e->ucx.ep_flush_nbx(e->links[peers[k]].ep, &plain);
		}
		one = fb_ucx_complete(&e->ucx, &pending[i], call[i / n], peers[i % n]);
		is = one < 0 ? one : is && one;
	}
	return is;
}

/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): MPI_Test() waits. */
/*
 * Exchanges a byte with each new peer, all at the same time; then all are connected. A peer with an
 * error sends nothing, so a rank must not only wait for its peers' bytes. Instead all ranks tell
 * each other in rounds whether they have finished or have an error, and progress the worker
 * meanwhile.
 */
static int exchange_hello(struct fb_ucx_engine *e, const int *peers, int n)
{
	fb_ucx_pending *pending = calloc(CALLS * (size_t)n + 1, sizeof(*pending));
	struct fb_spin spin = {.yields = e->world->oversubscribed};
	bool flushes = false;
	int is = 0, err, stop = FB_OK;

	e->hello = calloc((size_t)n + 1, 1);
	err = fb_group_agree(e->world, pending && e->hello ? FB_OK : FB_ENOMEM);
	if (err || !pending) {
		free(pending);
		return err;
	}
	post_hello(e, peers, n, pending);
	do {
		MPI_Request round;
		int over = 0;

		e->own[0] = err;
		e->own[1] = is - 1;
		MPI_Iallreduce(e->own, e->all, 2, MPI_INT, MPI_MIN, e->world->comm, &round);
		while (!over && !stop) {
			if (!err && !is)
				is = look_at_hello(e, peers, n, pending, &flushes);
			err = is < 0 ? is : err;
			stop = fb_ucx_again(e, &spin);
			/* The other ranks learn of this rank's errors in the next round. */
			if (e->failed && stop != FB_ETIMEOUT) {
				err = FB_ESYS;
				stop = FB_OK;
			}
			MPI_Test(&round, &over, MPI_STATUS_IGNORE);
		}
	} while (!stop && !e->all[0] && e->all[1]);
	free(pending);
	err = stop ? stop : e->all[0];
	/* After an error UCX may still write to `hello`, until the worker is destroyed. */
	if (!err) {
		free(e->hello);
		e->hello = NULL;
	}
	return err;
}
/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

int fb_ucx_connect(struct fb_ucx_engine *e, const int *peers, int n)
{
	int *unknown = calloc((size_t)n + 1, sizeof(*unknown)), count = 0, any;
	int err = fb_group_agree(e->world, unknown ? FB_OK : FB_ENOMEM);

	for (int i = 0; i < n && !err && unknown; i++) {
		struct fb_ucx_link *link = &e->links[peers[i]];
		bool known = link->connected;

		for (int k = 0; k < count; k++)
			known |= unknown[k] == peers[i];
		if (known)
			continue;
		if (!link->ep)
			err = make_endpoint(e, peers[i]);
		unknown[count++] = peers[i];
	}
	err = fb_group_agree(e->world, err);
	any = count;
	MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, e->world->comm);
	if (!err && any)
		err = exchange_hello(e, unknown, count);
	for (int i = 0; i < count && !err; i++)
		e->links[unknown[i]].connected = true;
	free(unknown);
	return err;
}

static int pack(struct fb_ucx_engine *e, struct fb_ucx_share *share, void *base, size_t bytes,
		void **packed, size_t *packed_bytes)
{
	const struct fb_ucx_map_params params = {
		.mask = FB_UCX_MAP_ADDRESS | FB_UCX_MAP_LENGTH, .address = base, .length = bytes,
	};
	fb_ucx_status status = e->ucx.mem_map(e->context, &params, &share->memh);

	if (status)
		return fb_ucx_error(&e->ucx, status, "mem_map", -1);
	status = e->ucx.rkey_pack(e->context, share->memh, packed, packed_bytes);
	return status ? fb_ucx_error(&e->ucx, status, "rkey_pack", -1) : FB_OK;
}

static void free_share(struct fb_ucx_engine *e, struct fb_ucx_share *share)
{
	if (share->memh)
		e->ucx.mem_unmap(e->context, share->memh);
	free(share->bases);
	free(share->packed);
	free(share->at);
	*share = (struct fb_ucx_share){.base = NULL};
}

int fb_ucx_share_memory(struct fb_ucx_engine *e, void *base, size_t bytes)
{
	struct fb_ucx_share share = {.base = base};
	uint64_t own = (uintptr_t)base;
	void *packed = NULL;
	size_t packed_bytes = 0;
	int err = FB_OK;

	for (int i = 0; i < e->nshares; i++)
		if (e->share[i].base == base)
			return i;
	share.bases = calloc((size_t)e->world->nranks, sizeof(*share.bases));
	if (!share.bases || e->nshares == FB_UCX_SHARES)
		err = fb_error(FB_ENOMEM, "engine ucx: out of memory to share");
	err = fb_group_agree(e->world, err);
	if (!err)
		err = fb_group_agree(e->world,
				     pack(e, &share, base, bytes, &packed, &packed_bytes));
	if (!err)
		err = fb_ucx_gather(e->world, packed, packed_bytes, &share.packed, &share.at);
	if (packed)
		e->ucx.rkey_buffer_release(packed);
	if (err) {
		free_share(e, &share);
		return err;
	}
	MPI_Allgather(&own, 1, MPI_UINT64_T, share.bases, 1, MPI_UINT64_T, e->world->comm);
	e->share[e->nshares] = share;
	return e->nshares++;
}

int fb_ucx_reach(struct fb_ucx_engine *e, int share, int peer, void **rkey)
{
	struct fb_ucx_link *link = &e->links[peer];
	const struct fb_ucx_share *s = &e->share[share];
	fb_ucx_status status = FB_UCX_OK;

	if (!link->rkey[share])
		status = e->ucx.ep_rkey_unpack(link->ep, s->packed + s->at[peer],
					       &link->rkey[share]);
	if (status)
		return fb_ucx_error(&e->ucx, status, "ep_rkey_unpack", peer);
	*rkey = link->rkey[share];
	return FB_OK;
}

/* Closes all endpoints at the same time, because closing one may need progress at its peer. */
static void close_links(struct fb_ucx_engine *e)
{
	fb_ucx_pending *pending = calloc((size_t)e->world->nranks, sizeof(*pending));

	for (int r = 0; r < e->world->nranks && pending; r++) {
		struct fb_ucx_link *link = &e->links[r];

		for (int s = 0; s < FB_UCX_SHARES; s++)
			if (link->rkey[s])
				e->ucx.rkey_destroy(link->rkey[s]);
		/* Endpoints that were never connected are destroyed with the worker. */
		if (link->connected)
			pending[r] = e->ucx.ep_close_nbx(link->ep, &plain);
	}
	for (int r = 0; r < e->world->nranks && pending; r++)
		if (fb_ucx_wait(e, pending[r], "ep_close_nbx", r))
			break;
	free(pending);
	fb_ucx_barrier(e);
}

void fb_ucx_stop(struct fb_ucx_engine *e)
{
	/* Without all addresses there is no endpoint either. */
	if (e->address_at)
		close_links(e);
	for (int s = 0; s < e->nshares; s++)
		free_share(e, &e->share[s]);
	if (e->worker)
		e->ucx.worker_destroy(e->worker);
	if (e->context)
		e->ucx.cleanup(e->context);
	free(e->hello);
	free(e->links);
	free(e->addresses);
	free(e->address_at);
	free(e->cells);
}
