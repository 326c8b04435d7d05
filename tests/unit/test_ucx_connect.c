/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engine ucx connects to a new peer over functions of UCX that are made to fail: whether this rank
 * or its peer has the error, all ranks learn of it, and none waits for a byte that is never sent.
 * What UCX may still write to stays until the worker is destroyed.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "p2p/engine/ucx.h"
#include "tests/unit/check.h"

enum { PEER = 1, ROUNDS = 3 };

static struct fb_ucx_engine *engine;
static char receive, close_request;
/* This rank's byte cannot be sent; the peer's arrives; a callback has an error. */
static bool refuses, arrives, breaks;
static int peer_error, rounds, told, looks, flushes;
static bool kept;

static fb_ucx_status make_end(void *worker, const struct fb_ucx_ep_params *params, void **ep)
{
	(void)worker, (void)params;
	*ep = &close_request;
	return FB_UCX_OK;
}

static fb_ucx_pending receive_byte(void *worker, void *to, size_t bytes, uint64_t tag,
				   uint64_t mask, const struct fb_ucx_op *op)
{
	(void)worker, (void)bytes, (void)tag, (void)mask, (void)op;
	CHECK(to == engine->hello);
	return &receive;
}

static fb_ucx_pending send_byte(void *ep, const void *from, size_t bytes, uint64_t tag,
				const struct fb_ucx_op *op)
{
	(void)ep, (void)bytes, (void)tag, (void)op;
	CHECK(from == engine->hello + 1);
	return refuses ? (fb_ucx_pending)(intptr_t)FB_UCX_LAST_ERROR : NULL;
}

static fb_ucx_pending flush(void *ep, const struct fb_ucx_op *op)
{
	(void)ep, (void)op;
	flushes++;
	return NULL;
}

static fb_ucx_status state_of(fb_ucx_pending request)
{
	if (request == &receive && !(arrives && ++looks > 2))
		return FB_UCX_IN_PROGRESS;
	return FB_UCX_OK;
}

static void no_more(void *request)
{
	(void)request;
}

static unsigned progress(void *worker)
{
	(void)worker;
	if (breaks)
		engine->failed = FB_UCX_LAST_ERROR;
	return breaks;
}

static const char *no_words(fb_ucx_status status)
{
	(void)status;
	return "made to fail";
}

static void destroy_worker(void *worker)
{
	(void)worker;
	kept = engine->hello != NULL;
	if (kept)
		engine->hello[0] = 1; /* the address sanitizer would see that it is freed */
}

/* In place of MPI's, of two ranks. */
int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
		  MPI_Comm comm)
{
	(void)type, (void)op, (void)comm;
	if (from != MPI_IN_PLACE)
		memcpy(to, from, (size_t)count * sizeof(int));
	return MPI_SUCCESS;
}

/* The peer is through, or fails, in the last round. */
int MPI_Iallreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
		   MPI_Comm comm, MPI_Request *request)
{
	const int *own = from;
	int *all = to;
	int theirs = ++rounds >= ROUNDS ? peer_error : 0, open = rounds >= ROUNDS ? 0 : -1;

	(void)type, (void)op, (void)comm;
	CHECK_INT(count, 2);
	told = own[0];
	all[0] = own[0] < theirs ? own[0] : theirs;
	all[1] = own[1] < open ? own[1] : open;
	*request = MPI_REQUEST_NULL;
	return MPI_SUCCESS;
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
	(void)comm;
	*request = MPI_REQUEST_NULL;
	return MPI_SUCCESS;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	(void)request, (void)status;
	*flag = 1;
	return MPI_SUCCESS;
}

static void run(int err)
{
	const struct fb_group group = {.rank = 0, .nranks = 2};
	int peers[] = {PEER};
	struct fb_ucx_engine e = {
		.world = &group, .links = calloc(2, sizeof(struct fb_ucx_link)),
		.addresses = calloc(1, 1), .address_at = calloc(3, sizeof(int)),
		.worker = &receive,
		.ucx = {.ep_create = make_end, .tag_recv_nbx = receive_byte,
			.tag_send_nbx = send_byte, .ep_flush_nbx = flush, .ep_close_nbx = flush,
			.request_check_status = state_of, .request_free = no_more,
			.worker_progress = progress, .worker_destroy = destroy_worker,
			.status_string = no_words},
	};

	if (!e.links || !e.addresses || !e.address_at)
		abort();
	engine = &e;
	rounds = told = looks = flushes = 0;
	CHECK_INT(fb_ucx_connect(&e, peers, 1), err);
	CHECK(e.links[PEER].connected == !err);
	CHECK_INT(flushes, !err);
	CHECK(rounds > 1);
	fb_ucx_stop(&e);
	CHECK(kept == (err != FB_OK));
}

int main(void)
{
	arrives = true;
	run(FB_OK);
	CHECK_INT(told, FB_OK);
	arrives = false;
	refuses = true;
	run(FB_ESYS);
	CHECK_INT(told, FB_ESYS);
	refuses = false;
	breaks = true;
	run(FB_ESYS);
	CHECK_INT(told, FB_ESYS);
	breaks = false;
	peer_error = FB_ENOMEM;
	run(FB_ENOMEM);
	CHECK_INT(told, FB_OK);
	CHECK_INT(rounds, ROUNDS);
	return check_done("ucx_connect");
}
