/* SPDX-License-Identifier: BSD-3-Clause */
/* What mover libfabric posts and reads; libfabric.c says what orders it. */
#include "common/mover/libfabric.h"

#if FB_HAVE_LIBFABRIC

#include "common/base/error.h"
#include "common/cuda/gpu_direct.h"

enum { NOTICES = FB_NOTICES + 1 }; /* the word of a notice is rank * NOTICES + number */

static int count_notice(struct fb_ofi_mover *m, uint64_t word)
{
	uint64_t from = word / NOTICES, notice = word % NOTICES;

	if (from >= (uint64_t)m->mover.group->nranks || !notice)
		return fb_error(FB_EPEER, "mover libfabric: a peer sent what makes no sense");
	m->arrived[from][notice]++;
	m->fresh = true;
	return FB_OK;
}

int fb_ofi_complete(void *arg, const struct fb_ofi_op *op, uint64_t word)
{
	struct fb_ofi_mover *m = arg;
	struct fb_ofi_part *part;

	if (!op)
		return count_notice(m, word);
	part = op->user;
	if (--part->open == 0 && part->lands && !part->bytes) {
		part->lands = false;
		m->busy[op->peer]--;
	}
	return FB_OK;
}

/* --- posting ---------------------------------------------------------------------------------- */

static void next_chunk(struct fb_ofi_mover *m, struct fb_ofi_part *p)
{
	p->bytes = fb_walk_next(&p->walk, m->end.info->ep_attr->max_msg_size, &p->local,
				&p->remote);
}

static uint32_t word_of(const struct fb_ofi_mover *m, const struct fb_transfer *t)
{
	return (uint32_t)(m->mover.group->rank * NOTICES + t->notice);
}

/* Whether the error means that the provider takes no data (a notice) with a write. */
static bool takes_no_data(ssize_t status)
{
	return status == -FI_EINVAL || status == -FI_ENOSYS || status == -FI_EOPNOTSUPP ||
	       status == -FI_EBADFLAGS;
}

/* Posts the part's chunk. `notice`: the write carries the notice. 0 or libfabric's error. */
static ssize_t post_chunk(struct fb_ofi_mover *m, const struct fb_transfer *t,
			  const struct fb_ofi_part *p, struct fb_ofi_op *op, bool notice)
{
	const struct fb_ofi_memory *here = (const struct fb_ofi_memory *)t->local;
	const struct fb_ofi_target *there =
		&((const struct fb_ofi_memory *)t->remote)->target[t->peer];
	const struct iovec local = {fb_transfer_local(t, m->mover.group->rank) + p->local,
				    p->bytes};
	const struct fi_rma_iov remote = {there->base + p->remote, p->bytes, there->key};
	void *desc = fi_mr_desc(here->mr);
	const struct fi_msg_rma msg = {
		.msg_iov = &local, .desc = &desc, .iov_count = 1, .addr = m->end.address[t->peer],
		.rma_iov = &remote, .rma_iov_count = 1, .context = &op->context,
		.data = word_of(m, t),
	};

	if (t->verb == FB_MOVE_GET)
		return fi_readmsg(m->end.ep, &msg, FI_COMPLETION);
	return fi_writemsg(m->end.ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE |
					    (notice ? FI_REMOTE_CQ_DATA : 0));
}

/* Operation `op` has been posted: takes it from the free list and counts it. */
static void take(struct fb_ofi_mover *m, struct fb_ofi_op *op, struct fb_ofi_part *p, int peer)
{
	m->end.free = op->next;
	op->user = p;
	op->peer = peer;
	p->open++;
}

/* Posts what has room of a transfer. 1: all of it; 0: a part; or an error (printed). */
static int push_transfer(struct fb_ofi_mover *m, const struct fb_transfer *t, struct fb_ofi_part *p)
{
	if (m->end.address[t->peer] == FI_ADDR_NOTAVAIL) {
		fb_transfer_copy(t, t->peer);
		p->bytes = 0;
		return 1;
	}
	while (p->bytes && m->end.free) {
		struct fb_ofi_part was = *p;
		struct fb_ofi_op *op = m->end.free;
		bool with;
		ssize_t status;

		next_chunk(m, p);
		with = m->data && was.alone && t->notice && t->verb == FB_MOVE_PUT && !p->bytes;
		status = post_chunk(m, t, &was, op, with);
		if (status) {
			*p = was;
			if (status == -FI_EAGAIN)
				break;
			if (!with || !takes_no_data(status))
				return fb_ofi_error(&m->end, status, fb_move_verbs[t->verb],
						    t->peer);
			m->data = false;
			continue;
		}
		p->alone = false;
		p->told = with;
		take(m, op, p, t->peer);
	}
	return !p->bytes;
}

static int push_moves(struct fb_ofi_mover *m)
{
	int all = 1;

	while (m->feed && all > 0) {
		struct fb_ofi_move *move = m->feed;

		for (; move->at < move->move.transfers && all > 0; move->at += all > 0)
			all = push_transfer(m, &move->move.transfer[move->at],
					    &move->part[move->at]);
		if (all > 0)
			m->feed = move->next;
	}
	return all < 0 ? all : FB_OK;
}

static bool all_complete(const struct fb_ofi_move *move)
{
	for (uint32_t i = 0; i < move->move.transfers; i++)
		if (move->part[i].open)
			return false;
	return true;
}

/* Gives the notices of a delivered move. 1: all; 0: no room; or an error (printed). */
static int give_notices(struct fb_ofi_mover *m, struct fb_ofi_move *move)
{
	for (uint32_t i = 0; i < move->move.transfers; i++) {
		const struct fb_transfer *t = &move->move.transfer[i];
		struct fb_ofi_part *p = &move->part[i];
		struct fb_ofi_op *op = m->end.free;
		ssize_t status;

		if (!t->notice || p->told)
			continue;
		if (m->end.address[t->peer] == FI_ADDR_NOTAVAIL) {
			m->arrived[t->peer][t->notice]++;
			p->told = true;
			continue;
		}
		status = op ? fb_ofi_send(&m->end, op, m->end.address[t->peer], word_of(m, t))
			    : -FI_EAGAIN;
		if (status == -FI_EAGAIN)
			return 0;
		if (status)
			return fb_ofi_error(&m->end, status, "fi_sendmsg", t->peer);
		p->told = true;
		take(m, op, p, t->peer);
	}
	return 1;
}

/* Gives the notices of delivered moves, in the order of posting. 0 or an error (printed). */
static int settle(struct fb_ofi_mover *m)
{
	while (m->head && m->head != m->feed) {
		struct fb_ofi_move *first = m->head;
		int is;

		/* Some notices of it may be under way already. */
		if (!first->delivered && !all_complete(first))
			break;
		first->delivered = true;
		is = give_notices(m, first);
		if (is <= 0)
			return is;
		m->head = first->next;
		first->queued = false;
	}
	return FB_OK;
}

/* Gives notices first, because pieces of later moves would take all free operations. */
static int advance(struct fb_ofi_mover *m)
{
	int is = fb_ofi_read(&m->end);

	if (!is)
		is = settle(m);
	if (!is)
		is = push_moves(m);
	return is ? is : settle(m);
}

int fb_ofi_progress(struct fb_ofi_mover *m)
{
	if (!m->failed)
		m->failed = advance(m);
	else /* Peers may still need calls of this rank. */
		(void)fi_cq_read(m->end.cq, NULL, 0);
	return m->failed;
}

/* --- moves ------------------------------------------------------------------------------------ */

int fb_ofi_move_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
			struct fb_move **move)
{
	const struct fb_ofi_mover *m = (const struct fb_ofi_mover *)mover;

	(void)form;
	for (uint32_t i = 0; i < given->transfers; i++) {
		int peer = given->transfer[i].peer;

		if ((peer != mover->group->rank || mover->ops->device) &&
		    m->end.address[peer] == FI_ADDR_NOTAVAIL)
			return fb_error(FB_EINPUT, "mover libfabric: a transfer with rank %d, "
					"which is not connected", peer);
	}
	return fb_move_new(mover, given, sizeof(struct fb_ofi_move) + given->transfers *
			   sizeof(struct fb_ofi_part), move);
}

/* After an error the move is not freed, as the provider may still use it; the job ends. */
void fb_ofi_move_release(struct fb_move *move)
{
	const struct fb_ofi_move *mine = (const struct fb_ofi_move *)move;

	if (!mine->queued && all_complete(mine))
		fb_move_free(move);
}

int fb_ofi_move_post(struct fb_move *move)
{
	struct fb_ofi_mover *m = (struct fb_ofi_mover *)move->mover;
	struct fb_ofi_move *mine = (struct fb_ofi_move *)move;

	for (uint32_t i = 0; i < move->transfers; i++) {
		const struct fb_transfer *t = &move->transfer[i];
		struct fb_ofi_part *p = &mine->part[i];

		*p = (struct fb_ofi_part){.walk = {.transfer = t}};
		next_chunk(m, p);
		p->lands = p->bytes && m->end.address[t->peer] != FI_ADDR_NOTAVAIL;
		p->alone = !m->busy[t->peer];
		m->busy[t->peer] += p->lands;
	}
	mine->at = 0;
	mine->next = NULL;
	mine->queued = true;
	mine->delivered = false;
	if (m->head)
		m->tail->next = mine;
	else
		m->head = mine;
	m->tail = mine;
	if (!m->feed)
		m->feed = mine;
	return fb_ofi_progress(m);
}

int fb_ofi_move_test(struct fb_move *move, bool *done)
{
	struct fb_ofi_mover *m = (struct fb_ofi_mover *)move->mover;
	const struct fb_ofi_move *mine = (const struct fb_ofi_move *)move;
	int err = fb_ofi_progress(m);

	*done = !err && !mine->queued && all_complete(mine);
	return *done && m->flushes ? fb_gpu_direct_flush(&m->gpu) : err;
}

int fb_ofi_move_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	struct fb_ofi_mover *m = (struct fb_ofi_mover *)mover;
	int err = fb_ofi_progress(m);
	bool fresh = m->fresh;

	*count = m->arrived[from][notice];
	m->fresh = false;
	return fresh && m->flushes && !err ? fb_gpu_direct_flush(&m->gpu) : err;
}

#endif
