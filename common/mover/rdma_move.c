/* SPDX-License-Identifier: BSD-3-Clause */
/* What mover rdma posts; rdma.c says how pieces become requests, and what orders them. */
#include "common/mover/rdma.h"

#if FB_HAVE_VERBS

#include "common/base/error.h"

enum {
	LOOKS = 1 << 14, /* polls between two queries of the ports' states */
	SHARE = 8,       /* about so many chunks per rail, into which long pieces are cut */
};

static void next_chunk(struct fb_rdma_part *p)
{
	p->bytes = fb_walk_next(&p->walk, p->most, &p->local, &p->remote);
}

/* The immediate data of the transfer's notice. */
static uint32_t imm_of(const struct fb_rdma_mover *m, const struct fb_transfer *t)
{
	return (uint32_t)(m->mover.group->rank * FB_RDMA_IMM_RANK + t->notice);
}

/*
 * Adds a request for the part's next chunks on a rail; the last one of a PUT carries the notice.
 * With several rails and without a notice, each rail's last request is not known beforehand, so
 * every request asks for a completion.
 */
static int add_request(struct fb_rdma_mover *m, const struct fb_transfer *t, struct fb_rdma_part *p,
		       enum fb_rdma_form form, int rail)
{
	struct fb_rdma_queue *queue = fb_rdma_queue_to(m, t->peer, rail);
	const struct fb_rdma_memory *here = (const struct fb_rdma_memory *)t->local;
	uint64_t local = (uintptr_t)fb_transfer_local(t, m->mover.group->rank);
	const struct fb_rdma_memory *far = (const struct fb_rdma_memory *)t->remote;
	const struct fb_rdma_target *there = &far->reach[t->peer];
	bool put = t->verb == FB_MOVE_PUT;
	struct ibv_sge piece[FB_RDMA_GATHERED];
	struct fb_rdma_request r = {.opcode = put ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
				    .remote = there->base + p->remote, .rkey = there->rkey[rail],
				    .piece = piece};
	int err;

	do {
		piece[r.npieces++] = (struct ibv_sge){local + p->local, (uint32_t)p->bytes,
						      here->lkey[rail]};
		r.bytes += (uint32_t)p->bytes;
		next_chunk(p);
	} while (form == FB_RDMA_SGE && p->bytes && there->base + p->remote == r.remote + r.bytes &&
		 r.npieces < (int)queue->sges && r.bytes + p->bytes <= p->most);
	r.signal = !p->bytes || (!t->notice && (p->rails & (p->rails - 1)));
	if (put && !p->bytes && t->notice) {
		r.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		r.imm = imm_of(m, t);
		p->tells &= ~(1u << rail);
	}
	err = fb_rdma_queue_add(queue, &r);
	p->last[rail] = queue->posted;
	p->dealt[rail] += r.bytes;
	return !err && form == FB_RDMA_SINGLE ? fb_rdma_queue_ring(queue) : err;
}

/* Adds an empty request with the notice. */
static int add_notice(struct fb_rdma_mover *m, const struct fb_transfer *t, struct fb_rdma_part *p,
		      int rail)
{
	struct fb_rdma_queue *queue = fb_rdma_queue_to(m, t->peer, rail);
	const struct fb_rdma_request r = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .signal = true,
		.fence = t->verb == FB_MOVE_GET, .imm = imm_of(m, t),
	};
	int err = fb_rdma_queue_add(queue, &r);

	p->last[rail] = queue->posted;
	p->tells &= ~(1u << rail);
	return err;
}

/* The rail with room that carries the fewest bytes of the part; -1: none has room. */
static int choose_rail(const struct fb_rdma_mover *m, const struct fb_transfer *t,
		       const struct fb_rdma_part *p, unsigned rails)
{
	int best = -1;

	for (int r = 0; r < m->rails; r++)
		if (rails >> r & 1 && fb_rdma_queue_room(fb_rdma_queue_to(m, t->peer, r)) &&
		    (best < 0 || p->dealt[r] < p->dealt[best]))
			best = r;
	return best;
}

/* Posts what has room of a transfer. 1: all of it; 0: a part; or an error. */
static int push_transfer(struct fb_rdma_mover *m, const struct fb_transfer *t,
			 struct fb_rdma_part *p, enum fb_rdma_form form)
{
	int rail, err = FB_OK;

	if (!fb_rdma_queue_to(m, t->peer, 0)) {
		fb_transfer_copy(t, t->peer);
		for (int r = 0; r < m->rails; r++)
			m->tally[r].arrived[t->peer][t->notice] += t->notice != 0;
		return 1;
	}
	while ((p->bytes || p->tells) && !err) {
		rail = choose_rail(m, t, p, p->bytes ? p->rails : p->tells);
		if (rail < 0)
			break;
		err = p->bytes ? add_request(m, t, p, form, rail) : add_notice(m, t, p, rail);
	}
	for (int r = 0; r < m->rails && !err; r++)
		err = fb_rdma_queue_ring(fb_rdma_queue_to(m, t->peer, r));
	return err ? err : !p->bytes && !p->tells;
}

/* After an error the list is not used: a move in it may have been released. */
static int progress(struct fb_rdma_mover *m)
{
	int err = m->failed, all = 1;

	for (int r = 0; r < m->rails && !err; r++)
		err = fb_rdma_poll(&m->completions[r]);
	if (!err && ++m->polls % LOOKS == 0)
		err = fb_rdma_look_up(m->completions, m->rails);
	while (m->head && !err && all > 0) {
		struct fb_rdma_move *move = m->head;

		for (; move->at < move->move.transfers && all > 0; move->at += all > 0)
			all = push_transfer(m, &move->move.transfer[move->at],
					    &move->part[move->at], move->form);
		err = all < 0 ? all : FB_OK;
		if (all > 0)
			m->head = move->next;
	}
	m->failed = err;
	return err;
}

/* Chooses the rails of a transfer and the length of its chunks. */
static void deal(const struct fb_rdma_mover *m, const struct fb_transfer *t, struct fb_rdma_part *p)
{
	uint64_t bytes = m->rails > 1 ? fb_transfer_bytes(t) : 0, most = m->settings.stripe;

	p->most = m->most;
	p->rails = 1u << (m->mover.group->rank + t->peer) % m->rails;
	if (m->rails == 1 || bytes < m->settings.stripe)
		return;
	p->rails = (1u << m->rails) - 1;
	if (most < bytes / (uint64_t)(m->rails * SHARE))
		most = bytes / (uint64_t)(m->rails * SHARE);
	/* Whole cache lines, so that two rails share one only if a piece is not aligned. */
	most = (most + 63) / 64 * 64;
	if (p->most > most)
		p->most = most;
}

int fb_rdma_move_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
			struct fb_move **move)
{
	const struct fb_rdma_mover *m = (const struct fb_rdma_mover *)mover;
	size_t bytes = sizeof(struct fb_rdma_move) + given->transfers * sizeof(struct fb_rdma_part);
	int index = fb_mover_form(mover->ops, form), err;
	struct fb_rdma_move *mine;

	for (uint32_t i = 0; i < given->transfers; i++) {
		int peer = given->transfer[i].peer;

		if ((peer != mover->group->rank || mover->ops->device) &&
		    !fb_rdma_queue_to(m, peer, 0))
			return fb_error(FB_EINPUT, "mover rdma: a transfer with rank %d, which is "
					"not connected", peer);
	}
	err = fb_move_new(mover, given, bytes, move);
	if (err)
		return err;
	mine = (struct fb_rdma_move *)*move;
	mine->form = (enum fb_rdma_form)index;
	for (uint32_t i = 0; i < given->transfers; i++)
		deal(m, &given->transfer[i], &mine->part[i]);
	return FB_OK;
}

int fb_rdma_move_post(struct fb_move *move)
{
	struct fb_rdma_mover *m = (struct fb_rdma_mover *)move->mover;
	struct fb_rdma_move *mine = (struct fb_rdma_move *)move;

	if (m->failed)
		return m->failed;
	for (uint32_t i = 0; i < move->transfers; i++) {
		const struct fb_transfer *t = &move->transfer[i];
		struct fb_rdma_part *p = &mine->part[i];

		*p = (struct fb_rdma_part){.walk = {.transfer = t}, .most = p->most,
					   .rails = p->rails,
					   .tells = t->notice ? (1u << m->rails) - 1 : 0};
		next_chunk(p);
	}
	mine->at = 0;
	mine->next = NULL;
	if (m->head)
		m->tail->next = mine;
	else
		m->head = mine;
	m->tail = mine;
	return progress(m);
}

int fb_rdma_move_test(struct fb_move *move, bool *done)
{
	struct fb_rdma_mover *m = (struct fb_rdma_mover *)move->mover;
	const struct fb_rdma_move *mine = (const struct fb_rdma_move *)move;
	int err = progress(m);
	bool reads = false;

	*done = !err && mine->at == move->transfers;
	for (uint32_t i = 0; *done && i < move->transfers; i++) {
		for (int r = 0; r < m->rails && *done; r++) {
			const struct fb_rdma_queue *queue =
				fb_rdma_queue_to(m, move->transfer[i].peer, r);

			*done = !queue || fb_rdma_queue_done(queue, mine->part[i].last[r]);
		}
		reads |= move->transfer[i].verb == FB_MOVE_GET;
	}
	fb_rdma_from_device();
	return *done && reads ? fb_rdma_gpu_flush(m) : err;
}

int fb_rdma_move_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count)
{
	struct fb_rdma_mover *m = (struct fb_rdma_mover *)mover;
	int err = progress(m);
	bool fresh = m->fresh;

	*count = m->tally[0].arrived[from][notice];
	for (int r = 1; r < m->rails; r++)
		if (*count > m->tally[r].arrived[from][notice])
			*count = m->tally[r].arrived[from][notice];
	fb_rdma_from_device();
	m->fresh = false;
	return fresh && !err ? fb_rdma_gpu_flush(m) : err;
}

int fb_rdma_move_rest(struct fb_mover *mover, bool *idle)
{
	struct fb_rdma_mover *m = (struct fb_rdma_mover *)mover;
	uint64_t spin_us = mover->wait == FB_RDMA_WAIT_HYBRID ? m->settings.spin_us : 0;
	int err = m->failed ? m->failed : fb_rdma_rest(m->completions, m->rails, spin_us, idle);

	m->failed = err || !*idle ? err : fb_rdma_look_up(m->completions, m->rails);
	return m->failed;
}

#endif
