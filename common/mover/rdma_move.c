/* SPDX-License-Identifier: BSD-3-Clause */
/* What mover rdma posts; rdma.c says how pieces become requests, and what orders them. */
#include "common/mover/rdma.h"

#if FB_HAVE_VERBS

#include "common/base/error.h"

enum { LOOKS = 1 << 14 }; /* polls between two looks at the ports */

static void next_chunk(const struct fb_rdma_mover *m, struct fb_rdma_part *p)
{
	p->bytes = fb_walk_next(&p->walk, m->rail->max_message, &p->local, &p->remote);
}

/* One request of the part's next chunks; the last one of a PUT tells the peer. */
static int add_request(struct fb_rdma_mover *m, const struct fb_transfer *t, struct fb_rdma_part *p,
		       enum fb_rdma_form form)
{
	struct fb_rdma_queue *queue = m->queue[t->peer];
	const struct fb_rdma_memory *here = (const struct fb_rdma_memory *)t->local;
	uint64_t local = (uintptr_t)fb_transfer_local(t, m->mover.group->rank);
	const struct fb_rdma_memory *far = (const struct fb_rdma_memory *)t->remote;
	const struct fb_rdma_target *there = &far->reach[t->peer];
	bool put = t->verb == FB_MOVE_PUT;
	struct ibv_sge piece[FB_RDMA_GATHERED];
	struct fb_rdma_request r = {.opcode = put ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
				    .remote = there->base + p->remote, .rkey = there->rkey,
				    .piece = piece};
	int err;

	do {
		piece[r.npieces++] = (struct ibv_sge){local + p->local, (uint32_t)p->bytes,
						      here->lkey};
		r.bytes += (uint32_t)p->bytes;
		next_chunk(m, p);
	} while (form == FB_RDMA_SGE && p->bytes && there->base + p->remote == r.remote + r.bytes &&
		 r.npieces < (int)queue->sges && r.bytes + p->bytes <= m->rail->max_message);
	r.signal = !p->bytes;
	if (put && !p->bytes && t->notice) {
		r.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		r.imm = (uint32_t)(m->mover.group->rank * FB_RDMA_IMM_RANK + t->notice);
	}
	err = fb_rdma_queue_add(queue, &r);
	p->last = queue->posted;
	return !err && form == FB_RDMA_SINGLE ? fb_rdma_queue_ring(queue) : err;
}

/* A notice without bytes. */
static int add_notice(struct fb_rdma_mover *m, const struct fb_transfer *t, struct fb_rdma_part *p)
{
	struct fb_rdma_queue *queue = m->queue[t->peer];
	const struct fb_rdma_request r = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .signal = true,
		.fence = t->verb == FB_MOVE_GET,
		.imm = (uint32_t)(m->mover.group->rank * FB_RDMA_IMM_RANK + t->notice),
	};
	int err = fb_rdma_queue_add(queue, &r);

	p->last = queue->posted;
	p->tells = false;
	return err;
}

/* As much of a transfer as there is room for. 1: all of it; 0; or an error. */
static int push_transfer(struct fb_rdma_mover *m, const struct fb_transfer *t,
			 struct fb_rdma_part *p, enum fb_rdma_form form)
{
	struct fb_rdma_queue *queue = m->queue[t->peer];
	int err = FB_OK;

	if (!queue) {
		fb_transfer_copy(t, t->peer);
		m->arrived[t->peer][t->notice] += t->notice != 0;
		return 1;
	}
	while ((p->bytes || p->tells) && !err && fb_rdma_queue_room(queue))
		err = p->bytes ? add_request(m, t, p, form) : add_notice(m, t, p);
	if (!err)
		err = fb_rdma_queue_ring(queue);
	return err ? err : !p->bytes && !p->tells;
}

static int progress(struct fb_rdma_mover *m)
{
	int err = fb_rdma_poll(&m->completions), all = 1;

	if (!err && ++m->polls % LOOKS == 0)
		err = fb_rdma_look_up(&m->completions, 1);
	while (m->head && !err && all > 0) {
		struct fb_rdma_move *move = m->head;

		for (; move->at < move->move.transfers && all > 0; move->at += all > 0)
			all = push_transfer(m, &move->move.transfer[move->at],
					    &move->part[move->at], move->form);
		err = all < 0 ? all : FB_OK;
		if (all > 0)
			m->head = move->next;
	}
	return err;
}

int fb_rdma_move_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
			struct fb_move **move)
{
	const struct fb_rdma_mover *m = (const struct fb_rdma_mover *)mover;
	size_t bytes = sizeof(struct fb_rdma_move) + given->transfers * sizeof(struct fb_rdma_part);
	int index = fb_mover_form(mover->ops, form), err;

	for (uint32_t i = 0; i < given->transfers; i++) {
		int peer = given->transfer[i].peer;

		if ((peer != mover->group->rank || mover->ops->device) && !m->queue[peer])
			return fb_error(FB_EINPUT, "mover rdma: a transfer with rank %d, which is "
					"not connected", peer);
	}
	err = fb_move_new(mover, given, bytes, move);
	if (!err)
		((struct fb_rdma_move *)*move)->form = (enum fb_rdma_form)index;
	return err;
}

int fb_rdma_move_post(struct fb_move *move)
{
	struct fb_rdma_mover *m = (struct fb_rdma_mover *)move->mover;
	struct fb_rdma_move *mine = (struct fb_rdma_move *)move;

	for (uint32_t i = 0; i < move->transfers; i++) {
		const struct fb_transfer *t = &move->transfer[i];
		struct fb_rdma_part *p = &mine->part[i];

		*p = (struct fb_rdma_part){.walk = {.transfer = t}};
		next_chunk(m, p);
		p->tells = t->notice && (t->verb == FB_MOVE_GET || !p->bytes);
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
		const struct fb_rdma_queue *queue = m->queue[move->transfer[i].peer];

		*done = !queue || fb_rdma_queue_done(queue, mine->part[i].last);
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

	*count = m->arrived[from][notice];
	fb_rdma_from_device();
	m->fresh = false;
	return fresh && !err ? fb_rdma_gpu_flush(m) : err;
}

int fb_rdma_move_rest(struct fb_mover *mover, bool *idle)
{
	struct fb_rdma_mover *m = (struct fb_rdma_mover *)mover;
	uint64_t spin_us = mover->wait == FB_RDMA_WAIT_HYBRID ? m->settings.spin_us : 0;
	int err = fb_rdma_rest(&m->completions, 1, spin_us, idle);

	return err || !*idle ? err : fb_rdma_look_up(&m->completions, 1);
}

#endif
