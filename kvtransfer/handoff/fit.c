/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a transfer, a piece and a byte cost: time = a + b pieces + bytes / rate; see handoff.h.
 *
 * Rank 0 puts many lists to rank 1, of 1 to 1728 pieces of 256 bytes to 256 KiB each, from
 * scattered places to scattered places, one list after the other, warm. A repetition is a sweep
 * over all of them, and gives one a, b and rate: the least squares of relative errors. The row has
 * their medians over sweeps with intervals. In host memory every list is also packed, moved as one
 * piece and unpacked: from which piece size on that is slower is the break-even of packing.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "kvtransfer/handoff/handoff.h"

enum {
	LEAST_BYTES = 256, SIZES = 6, SIZE_STEP = 4,  /* 256 bytes ... 256 KiB */
	COUNTS = 4, COUNT_STEP = 12,		      /* 1, 12, 144, 1728 pieces */
	MOST_POINT = 2 << 20, POINTS = SIZES * COUNTS, MODES = 2, SWEEPS = 1 << 14,
};

struct point {
	uint64_t bytes, pieces; /* of a piece; how many, 0: too much */
	uint64_t at;		/* in both zones */
	struct fb_piece *piece; /* [pieces], then the packed one */
	struct fb_move *move[MODES];
};

struct fb_fit {
	struct point point[POINTS];
	struct fb_move *leave;
	uint64_t put_base, leave_base, handed; /* notices before, and lists so far */
	double *begin, *end; /* [sweeps][POINTS][MODES], in s: at rank 0, at rank 1 */
	size_t sweeps;
	bool packs;
};

/* Zones of a part: sources, targets, packed out, packed in. */
static uint64_t zone_bytes(void)
{
	return (uint64_t)POINTS * 2 * MOST_POINT;
}

uint64_t fb_fit_bytes(void)
{
	return 2 * zone_bytes() + 2 * MOST_POINT;
}

static char *part(const struct fb_handoff_instance *i)
{
	return fb_segment_part(i->engine->memory, i->state->machine.world->rank);
}

/* Pieces lie two of their lengths apart, and go to places in another order. */
static int make_point(struct fb_handoff_instance *i, int k)
{
	struct point *p = &i->fit->point[k];
	struct fb_transfer t = {.verb = FB_MOVE_PUT, .peer = 1, .local = i->engine->region,
				.remote = i->engine->region, .notice = FB_NOTE_PUT};
	int err;

	p->bytes = LEAST_BYTES;
	p->pieces = 1;
	for (int s = 0; s < k % SIZES; s++)
		p->bytes *= SIZE_STEP;
	for (int n = 0; n < k / SIZES; n++)
		p->pieces *= COUNT_STEP;
	p->at = (uint64_t)k * 2 * MOST_POINT;
	if (p->bytes * p->pieces > MOST_POINT) {
		p->pieces = 0;
		return FB_OK;
	}
	p->piece = calloc(p->pieces + 1, sizeof(*p->piece));
	if (!p->piece)
		return fb_error(FB_ENOMEM, "out of memory for pieces");
	for (uint64_t n = 0; n < p->pieces; n++)
		p->piece[n] = (struct fb_piece){
			p->at + 2 * n * p->bytes,
			zone_bytes() + p->at + 2 * (n * 5 % p->pieces) * p->bytes, p->bytes};
	p->piece[p->pieces] = (struct fb_piece){2 * zone_bytes(), 2 * zone_bytes() + MOST_POINT,
						p->pieces * p->bytes};
	t.piece = p->piece;
	t.pieces = p->pieces;
	err = fb_move_prepare(i->engine->mover, &t, 1, i->plan.form, &p->move[0]);
	t.piece = &p->piece[p->pieces];
	t.pieces = 1;
	return err ? err : fb_move_prepare(i->engine->mover, &t, 1, NULL, &p->move[1]);
}

int fb_fit_open(struct fb_handoff_instance *i)
{
	const struct fb_mover_ops *ops = i->engine->ops;
	const struct fb_transfer leave = {.verb = FB_MOVE_PUT, .notice = FB_NOTE_FREE};
	int rank = i->state->machine.world->rank, err = FB_OK;

	i->fit = calloc(1, sizeof(*i->fit));
	err = i->fit ? FB_OK : FB_ENOMEM;
	if (!err)
		i->fit->packs = !ops->device;
	for (int k = 0; k < POINTS && !err && rank < 2; k++)
		err = make_point(i, k);
	if (!err && rank == 1)
		err = fb_move_prepare(i->engine->mover, &leave, 1, NULL, &i->fit->leave);
	if (!err && rank == 1)
		err = ops->arrived(i->engine->mover, 0, FB_NOTE_PUT, &i->fit->put_base);
	if (!err && rank == 0)
		err = ops->arrived(i->engine->mover, 1, FB_NOTE_FREE, &i->fit->leave_base);
	return fb_group_agree(i->state->machine.world, err);
}

void fb_fit_close(struct fb_handoff_instance *i)
{
	for (int k = 0; k < POINTS && i->fit; k++) {
		for (int m = 0; m < MODES; m++)
			if (i->fit->point[k].move[m])
				i->engine->ops->release(i->fit->point[k].move[m]);
		free(i->fit->point[k].piece);
	}
	if (!i->fit)
		return;
	if (i->fit->leave)
		i->engine->ops->release(i->fit->leave);
	free(i->fit->begin);
	free(i->fit->end);
	free(i->fit);
}

static void repack(const struct fb_handoff_instance *i, const struct point *p, bool out)
{
	char *base = part(i);

	for (uint64_t n = 0; n < p->pieces; n++)
		if (out)
			memcpy(base + 2 * zone_bytes() + n * p->bytes, base + p->piece[n].local,
			       p->bytes);
		else
			memcpy(base + p->piece[n].remote,
			       base + 2 * zone_bytes() + MOST_POINT + n * p->bytes, p->bytes);
}

/* A list's way; its times go to the sweep's place. */
static int carry(struct fb_handoff_instance *i, const struct point *p, int mode, double *begin,
		 double *end)
{
	struct fb_mover *mover = i->engine->mover;
	uint64_t call = ++i->fit->handed;
	int err;

	if (i->state->machine.world->rank == 0) {
		err = fb_mover_await(mover, 1, FB_NOTE_FREE, i->fit->leave_base + call - 1);
		*begin = fb_handoff_now(i);
		if (mode)
			repack(i, p, true);
		if (!err)
			err = mover->ops->post(p->move[mode]);
		return err ? err : fb_move_wait(p->move[mode]);
	}
	err = fb_mover_await(mover, 0, FB_NOTE_PUT, i->fit->put_base + call);
	if (mode && !err)
		repack(i, p, false);
	*end = fb_handoff_now(i);
	if (!err)
		err = mover->ops->post(i->fit->leave);
	return err ? err : fb_move_wait(i->fit->leave);
}

static int more_room(struct fb_fit *f)
{
	size_t bytes = (f->sweeps + 1) * POINTS * MODES * sizeof(double);
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
	at = (f->sweeps - 1) * POINTS * MODES;
	for (size_t k = 0; k < POINTS * MODES && !err; k++) {
		const struct point *p = &f->point[k / MODES];

		f->begin[at + k] = f->end[at + k] = 0;
		if (p->pieces && (f->packs || k % MODES == 0))
			err = carry(i, p, (int)(k % MODES), &f->begin[at + k], &f->end[at + k]);
	}
	/* The last leave is awaited here, so that each run is complete. */
	if (!err && i->state->machine.world->rank == 0)
		err = fb_mover_await(i->engine->mover, 1, FB_NOTE_FREE, f->leave_base + f->handed);
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

/* Pieces hold what rank 0 has; the gaps between them are as they were. */
int fb_fit_check(struct fb_handoff_instance *i, struct fb_mismatch *bad)
{
	const struct fb_memory_ops *ops = i->engine->memory->ops;
	unsigned char gap[4096];
	int err = FB_OK;

	for (int k = 0; k < POINTS && i->state->machine.world->rank == 1; k++) {
		const struct point *p = &i->fit->point[k];

		for (uint64_t n = 0; n < p->pieces && !err; n++) {
			uint64_t bytes = p->bytes < sizeof(gap) ? p->bytes : sizeof(gap);

			err = ops->check(&i->data, 0, p->piece[n].local,
					 part(i) + p->piece[n].remote, p->bytes, bad);
			if (!err)
				err = ops->get(gap, part(i) + p->piece[n].remote + p->bytes, bytes);
			for (uint64_t b = 0; b < bytes && !err; b++)
				bad->errors += gap[b] != fb_data_poison_byte(1);
		}
	}
	return err;
}

/* --- the model -------------------------------------------------------------------------------- */

/* Solves 3 equations by elimination with pivots. False: they have no single solution. */
static bool solve(double m[3][4])
{
	for (int c = 0; c < 3; c++) {
		int best = c;

		for (int r = c + 1; r < 3; r++)
			best = fabs(m[r][c]) > fabs(m[best][c]) ? r : best;
		for (int k = 0; k < 4; k++) {
			double swapped = m[c][k];

			m[c][k] = m[best][k];
			m[best][k] = swapped;
		}
		if (fabs(m[c][c]) < 1e-300)
			return false;
		for (int r = 0; r < 3; r++) {
			double factor = m[r][c] / m[c][c];

			for (int k = c; k < 4 && r != c; k++)
				m[r][k] -= factor * m[c][k];
		}
	}
	for (int r = 0; r < 3; r++)
		m[r][3] /= m[r][r];
	return true;
}

/* a in us, b in us for a piece, us for a byte: least squares of (model - t) / t. */
static bool fit_sweep(const struct fb_fit *f, const double *us, double out[3])
{
	double m[3][4] = {{0}};

	for (int k = 0; k < POINTS; k++) {
		double t = us[k * MODES];
		double x[4] = {1, (double)f->point[k].pieces,
			       (double)(f->point[k].pieces * f->point[k].bytes), t};

		if (!f->point[k].pieces || !(t > 0))
			continue;
		for (int r = 0; r < 3; r++)
			for (int c = 0; c < 4; c++)
				m[r][c] += x[r] * x[c] / (t * t);
	}
	if (!solve(m))
		return false;
	for (int r = 0; r < 3; r++)
		out[r] = m[r][3];
	return true;
}

/* The largest piece size whose longest list is faster packed, by medians; 0: none is. */
static double breakeven(const struct fb_fit *f, const double *us, double *scratch)
{
	double largest = 0;

	for (int size = 0; size < SIZES; size++) {
		double median[MODES], interval[3];
		int k = size;

		while (k + SIZES < POINTS && f->point[k + SIZES].pieces)
			k += SIZES;
		for (int m = 0; m < MODES; m++) {
			for (size_t s = 0; s < f->sweeps; s++)
				scratch[s] = us[(s * POINTS + (size_t)k) * MODES + (size_t)m];
			fb_handoff_interval(scratch, f->sweeps, interval);
			median[m] = interval[0];
		}
		if (median[1] < median[0])
			largest = (double)f->point[k].bytes;
	}
	return largest;
}

/* A column's median and interval over sweeps, and its name's place. */
static void put(struct fb_handoff_instance *i, const double *x, size_t n, int column)
{
	fb_handoff_interval(x, n, &i->value[column]);
}

static void describe_model(struct fb_handoff_instance *i, const double *us)
{
	const struct fb_fit *f = i->fit;
	double *a = calloc(4 * f->sweeps + 1, sizeof(*a)), *b = a + f->sweeps;
	double *rate = b + f->sweeps, model[3];
	size_t n = 0;

	for (size_t s = 0; s < f->sweeps && a; s++)
		if (fit_sweep(f, us + s * POINTS * MODES, model)) {
			a[n] = model[0];
			b[n] = model[1] * 1e3;
			rate[n++] = 1 / model[2] / 1e3;
		}
	if (a) {
		put(i, a, n, FB_HANDOFF_A_US);
		put(i, b, n, FB_HANDOFF_B_NS);
		put(i, rate, n, FB_HANDOFF_RATE_GBPS);
		if (f->packs)
			i->value[FB_HANDOFF_BREAKEVEN_BYTES] = breakeven(f, us, a);
	}
	free(a);
}

/* Times are differences of two ranks' moments, so they need one clock. Collective. */
void fb_fit_describe(struct fb_handoff_instance *i, struct fb_traits *traits)
{
	struct fb_fit *f = i->fit;
	int n = (int)(f->sweeps * POINTS * MODES);

	MPI_Bcast(f->begin, n, MPI_DOUBLE, 0, i->state->machine.world->comm);
	MPI_Bcast(f->end, n, MPI_DOUBLE, 1, i->state->machine.world->comm);
	for (int k = 0; k < n; k++)
		f->end[k] = (f->end[k] - f->begin[k]) * 1e6;
	if (i->state->machine.world->nnodes == 1)
		describe_model(i, f->end);
	if (i->state->machine.world->rank == 0)
		i->engine->ops->describe(f->point[0].move[0], traits);
	traits->bound_us = (double)NAN;
}
