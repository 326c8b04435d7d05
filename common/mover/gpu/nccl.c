/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover nccl: a transfer is one message. A single piece is sent from, and received at, its place;
 * more are packed into a buffer of the move by a kernel, and unpacked by one. The library is the
 * one that --nccl-library names. Multicast is off (common/system/multicast.h).
 *
 * NCCL carries out the groups of a communicator one after the other, so a group that only receives
 * delays all later groups. Therefore posted moves wait until test() asks for one of them, and are
 * then launched as one group: a rank that posts its sends and receives before it calls test()
 * cannot deadlock. An enqueued move is a group of its own; its transfers may send and receive.
 */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/cuda/cuda_error.h"
#include "common/cuda/gpu_direct.h"
#include "common/mover/gpu/device.h"

/*
 * NCCL connects two ranks in the first group with a message between them, and each rank assumes
 * that the other's group has the same directions: else it fails with "Message truncated" (2.28.3).
 * Here a group has whatever was posted, so that one rank's may have a receive only and the other's
 * the answer too. So one group, equal on all ranks, connects all pairs beforehand.
 */
int fb_nccl_mover_connect(struct fb_gpu_mover *m)
{
	const struct fb_group *group = m->mover.group;
	char *memory = fb_gpu_direct_alloc((size_t)group->nranks + 1);
	int err = fb_group_agree(group, memory ? FB_OK : FB_ENOMEM), type = fb_nccl_type(FB_U8);
	int code, added = FB_NCCL_SUCCESS, end;

	if (!err) {
		code = m->nccl.GroupStart();
		for (int r = 0; r < group->nranks && !code && !added; r++) {
			if (r == group->rank)
				continue;
			added = m->nccl.Send(memory + group->nranks, 1, type, r, m->comm->comm,
					     m->stream);
			if (!added)
				added = m->nccl.Recv(memory + r, 1, type, r, m->comm->comm,
						     m->stream);
		}
		end = m->nccl.GroupEnd();
		err = fb_nccl_error(&m->nccl, m->comm->comm, code ? code : added ? added : end,
				    "Send and ncclRecv");
		/* The stream would wait forever for a rank whose group has failed. */
		err = fb_group_agree(group, err);
		if (!err)
			err = FB_CUDA(cudaStreamSynchronize(m->stream));
		err = fb_group_agree(group, err);
	}
	if (memory)
		(void)fb_gpu_direct_free(memory);
	return err;
}

struct fb_nccl_move {
	struct fb_gpu_move move;
	struct fb_nccl_move *next; /* among those that are posted */
	struct fb_gpu_launches gather, scatter;
	char *staging;             /* in device memory; NULL: nothing is packed */
	uint64_t *at;              /* [transfers] a message's place in it; 0: not packed */
	bool waits;                /* posted, and not yet launched */
};

static struct fb_gpu_mover *mover_of(const struct fb_nccl_move *n)
{
	return (struct fb_gpu_mover *)n->move.move.mover;
}

/* A list that is one piece in memory. */
static bool is_single(const struct fb_transfer *t)
{
	return t->pieces == 1 && t->repeats <= 1;
}

void fb_nccl_move_release(struct fb_move *move)
{
	struct fb_nccl_move *n = (struct fb_nccl_move *)move;

	fb_gpu_launches_close(&n->gather, mover_of(n));
	fb_gpu_launches_close(&n->scatter, mover_of(n));
	if (n->staging)
		(void)fb_gpu_direct_free(n->staging);
	free(n->at);
	fb_gpu_move_free(move);
}

/* Allocates the buffer, and prepares the kernels that pack into it and unpack from it. */
static int open_staging(struct fb_nccl_move *n)
{
	enum { ALIGNMENT = 512 };
	const struct fb_move *move = &n->move.move;
	uint64_t bytes = 0, *sent, *received;
	int err;

	for (uint32_t i = 0; i < move->transfers; i++) {
		const struct fb_transfer *t = &move->transfer[i];

		if (is_single(t) || !fb_transfer_bytes(t))
			continue;
		n->at[i] = bytes + 1;
		bytes += (fb_transfer_bytes(t) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	}
	if (!bytes)
		return FB_OK;
	n->staging = fb_gpu_direct_alloc(bytes);
	sent = calloc(move->transfers, sizeof(*sent));
	received = calloc(move->transfers, sizeof(*received));
	err = n->staging && sent && received ? FB_OK : FB_ENOMEM;
	for (uint32_t i = 0; i < move->transfers && !err; i++) {
		bool sends = move->transfer[i].verb == FB_MOVE_SEND;

		if (n->at[i])
			n->at[i] += (uint64_t)(uintptr_t)n->staging - 1;
		sent[i] = sends ? n->at[i] : 0;
		received[i] = sends ? 0 : n->at[i];
	}
	if (!err)
		err = fb_gpu_launches_open(&n->gather, mover_of(n), move->transfer,
					   move->transfers, FB_MOVE_GATHER, sent);
	if (!err)
		err = fb_gpu_launches_open(&n->scatter, mover_of(n), move->transfer,
					   move->transfers, FB_MOVE_SCATTER, received);
	free(sent);
	free(received);
	return err;
}

int fb_nccl_move_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
			 struct fb_move **move)
{
	int err = fb_gpu_move_new(mover, given, sizeof(struct fb_nccl_move), move);
	struct fb_nccl_move *n;

	(void)form;
	if (err)
		return err;
	n = (struct fb_nccl_move *)*move;
	n->at = calloc(given->transfers + 1, sizeof(*n->at));
	err = n->at ? open_staging(n) : fb_error(FB_ENOMEM, "mover nccl: out of memory");
	if (err)
		fb_nccl_move_release(*move);
	return err;
}

/* Adds the messages of a move to the open group. Returns NCCL's code. */
static int add_messages(const struct fb_nccl_move *n, void *stream)
{
	const struct fb_gpu_mover *m = mover_of(n);
	const struct fb_move *move = &n->move.move;
	int code = FB_NCCL_SUCCESS, type = fb_nccl_type(FB_U8);

	for (uint32_t i = 0; i < move->transfers && !code; i++) {
		const struct fb_transfer *t = &move->transfer[i];
		uint64_t bytes = fb_transfer_bytes(t);
		char *place;

		if (!bytes)
			continue;
		place = n->at[i] ? n->staging + (n->at[i] - (uint64_t)(uintptr_t)n->staging)
				 : fb_transfer_local(t, m->mover.group->rank) + t->local_at +
					   t->piece->local;
		if (t->verb == FB_MOVE_SEND)
			code = m->nccl.Send(place, bytes, type, t->peer, m->comm->comm, stream);
		else
			code = m->nccl.Recv(place, bytes, type, t->peer, m->comm->comm, stream);
	}
	return code;
}

/* So many moves, the first of a list, as one group. */
static int enqueue_group(struct fb_gpu_mover *m, const struct fb_nccl_move *first, bool alone,
			 void *stream)
{
	const struct fb_nccl_move *n;
	int err = FB_OK, code, added = FB_NCCL_SUCCESS, end;

	for (n = first; n && !err; n = alone ? NULL : n->next)
		err = fb_gpu_launches_enqueue(&n->gather, m, NULL, 0, stream);
	if (err)
		return err;
	code = m->nccl.GroupStart();
	for (n = first; n && !code && !added; n = alone ? NULL : n->next)
		added = add_messages(n, stream);
	end = m->nccl.GroupEnd();
	err = fb_nccl_error(&m->nccl, m->comm->comm, code ? code : added ? added : end,
			    "Send and ncclRecv");
	for (n = first; n && !err; n = alone ? NULL : n->next)
		err = fb_gpu_launches_enqueue(&n->scatter, m, NULL, 0, stream);
	return err;
}

int fb_nccl_move_enqueue(struct fb_mover *mover, const struct fb_wait *wait, int n,
			 struct fb_move *move, void *stream)
{
	struct fb_gpu_mover *m = (struct fb_gpu_mover *)mover;

	(void)wait;
	if (n)
		return fb_error(FB_EINPUT, "mover nccl has no notices");
	return move ? enqueue_group(m, (struct fb_nccl_move *)move, true, stream) : FB_OK;
}

int fb_nccl_move_post(struct fb_move *move)
{
	struct fb_nccl_move *n = (struct fb_nccl_move *)move;
	struct fb_gpu_mover *m = mover_of(n);

	n->waits = true;
	n->next = NULL;
	if (m->head)
		m->tail->next = n;
	else
		m->head = n;
	m->tail = n;
	return FB_OK;
}

static int launch_posted(struct fb_gpu_mover *m)
{
	int err = m->head ? enqueue_group(m, m->head, false, m->stream) : FB_OK;

	for (struct fb_nccl_move *n = m->head; n && !err; n = n->next) {
		n->waits = false;
		err = FB_CUDA(cudaEventRecord(n->move.posted, m->stream));
	}
	m->head = m->tail = NULL;
	return err;
}

int fb_nccl_move_test(struct fb_move *move, bool *done)
{
	struct fb_nccl_move *n = (struct fb_nccl_move *)move;
	struct fb_gpu_mover *m = mover_of(n);
	int err = n->waits ? launch_posted(m) : FB_OK;

	if (!err)
		err = fb_gpu_move_test(move, done);
	return err ? err : fb_nccl_group_poll(&m->nccl, m->comm);
}
