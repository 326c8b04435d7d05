/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a transfer, a piece and a byte cost: time = a + b pieces + bytes / rate; see handoff.h.
 *
 * Many lists go from rank 0 to rank 1, one after the other, with 1 to 1728 pieces of 256 bytes to
 * 256 KiB, from scattered places to scattered places, with all memory registered. A list's time
 * begins when rank 0 could send it and ends when rank 1 knows that it has arrived: by a notice with
 * PUT, and by the end of rank 1's own move with SEND and GET (which rank 0 permits by a notice).
 * Rank 1 then permits the next list, which is not timed. A repetition is a sweep over all lists,
 * and gives one a, b and rate by least squares of relative errors (fit_model.c). The row has
 * medians and intervals over sweeps. Every list is also packed, moved as one piece and unpacked:
 * the piece size from which on this is slower is the break-even of packing.
 */
#include <math.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "kvtransfer/handoff/fit.h"

enum {
	LEAST_BYTES = 256, SIZE_STEP = 4, COUNT_STEP = 12, MOST_POINT = 2 << 20,
	SWEEPS = 1 << 14, TAG = 0x6b66, BESIDE_TAG,
};

/*
 * Zones of a part: sources; targets of each mode, apart, so that data of one mode cannot hide what
 * the other mode loses; messages out; messages in.
 */
static uint64_t zone_bytes(void)
{
	return (uint64_t)FB_FIT_POINTS * 2 * MOST_POINT;
}

uint64_t fb_fit_bytes(void)
{
	return (1 + FB_FIT_MODES) * zone_bytes() + 2 * MOST_POINT;
}

static char *part(const struct fb_handoff_instance *i)
{
	return fb_segment_part(i->engine->memory, i->state->machine.world->rank);
}

/* Pieces lie two of their lengths apart, and go to places in another order. */
static uint64_t source_of(const struct fb_fit_point *p, uint64_t n)
{
	return p->at + 2 * n * p->bytes;
}

static uint64_t target_of(const struct fb_fit_point *p, int mode, uint64_t n)
{
	return (1 + (uint64_t)mode) * zone_bytes() + p->at + 2 * (n * 5 % p->pieces) * p->bytes;
}

/* Whether this rank posts moves. */
static bool posts(const struct fb_handoff_instance *i)
{
	int rank = i->state->machine.world->rank;

	return rank < 2 && (i->plan.send || rank == i->plan.get);
}

static int make_list(struct fb_fit_point *p, int k)
{
	p->bytes = LEAST_BYTES;
	p->pieces = 1;
	for (int s = 0; s < k % FB_FIT_SIZES; s++)
		p->bytes *= SIZE_STEP;
	for (int n = 0; n < k / FB_FIT_SIZES; n++)
		p->pieces *= COUNT_STEP;
	p->at = (uint64_t)k * 2 * MOST_POINT;
	if (p->bytes * p->pieces > MOST_POINT) {
		p->pieces = 0;
		return FB_OK;
	}
	p->piece = calloc(FB_FIT_MODES * p->pieces + 1, sizeof(*p->piece));
	return p->piece ? FB_OK : fb_error(FB_ENOMEM, "out of memory for pieces");
}

/* The list, this rank's end of its message, and moves of both where this rank posts. */
static int make_point(struct fb_handoff_instance *i, int k)
{
	struct fb_fit_point *p = &i->fit->point[k];
	int rank = i->state->machine.world->rank, err = make_list(p, k);
	uint64_t out = (1 + FB_FIT_MODES) * zone_bytes(), in = out + MOST_POINT;
	bool flip = i->plan.get || (i->plan.send && rank == 1);
	struct fb_piece *packed;
	struct fb_transfer t = {
		.verb = i->plan.get ? FB_MOVE_GET : !i->plan.send ? FB_MOVE_PUT
						: rank == 1	 ? FB_MOVE_RECV
								 : FB_MOVE_SEND,
		.peer = flip ? 0 : 1, .local = i->engine->region,
		.remote = i->plan.send ? NULL : i->engine->region,
		.pieces = p->pieces, .notice = i->plan.get || i->plan.send ? 0 : FB_NOTE_PUT};

	if (err || !p->pieces)
		return err;
	for (uint64_t n = 0; n < FB_FIT_MODES * p->pieces; n++) {
		uint64_t from = source_of(p, n % p->pieces);
		uint64_t to = target_of(p, (int)(n / p->pieces), n % p->pieces);

		p->piece[n] = (struct fb_piece){flip ? to : from, flip ? from : to, p->bytes};
	}
	packed = p->piece + FB_FIT_MODES * p->pieces;
	*packed = (struct fb_piece){flip ? in : out, flip ? out : in, p->pieces * p->bytes};
	t.piece = p->piece + p->pieces;
	err = fb_kv_packing_open(&p->packing, &t, rank == 0, FB_KV_WIRE_PACKED, i->engine->device,
				 part(i), part(i) + (rank ? in : out));
	if (!posts(i) || err)
		return err;
	t.piece = p->piece;
	err = fb_move_prepare(i->engine->mover, &t, 1, i->plan.form, &p->move[0]);
	t.piece = packed;
	t.pieces = 1;
	return err ? err : fb_move_prepare(i->engine->mover, &t, 1, NULL, &p->move[1]);
}

/* Notices beside the moves', and how many of each have come before. */
static int make_note(struct fb_handoff_instance *i)
{
	const struct fb_mover_ops *ops = i->engine->ops;
	int rank = i->state->machine.world->rank, err = FB_OK;
	struct fb_transfer note = {.verb = FB_MOVE_PUT, .peer = !rank,
				   .notice = rank ? FB_NOTE_FREE : FB_NOTE_READY};

	if (rank || i->plan.get)
		err = fb_move_prepare(i->engine->mover, &note, 1, NULL, &i->fit->note);
	if (err)
		return err;
	return ops->arrived(i->engine->mover, !rank,
			    !rank	  ? FB_NOTE_FREE
			    : i->plan.get ? FB_NOTE_READY
					  : FB_NOTE_PUT, &i->fit->base);
}

int fb_fit_open(struct fb_handoff_instance *i)
{
	int rank = i->state->machine.world->rank, err = FB_OK;

	fb_handoff_find_ends(i, rank < 2, rank == 1);
	i->fit = calloc(1, sizeof(*i->fit));
	err = i->fit ? FB_OK : FB_ENOMEM;
	for (int k = 0; k < FB_FIT_POINTS && !err && rank < 2; k++)
		err = make_point(i, k);
	if (!err && rank < 2 && !i->plan.send)
		err = make_note(i);
	return fb_group_agree(i->state->machine.world, err);
}

void fb_fit_close(struct fb_handoff_instance *i)
{
	for (int k = 0; k < FB_FIT_POINTS && i->fit; k++) {
		struct fb_fit_point *p = &i->fit->point[k];

		for (int m = 0; m < FB_FIT_MODES; m++)
			if (p->move[m])
				i->engine->ops->release(p->move[m]);
		fb_kv_packing_close(&p->packing, i->engine->device);
		free(p->piece);
	}
	if (!i->fit)
		return;
	if (i->fit->note)
		i->engine->ops->release(i->fit->note);
	free(i->fit->begin);
	free(i->fit->end);
	free(i->fit);
}

static int post(struct fb_handoff_instance *i, struct fb_move *move)
{
	int err = i->engine->ops->post(move);

	return err ? err : fb_move_wait(move);
}

/* Rank 0: from leave to leave. */
static int give(struct fb_handoff_instance *i, const struct fb_fit_point *p, int mode,
		double *begin)
{
	struct fb_mover *mover = i->engine->mover;
	int err = FB_OK;

	if (i->plan.send)
		MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, mover->group->comm, MPI_STATUS_IGNORE);
	else
		err = fb_mover_await(mover, 1, FB_NOTE_FREE, i->fit->base + i->fit->handed - 1);
	*begin = fb_handoff_now(i);
	if (mode && !err)
		err = fb_kv_packing_run(&p->packing, i->engine->device);
	return err ? err : post(i, i->plan.get ? i->fit->note : p->move[mode]);
}

static int take(struct fb_handoff_instance *i, const struct fb_fit_point *p, int mode, double *end)
{
	struct fb_mover *mover = i->engine->mover;
	int err = FB_OK;

	if (i->plan.send) {
		err = mover->ops->post(p->move[mode]);
		MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, mover->group->comm);
		err = err ? err : fb_move_wait(p->move[mode]);
	} else {
		err = fb_mover_await(mover, 0, i->plan.get ? FB_NOTE_READY : FB_NOTE_PUT,
				     i->fit->base + i->fit->handed);
	}
	if (i->plan.get && !err)
		err = post(i, p->move[mode]);
	if (mode && !err)
		err = fb_kv_packing_run(&p->packing, i->engine->device);
	*end = fb_handoff_now(i);
	return err || i->plan.send ? err : post(i, i->fit->note);
}

/* Both ranks: on GPUs this waits for earlier computing, which must not be in a list's time. */
static int begin_beside(const struct fb_handoff_instance *i, double seconds)
{
	const struct fb_group *w = i->state->machine.world;
	int own = fb_kv_beside_begin(i->beside, seconds), other = FB_OK;

	if (i->engine->device)
		MPI_Sendrecv(&own, 1, MPI_INT, !w->rank, BESIDE_TAG, &other, 1, MPI_INT, !w->rank,
			     BESIDE_TAG, w->comm, MPI_STATUS_IGNORE);
	return own ? own : other;
}

/* A list's way; its times go to the sweep's place. */
static int carry(struct fb_handoff_instance *i, struct fb_fit_point *p, int mode, double *begin,
		 double *end)
{
	double began;
	int err = FB_OK;

	i->fit->handed++;
	if (i->beside)
		err = begin_beside(i, p->fastest_s[mode]);
	began = fb_handoff_now(i);
	if (!err)
		err = i->state->machine.world->rank ? take(i, p, mode, end)
						     : give(i, p, mode, begin);
	p->fastest_s[mode] = fb_kv_beside_fastest(p->fastest_s[mode], fb_handoff_now(i) - began);
	return err;
}

static int more_room(struct fb_fit *f)
{
	size_t bytes = (f->sweeps + 1) * FB_FIT_POINTS * FB_FIT_MODES * sizeof(double);
	double *begin = realloc(f->begin, bytes), *end;

	if (begin)
		f->begin = begin;
	end = begin ? realloc(f->end, bytes) : NULL;
	if (end)
		f->end = end;
	return end ? FB_OK : fb_error(FB_ENOMEM, "out of memory for times");
}

int fb_fit_run(struct fb_handoff_instance *i)
{
	struct fb_fit *f = i->fit;
	int err = f->sweeps < SWEEPS ? more_room(f) : FB_OK;
	size_t at;

	f->sweeps += f->sweeps < SWEEPS;
	at = (f->sweeps - 1) * FB_FIT_POINTS * FB_FIT_MODES;
	/* The mode that goes last alternates, so that none always finds the sources in caches. */
	for (size_t n = 0; n < FB_FIT_POINTS * FB_FIT_MODES && !err; n++) {
		size_t k = n ^ (f->sweeps & 1);
		struct fb_fit_point *p = &f->point[k / FB_FIT_MODES];

		f->begin[at + k] = f->end[at + k] = 0;
		if (p->pieces)
			err = carry(i, p, (int)(k % FB_FIT_MODES), &f->begin[at + k],
				    &f->end[at + k]);
	}
	/* The last leave is awaited here, so that each run is complete. */
	if (!err && i->state->machine.world->rank == 0 && !i->plan.send)
		err = fb_mover_await(i->engine->mover, 1, FB_NOTE_FREE, f->base + f->handed);
	return err;
}

int fb_fit_prime(struct fb_handoff_instance *i)
{
	const struct fb_memory_ops *ops = i->engine->memory->ops;
	int err = ops->set(part(i), fb_data_poison_byte(1), (size_t)fb_fit_bytes());

	fb_data_renew(&i->data);
	if (err || i->state->machine.world->rank)
		return err;
	return ops->fill(&i->data, 0, 0, part(i), (size_t)zone_bytes());
}

/* A piece holds what rank 0 has; the gap behind it is as it was. */
static int check_piece(struct fb_handoff_instance *i, uint64_t source, const char *target,
		       uint64_t bytes, struct fb_mismatch *bad)
{
	const struct fb_memory_ops *ops = i->engine->memory->ops;
	unsigned char gap[4096];
	uint64_t behind = bytes < sizeof(gap) ? bytes : sizeof(gap);
	int err = ops->check(&i->data, 0, source, target, bytes, bad);

	if (!err)
		err = ops->get(gap, target + bytes, behind);
	for (uint64_t b = 0; b < behind && !err; b++)
		bad->errors += gap[b] != fb_data_poison_byte(1);
	return err;
}

int fb_fit_check(struct fb_handoff_instance *i, struct fb_mismatch *bad)
{
	int err = FB_OK;

	for (int k = 0; k < FB_FIT_POINTS && i->state->machine.world->rank == 1; k++) {
		const struct fb_fit_point *p = &i->fit->point[k];

		for (uint64_t n = 0; n < FB_FIT_MODES * p->pieces && !err; n++) {
			uint64_t which = n % p->pieces;
			int mode = (int)(n / p->pieces);

			err = check_piece(i, source_of(p, which),
					  part(i) + target_of(p, mode, which), p->bytes, bad);
		}
	}
	return err;
}

/* Times are differences of two ranks' moments, on the clock of rank 0. Collective. */
void fb_fit_describe(struct fb_handoff_instance *i, struct fb_traits *traits)
{
	struct fb_fit *f = i->fit;
	int n = (int)(f->sweeps * FB_FIT_POINTS * FB_FIT_MODES);

	for (int k = 0; k < n; k++) {
		f->begin[k] = fb_handoff_global(i, f->begin[k]);
		f->end[k] = fb_handoff_global(i, f->end[k]);
	}
	MPI_Bcast(f->begin, n, MPI_DOUBLE, 0, i->state->machine.world->comm);
	MPI_Bcast(f->end, n, MPI_DOUBLE, 1, i->state->machine.world->comm);
	for (int k = 0; k < n; k++)
		f->end[k] = (f->end[k] - f->begin[k]) * 1e6;
	fb_fit_model(i, f->end);
	if (posts(i))
		i->engine->ops->describe(f->point[0].move[0], traits);
	traits->bound_us = (double)NAN;
}
