/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One verb with one kind of list between all ranks of a group, in rounds: every rank sends to, or
 * reads from, every rank by several moves that are under way at once and posted again with other
 * data in each round. Advanced by small steps, so that several flows run beside each other.
 *
 * A rank's part has for each peer a zone of what goes out and one of what comes in. Moves of a flow
 * divide the list's pieces. The second one of PUTs and GETs is made of a move for each peer,
 * between moves with all peers: the order of a peer's notices must hold all the same. The last one
 * has two transfers with each peer, with the same notice, and so a peer gets two of it. What a
 * notice promises is looked at the moment that it is seen: behind k notices of a PUT the pieces of
 * the first k moves are there, those of the last move behind the last notice; behind all notices of
 * a GET the owner writes over what was read.
 */
#ifndef FB_TESTS_MPI_MOVER_FLOW_H
#define FB_TESTS_MPI_MOVER_FLOW_H

#include "common/base/error.h"
#include "tests/mpi/mover_list.h"

enum { MOVES = 3, SPLIT = 1, TWOFOLD = MOVES - 1, NOTICES = MOVES + 1, ROUNDS = 3 };
enum { MOST_RANKS = 8, NOTICE_DONE = 1, NOTICE_READY = 2 };

struct flow {
	struct fb_mover *mover;
	const struct fb_region *region;
	const struct shape *shape;
	enum fb_move_verb verb; /* PUT, GET or SEND */
	uint64_t seed;
	struct list list[MOST_RANKS][2]; /* of each peer: from this rank to it, and back */
	struct fb_piece part[MOST_RANKS][2][MOVES][2 * MOST_PIECES];
	struct fb_move *out[MOVES][MOST_RANKS], *in[MOVES], *ready;
	int outs[MOVES]; /* moves that out[k] is made of */
	uint64_t done_base[MOST_RANKS], ready_base[MOST_RANKS]; /* notices before this flow */
	int round;
	bool posted, out_done[MOVES], in_done[MOVES], ready_done;
	uint64_t seen[MOST_RANKS];
	bool checked[MOST_RANKS];
	unsigned errors;
	unsigned char image[ZONE], got[ZONE];
};

static inline unsigned char *zone(const struct flow *f, int peer, bool in)
{
	return (unsigned char *)fb_segment_part(f->region->segment, f->mover->group->rank) +
	       (uint64_t)(2 * peer + in) * ZONE;
}

/* How this process gets at its part, which may be in a GPU's memory. */
static inline const struct fb_memory_ops *memory(const struct flow *f)
{
	return f->region->segment->ops;
}

/* Returns the seed of the bytes that `from` has for `to` in a round. */
static inline uint64_t data_seed(const struct flow *f, int from, int to, int round)
{
	return fb_mix64(f->seed + fb_mix64((uint64_t)(from * 64 + to) * 1000 + (uint64_t)round));
}

/* SEND has no peer that is the rank itself. */
static inline bool has_peer(const struct flow *f, int peer)
{
	return f->verb != FB_MOVE_SEND || peer != f->mover->group->rank;
}

/* The pieces of move k with a peer, at their places in the parts. */
static inline uint64_t cut(struct flow *f, int peer, bool in, uint32_t k)
{
	const struct list *list = &f->list[peer][in];
	struct fb_piece *to = f->part[peer][in][k], odd[MOST_PIECES];
	int rank = f->mover->group->rank;
	/* Zones of the two ranks' parts that the bytes leave and reach. */
	uint64_t mine = (uint64_t)(2 * peer + in) * ZONE, its = (uint64_t)(2 * rank + !in) * ZONE;
	uint32_t n = 0, count;

	for (uint32_t i = k; i < list->pieces; i += MOVES)
		odd[n++] = list->piece[i];
	count = n;
	if (f->verb == FB_MOVE_SEND && in)
		count = recut(odd, n, to);
	else
		memcpy(to, odd, n * sizeof(*to));
	for (uint32_t i = 0; i < count; i++) {
		uint64_t source = to[i].local, target = to[i].remote;

		if (f->verb == FB_MOVE_GET)
			to[i] = (struct fb_piece){mine + target, its + source, to[i].bytes};
		else if (f->verb == FB_MOVE_SEND && in)
			to[i].local += mine;
		else
			to[i] = (struct fb_piece){mine + source, its + target, to[i].bytes};
	}
	return count;
}

/*
 * Move k with all peers, or with one (`only` is not -1): PUT and SEND push what goes out, GET and
 * RECV take what comes in.
 */
static inline int prepare(struct flow *f, enum fb_move_verb verb, uint32_t k, int only,
			  const char *form, struct fb_move **move)
{
	struct fb_transfer t[2 * MOST_RANKS];
	bool in = verb == FB_MOVE_GET || verb == FB_MOVE_RECV;
	bool two_sided = verb == FB_MOVE_SEND || verb == FB_MOVE_RECV;
	uint32_t n = 0;

	for (int p = 0; p < f->mover->group->nranks; p++) {
		const struct list *list = &f->list[p][in];
		bool ends = verb == FB_MOVE_GET || verb == FB_MOVE_RECV;

		if (!has_peer(f, p) || (only >= 0 && only != p))
			continue;
		t[n++] = (struct fb_transfer){
			.verb = verb, .peer = p, .local = f->region,
			.remote = two_sided ? NULL : f->region, .piece = f->part[p][in][k],
			.pieces = cut(f, p, in, k), .repeats = list->repeats,
			.local_step = ends ? list->remote_step : list->local_step,
			.remote_step = ends ? list->local_step : list->remote_step,
			.notice = two_sided ? 0 : NOTICE_DONE,
		};
		if (k == TWOFOLD && !two_sided) {
			t[n] = t[n - 1];
			t[n - 1].pieces /= 2;
			t[n].piece += t[n - 1].pieces;
			t[n].pieces -= t[n - 1].pieces;
			n++;
		}
	}
	return fb_move_prepare(f->mover, t, n, form, move);
}

static inline int prepare_out(struct flow *f, uint32_t k, const char *form)
{
	bool split = k == SPLIT && f->verb != FB_MOVE_SEND;
	int err = FB_OK;

	f->outs[k] = split ? f->mover->group->nranks : 1;
	for (int i = 0; i < f->outs[k] && !err; i++)
		err = prepare(f, f->verb, k, split ? i : -1, form, &f->out[k][i]);
	return err;
}

/* 0, or FB_EUNSUPPORTED where the form cannot. Notices so far are the base of this flow's. */
static inline int open_flow(struct flow *f, const char *form)
{
	struct fb_transfer t[MOST_RANKS];
	int rank = f->mover->group->rank, nranks = f->mover->group->nranks, err = FB_OK;

	for (int p = 0; p < nranks; p++) {
		uint64_t base = f->seed + f->shape->pieces;

		make_list(f->shape, base + (uint64_t)(rank * 64 + p), &f->list[p][0]);
		make_list(f->shape, base + (uint64_t)(p * 64 + rank), &f->list[p][1]);
		t[p] = (struct fb_transfer){.verb = FB_MOVE_PUT, .peer = p, .notice = NOTICE_READY};
		f->mover->ops->arrived(f->mover, p, NOTICE_DONE, &f->done_base[p]);
		f->mover->ops->arrived(f->mover, p, NOTICE_READY, &f->ready_base[p]);
	}
	for (uint32_t k = 0; k < MOVES && !err; k++) {
		f->out_done[k] = f->in_done[k] = true;
		err = prepare_out(f, k, form);
		if (!err && f->verb == FB_MOVE_SEND)
			err = prepare(f, FB_MOVE_RECV, k, -1, form, &f->in[k]);
	}
	if (!err && f->verb != FB_MOVE_SEND)
		err = fb_move_prepare(f->mover, t, (uint32_t)nranks, NULL, &f->ready);
	return err;
}

static inline void close_flow(struct flow *f)
{
	for (int k = 0; k < MOVES; k++) {
		for (int i = 0; i < f->outs[k]; i++)
			if (f->out[k][i])
				f->mover->ops->release(f->out[k][i]);
		if (f->in[k])
			f->mover->ops->release(f->in[k]);
	}
	if (f->ready)
		f->mover->ops->release(f->ready);
}

/* The pieces of the first `moves` moves from a peer, or with all of them the whole zone. */
static inline void check_zone(struct flow *f, int peer, uint32_t moves)
{
	const struct list *list = &f->list[peer][1];
	uint64_t seed = data_seed(f, peer, f->mover->group->rank, f->round);
	const unsigned char *got = f->got;

	f->errors += memory(f)->get(f->got, zone(f, peer, true), ZONE) != FB_OK;
	memset(f->image, CANARY, ZONE);
	for (uint32_t k = 0; k < moves; k++)
		paint(list, seed, k, MOVES, f->image);
	if (moves == MOVES) {
		f->errors += memcmp(f->image, got, ZONE) != 0;
		return;
	}
	for (uint32_t k = 0; k < moves; k++)
		for (uint32_t r = 0; r < list->repeats; r++)
			for (uint32_t i = k; i < list->pieces; i += MOVES) {
				uint64_t at = list->piece[i].remote + r * list->remote_step;

				f->errors += memcmp(f->image + at, got + at,
						    list->piece[i].bytes) != 0;
			}
}

static inline int begin_round(struct flow *f)
{
	int rank = f->mover->group->rank, err = FB_OK;

	f->posted = false;
	f->ready_done = f->verb == FB_MOVE_SEND;
	for (int p = 0; p < f->mover->group->nranks; p++) {
		fill_zone(data_seed(f, rank, p, f->round), f->image);
		err = err ? err : memory(f)->put(zone(f, p, false), f->image, ZONE);
		err = err ? err : memory(f)->set(zone(f, p, true), CANARY, ZONE);
		f->seen[p] = 0;
		f->checked[p] = !has_peer(f, p);
	}
	for (int k = 0; k < MOVES && f->verb == FB_MOVE_SEND && !err; k++) {
		f->in_done[k] = false;
		err = f->mover->ops->post(f->in[k]);
	}
	return f->ready && !err ? f->mover->ops->post(f->ready) : err;
}

/* Posts all moves as soon as all peers are ready for them. */
static inline int post_when_ready(struct flow *f)
{
	uint64_t count = 0;
	int err = FB_OK;

	for (int p = 0; p < f->mover->group->nranks && f->ready; p++) {
		err = f->mover->ops->arrived(f->mover, p, NOTICE_READY, &count);
		if (err || count < f->ready_base[p] + (uint64_t)f->round + 1)
			return err;
	}
	for (int k = 0; k < MOVES && !err; k++) {
		f->out_done[k] = false;
		for (int i = 0; i < f->outs[k] && !err; i++)
			err = f->mover->ops->post(f->out[k][i]);
	}
	f->posted = true;
	return err;
}

/* What a peer's notices promise, as soon as they are seen. */
static inline int look_at(struct flow *f, int p)
{
	uint64_t count = 0;
	int err = f->mover->ops->arrived(f->mover, p, NOTICE_DONE, &count);

	count -= f->done_base[p] + (uint64_t)(f->round * NOTICES);
	if (err || count <= f->seen[p])
		return err;
	f->seen[p] = count;
	if (f->verb == FB_MOVE_PUT)
		check_zone(f, p, count == NOTICES ? MOVES : count < TWOFOLD ? (uint32_t)count
									    : TWOFOLD);
	else if (count == NOTICES)
		err = memory(f)->set(zone(f, p, false), SCRIBBLE, ZONE);
	f->checked[p] = count == NOTICES;
	return err;
}

static inline int test_out(struct flow *f, int k)
{
	int err = FB_OK;

	f->out_done[k] = true;
	for (int i = 0; i < f->outs[k] && f->out_done[k] && !err; i++)
		err = f->mover->ops->test(f->out[k][i], &f->out_done[k]);
	return err;
}

static inline int test_moves(struct flow *f, bool *all)
{
	int err = FB_OK;

	*all = f->posted;
	if (!f->ready_done)
		err = f->mover->ops->test(f->ready, &f->ready_done);
	*all &= f->ready_done;
	/* The last one first: their order must not matter. */
	for (int k = MOVES - 1; k >= 0 && !err; k--) {
		if (!f->out_done[k])
			err = test_out(f, k);
		if (!err && !f->in_done[k])
			err = f->mover->ops->test(f->in[k], &f->in_done[k]);
		*all &= f->out_done[k] && f->in_done[k];
	}
	return err;
}

/* Grows, within a round, with each thing that has happened: a notice, or a move that is done. */
static inline uint64_t steps_of(const struct flow *f)
{
	uint64_t steps = f->posted + f->ready_done;

	for (int k = 0; k < MOVES; k++)
		steps += (uint64_t)(f->posted && f->out_done[k]) + f->in_done[k];
	for (int p = 0; p < f->mover->group->nranks; p++)
		steps += f->seen[p];
	return steps;
}

/* One step of a round. 0 or an error; *over: the round is complete and all of it was checked. */
static inline int advance(struct flow *f, bool *over)
{
	int nranks = f->mover->group->nranks, err = FB_OK;
	bool all = true;

	*over = false;
	if (!f->posted)
		err = post_when_ready(f);
	if (!err)
		err = test_moves(f, over);
	for (int p = 0; p < nranks && !err && f->verb != FB_MOVE_SEND; p++) {
		if (!f->checked[p])
			err = look_at(f, p);
		all &= f->checked[p];
	}
	*over &= all;
	/* GET and SEND: done says that the bytes are here. */
	for (int p = 0; p < nranks && *over && !err && f->verb != FB_MOVE_PUT; p++)
		if (has_peer(f, p))
			check_zone(f, p, MOVES);
	return err;
}

#endif
