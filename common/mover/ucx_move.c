/* SPDX-License-Identifier: BSD-3-Clause */
/* What mover ucx posts; ucx.c says what orders it. */
#include "common/base/error.h"
#include "common/mover/ucx.h"

static const struct fb_ucx_op plain = {.mask = 0};

/* Unpacks the key to the peer's part of a region at first use. */
static int key_of(const struct fb_ucx_mover *m, struct fb_ucx_memory *r, int peer, void **rkey)
{
	fb_ucx_status status = FB_UCX_OK;

	if (!r->rkey[peer])
		status = m->ucx.ep_rkey_unpack(m->ep[peer], r->packed + r->at[peer],
					       &r->rkey[peer]);
	*rkey = r->rkey[peer];
	return status ? fb_ucx_error(&m->ucx, status, "ep_rkey_unpack", peer) : FB_OK;
}

int fb_ucx_move_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
			struct fb_move **move)
{
	const struct fb_ucx_mover *m = (const struct fb_ucx_mover *)mover;
	struct fb_ucx_move *made;
	int err = FB_OK;

	(void)form;
	for (uint32_t i = 0; i < given->transfers && !err; i++) {
		const struct fb_transfer *t = &given->transfer[i];
		void *ignored;

		if (t->peer == mover->group->rank && !mover->ops->device)
			continue;
		if (!m->ep[t->peer])
			return fb_error(FB_EINPUT, "mover ucx: a transfer with rank %d, which is "
					"not connected", t->peer);
		if (t->pieces)
			err = key_of(m, (struct fb_ucx_memory *)(uintptr_t)t->remote, t->peer,
				     &ignored);
	}
	return err ? err : fb_move_new(mover, given, sizeof(*made) + given->transfers *
				       sizeof(made->part[0]), move);
}

static void count_complete(void *request, fb_ucx_status status, void *user)
{
	struct fb_ucx_part *part = user;

	part->open--;
	if (status && !part->failed)
		part->failed = status;
	part->ucx->request_free(request);
}

/* Begins the flush, unless pieces are still counted as open. 0 or an error (printed). */
static int begin_flush(const struct fb_ucx_mover *m, struct fb_ucx_part *part, int peer)
{
	if (part->failed)
		return fb_ucx_error(&m->ucx, part->failed, "put or get", peer);
	if (part->unflushed && !part->open) {
		part->unflushed = false;
		part->pending = m->ucx.ep_flush_nbx(m->ep[peer], &plain);
	}
	return FB_OK;
}

/*
 * Posts all pieces, and then the flush. In host memory the flush waits for all pieces. In GPU
 * memory it may not, as cuda_ipc of most versions of UCX does not flush. So pieces are counted
 * there, and the flush begins when all of them are complete.
 */
static int post_transfer(struct fb_ucx_mover *m, const struct fb_transfer *t,
			 struct fb_ucx_part *part)
{
	const struct fb_ucx_op counted = {.mask = FB_UCX_OP_CALLBACK | FB_UCX_OP_USER,
					  .complete = count_complete, .user = part};
	const struct fb_ucx_op *op = m->mover.ops->device ? &counted : &plain;
	const struct fb_ucx_memory *far = (const struct fb_ucx_memory *)t->remote;
	struct fb_walk walk = {.transfer = t};
	void *ep = m->ep[t->peer];
	uint64_t a, b, bytes;
	char *local;

	part->ucx = &m->ucx;
	part->open = 0;
	part->failed = FB_UCX_OK;
	part->pending = NULL;
	part->unflushed = false;
	if (!ep) {
		fb_transfer_copy(t, t->peer);
		return FB_OK;
	}
	local = t->pieces ? fb_transfer_local(t, m->mover.group->rank) : NULL;
	while (local && (bytes = fb_walk_next(&walk, UINT64_MAX, &a, &b))) {
		uint64_t there = far->base[t->peer] + b;
		fb_ucx_pending pending = t->verb == FB_MOVE_PUT ?
			m->ucx.put_nbx(ep, local + a, bytes, there, far->rkey[t->peer], op) :
			m->ucx.get_nbx(ep, local + a, bytes, there, far->rkey[t->peer], op);
		fb_ucx_status status = fb_ucx_pending_error(pending);

		if (status)
			return fb_ucx_error(&m->ucx, status, "put or get", t->peer);
		/* A request that is not counted is released now: UCX completes it by itself. */
		if (pending && op == &counted)
			part->open++;
		else if (pending)
			m->ucx.request_free(pending);
	}
	part->unflushed = t->pieces;
	return begin_flush(m, part, t->peer);
}

/* Whether all requests of the move are complete, or an error. */
static int all_complete(const struct fb_ucx_mover *m, struct fb_ucx_move *move, const char *call)
{
	int all = 1;

	for (uint32_t i = 0; i < move->move.transfers && all >= 0; i++) {
		struct fb_ucx_part *part = &move->part[i];
		int peer = move->move.transfer[i].peer;
		int is = begin_flush(m, part, peer);

		if (!is)
			is = !part->unflushed &&
			     fb_ucx_complete(&m->ucx, &part->pending, call, peer);
		all = is < 0 ? is : all && is;
	}
	return all;
}

static void give_notices(struct fb_ucx_mover *m, struct fb_ucx_move *move)
{
	for (uint32_t i = 0; i < move->move.transfers; i++) {
		const struct fb_transfer *t = &move->move.transfer[i];
		struct fb_ucx_notice *h = &move->part[i].header;

		if (!t->notice)
			continue;
		if (!m->ep[t->peer]) {
			m->arrived[t->peer][t->notice]++;
			continue;
		}
		*h = (struct fb_ucx_notice){(uint32_t)m->mover.group->rank, (uint32_t)t->notice};
		move->part[i].pending = m->ucx.am_send_nbx(m->ep[t->peer], FB_UCX_NOTICE_ID, h,
							   sizeof(*h), NULL, 0, &plain);
	}
}

static int progress(struct fb_ucx_mover *m)
{
	int is = 1;

	m->ucx.worker_progress(m->worker);
	if (m->foreign)
		return fb_error(FB_EPEER, "mover ucx: a peer sent what makes no sense");
	if (m->failed)
		return fb_ucx_error(&m->ucx, m->failed, "worker_progress", m->lost);
	while (m->head && is > 0) {
		struct fb_ucx_move *first = m->head;

		is = all_complete(m, first, "ep_flush_nbx");
		if (is <= 0)
			break;
		m->head = first->next;
		first->queued = false;
		give_notices(m, first);
	}
	return is < 0 ? is : FB_OK;
}

int fb_ucx_move_post(struct fb_move *move)
{
	struct fb_ucx_mover *m = (struct fb_ucx_mover *)move->mover;
	struct fb_ucx_move *mine = (struct fb_ucx_move *)move;
	int err = FB_OK;

	for (uint32_t i = 0; i < move->transfers && !err; i++)
		err = post_transfer(m, &move->transfer[i], &mine->part[i]);
	/* Not queued: its notices would announce pieces that were never posted. */
	if (err)
		return err;
	mine->queued = true;
	mine->next = NULL;
	if (m->head)
		m->tail->next = mine;
	else
		m->head = mine;
	m->tail = mine;
	return progress(m);
}

/* After an error UCX or later moves may still use the move. It is not freed then; the job ends. */
void fb_ucx_move_release(struct fb_move *move)
{
	const struct fb_ucx_move *mine = (const struct fb_ucx_move *)move;
	bool used = mine->queued;

	for (uint32_t i = 0; i < move->transfers; i++)
		used |= mine->part[i].open || mine->part[i].pending;
	if (!used)
		fb_move_free(move);
}

int fb_ucx_move_test(struct fb_move *move, bool *done)
{
	struct fb_ucx_mover *m = (struct fb_ucx_mover *)move->mover;
	struct fb_ucx_move *mine = (struct fb_ucx_move *)move;
	int is = progress(m);

	*done = false;
	if (is || mine->queued)
		return is;
	is = all_complete(m, mine, "am_send_nbx");
	*done = is > 0;
	return is < 0 ? is : FB_OK;
}

int fb_ucx_move_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	struct fb_ucx_mover *m = (struct fb_ucx_mover *)mover;
	int err = progress(m);

	*count = m->arrived[from][notice];
	return err;
}
