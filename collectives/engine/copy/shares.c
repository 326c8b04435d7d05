/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares, pieces and slots; see shares.h. */
#include "collectives/engine/copy/shares.h"

#include "collectives/engine/copy/chain.h"
#include "collectives/engine/copy/sums.h"

enum { LINE = 128 }; /* shares and pieces begin at multiples of it */

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Elements of the piece at which `left` are left of a share. */
static uint64_t next_piece(const struct fb_copy_shares *s, uint64_t left)
{
	uint64_t piece = s->last ? round_up(left - left / 4, s->last) : s->piece;

	return smaller(left, smaller(piece, s->piece));
}

static int count_pieces(const struct fb_copy_shares *s)
{
	int pieces = 0;

	for (uint64_t left = s->share; left; left -= next_piece(s, left))
		pieces++;
	return pieces ? pieces : 1;
}

struct fb_copy_shares fb_copy_shares_of(const struct fb_operation *op,
					const struct fb_copy_tuning *tuning, int nranks)
{
	uint64_t n = (uint64_t)nranks, size = fb_datatype_size(op->datatype), unit = LINE / size;
	struct fb_copy_shares s = {.total = op->count, .share = op->count};
	uint64_t most = tuning->sum_bytes / LINE * unit, pieces;

	if (op->collective == FB_REDUCE_SCATTER)
		s.total *= n;
	else
		s.share = round_up((op->count + n - 1) / n, unit);
	most = most ? most : round_up(s.share + 1, unit);
	s.last = tuning->last_bytes / LINE * unit;
	pieces = (s.share + most - 1) / most;
	pieces = pieces ? pieces : 1;
	s.piece = round_up((s.share + pieces - 1) / pieces, unit);
	if (s.last)
		s.piece = smaller(most, round_up(s.share - s.share / 4, s.last));
	s.pieces = count_pieces(&s);
	return s;
}

/* Piece i of a rank's share: its first element in the whole; returns how many. */
static uint64_t piece_of(const struct fb_copy_shares *s, int rank, int i, uint64_t *first)
{
	uint64_t begin = smaller((uint64_t)rank * s->share, s->total);
	uint64_t end = smaller(begin + s->share, s->total), left = s->share, piece = left;

	for (int k = 0; k <= i; k++, left -= piece)
		piece = next_piece(s, left);
	*first = smaller(begin + s->share - left - piece, end);
	return smaller(piece, end - *first);
}

/* The pusher's index among the owner's peers, counted from the rank behind the owner. */
static int place(int pusher, int owner, int nranks)
{
	return (pusher - owner - 1 + nranks) % nranks;
}

bool fb_copy_gets_result(const struct fb_operation *op, int rank)
{
	return op->collective == FB_ALL_REDUCE ||
	       (op->collective == FB_REDUCE && rank == op->root);
}

/* Not yet in the list: where this rank's result of piece i lies. */
static struct fb_copy_op result_of(const struct fb_copy_maker *m, const struct fb_copy_shares *s,
				   int i)
{
	uint64_t bytes = s->piece * m->size, own, first;
	uint64_t count = piece_of(s, m->rank, i, &first);
	struct fb_copy_op op = {.from = m->rank, .to = m->rank, .peer = m->rank,
				.to_area = FB_COPY_OUT, .to_byte = first * m->size,
				.from_byte = first * m->size, .bytes = count * m->size};

	if (m->op->collective == FB_REDUCE_SCATTER) {
		piece_of(s, 0, i, &own);
		op.to_byte = own * m->size;
	} else if (!fb_copy_gets_result(m->op, m->rank)) {
		op.to_area = FB_COPY_SCRATCH;
		op.to_byte = ((uint64_t)(m->nranks - 1) * FB_COPY_SLOTS + (uint64_t)i) * bytes;
	}
	return op;
}

struct fb_copy_op fb_copy_push(const struct fb_copy_maker *m, const struct fb_copy_shares *s, int i,
			       int peer)
{
	uint64_t first, count = piece_of(s, peer, i, &first);
	uint64_t at = (uint64_t)place(m->rank, peer, m->nranks) * FB_COPY_SLOTS +
		      (uint64_t)(i % FB_COPY_SLOTS);

	return (struct fb_copy_op){
		.kind = FB_COPY_MOVE, .peer = peer, .from = m->rank, .to = peer,
		.from_byte = first * m->size, .to_area = FB_COPY_SCRATCH,
		.to_byte = at * s->piece * m->size, .bytes = count * m->size,
	};
}

struct fb_copy_op fb_copy_deliver(const struct fb_copy_maker *m, const struct fb_copy_shares *s,
				  int i, int peer)
{
	struct fb_copy_op op = result_of(m, s, i);
	uint64_t whole = op.from_byte; /* where it is in everyone's output */

	op.kind = FB_COPY_MOVE;
	op.to = op.peer = peer;
	op.from_area = op.to_area;
	op.from_byte = op.to_byte;
	op.to_area = FB_COPY_OUT;
	op.to_byte = whole;
	return op;
}

void fb_copy_sum(struct fb_copy_maker *m, const struct fb_copy_shares *s, int i, int stream)
{
	struct fb_copy_op op = result_of(m, s, i);
	uint64_t slot = (uint64_t)(i % FB_COPY_SLOTS), bytes = s->piece * m->size;

	op.kind = FB_COPY_SUM;
	op.stream = stream;
	op.slot_byte = slot * bytes;
	op.slot_stride = FB_COPY_SLOTS * bytes;
	if (op.bytes)
		fb_copy_add(m, op);
}

uint64_t fb_copy_scratch_bytes(const struct fb_operation *op, const struct fb_copy_tuning *tuning,
			       int nranks)
{
	const struct fb_copy_shares s = fb_copy_shares_of(op, tuning, nranks);
	uint64_t pieces = (uint64_t)(nranks - 1) * FB_COPY_SLOTS;

	if (!fb_copy_is_sum(op) || nranks == 1)
		return 0;
	if (fb_copy_is_chained(op, tuning, nranks))
		return fb_copy_chain_bytes(op, tuning);
	if (op->collective == FB_REDUCE)
		pieces += (uint64_t)s.pieces;
	return pieces * s.piece * fb_datatype_size(op->datatype);
}

int fb_copy_summands(const struct fb_copy_op *sum, int nranks)
{
	return sum->chained ? 2 : nranks;
}

const void *fb_copy_summand(const struct fb_operation *op, char *const *scratch,
			    const struct fb_copy_op *sum, int nranks, int k)
{
	const char *own = fb_operation_in(op, sum->to);

	if (k == (sum->chained ? 1 : sum->to))
		return own + sum->from_byte;
	return scratch[sum->to] + sum->slot_byte +
	       (sum->chained ? 0 : (uint64_t)place(k, sum->to, nranks) * sum->slot_stride);
}
