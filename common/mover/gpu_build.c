/* SPDX-License-Identifier: BSD-3-Clause */
/* Launches of the movers between GPUs; see gpu_build.h. */
#include "common/mover/gpu_build.h"

enum { MOST_TEAM = 32, FEWEST_ROWS = 3 };

_Static_assert(sizeof(struct fb_move_chunk) == 24, "the kernels read chunks of 24 bytes");
_Static_assert(sizeof(struct fb_move_launch) <= 4000, "a kernel's parameters");

uint64_t fb_move_cut(const struct fb_transfer *t, enum fb_move_leg leg, struct fb_move_chunk *to)
{
	uint64_t n = 0, packed = 0;

	for (uint64_t i = 0; i < t->pieces; i++) {
		const struct fb_piece *piece = &t->piece[i];
		uint64_t there = leg == FB_MOVE_ACROSS ? piece->remote : packed;
		bool back = leg == FB_MOVE_SCATTER ||
			    (leg == FB_MOVE_ACROSS && t->verb == FB_MOVE_GET);

		for (uint64_t done = 0; done < piece->bytes; done += FB_MOVE_CHUNK, n++) {
			uint64_t rest = piece->bytes - done;

			if (!to)
				continue;
			to[n].from = (back ? there : piece->local) + done;
			to[n].to = (back ? piece->local : there) + done;
			to[n].bytes = rest < FB_MOVE_CHUNK ? rest : FB_MOVE_CHUNK;
		}
		packed += piece->bytes;
	}
	return n;
}

/* Bytes of the list, once. */
static uint64_t list_bytes(const struct fb_transfer *t)
{
	struct fb_transfer once = *t;

	once.repeats = 1;
	return fb_transfer_bytes(&once);
}

struct fb_move_way fb_move_way_of(const struct fb_transfer *t, int rank, enum fb_move_leg leg,
				  uint64_t buffer)
{
	struct fb_move_way way = {.repeats = t->repeats ? t->repeats : 1};
	uint64_t here, there = buffer, here_step = t->local_step, there_step;
	bool back = leg == FB_MOVE_SCATTER || (leg == FB_MOVE_ACROSS && t->verb == FB_MOVE_GET);

	if (!t->pieces)
		return way;
	here = (uint64_t)(uintptr_t)fb_transfer_local(t, rank) + t->local_at;
	there_step = leg == FB_MOVE_ACROSS ? t->remote_step : list_bytes(t);
	if (leg == FB_MOVE_ACROSS)
		there = (uint64_t)(uintptr_t)fb_segment_part(t->remote->segment, t->peer) +
			t->remote_at;
	if (t->pieces == 1) {
		way.bytes = t->piece->bytes;
		here += t->piece->local;
		there += leg == FB_MOVE_ACROSS ? t->piece->remote : 0;
	}
	way.from = back ? there : here;
	way.to = back ? here : there;
	way.from_step = back ? there_step : here_step;
	way.to_step = back ? here_step : there_step;
	return way;
}

bool fb_move_is_odd(const struct fb_transfer *t, int rank, enum fb_move_leg leg, uint64_t buffer)
{
	const struct fb_move_way way = fb_move_way_of(t, rank, leg, buffer);
	uint64_t bits = way.from | way.to;

	if (way.repeats > 1)
		bits |= way.from_step | way.to_step;
	for (uint64_t i = 0; i < t->pieces && t->pieces > 1; i++) {
		bits |= t->piece[i].local;
		/* In a packed buffer this piece's bytes determine where the next piece begins. */
		bits |= leg == FB_MOVE_ACROSS ? t->piece[i].remote : t->piece[i].bytes;
	}
	return bits & 15;
}

uint64_t fb_move_mean(const struct fb_transfer *t)
{
	uint64_t bytes = 0, n = 0;

	for (uint64_t i = 0; i < t->pieces; i++) {
		bytes += t->piece[i].bytes;
		n += t->piece[i].bytes > 0;
	}
	return n ? bytes / n : UINT64_MAX;
}

bool fb_move_finish(struct fb_move_launch *l, uint64_t mean)
{
	uint64_t all = 0;

	l->team = 1;
	l->chunks = l->repeats = 1;
	for (uint32_t w = 0; w < l->ways; w++) {
		const struct fb_move_way *way = &l->way[w];
		uint64_t chunks = way->chunk ? way->chunks
					     : (way->bytes + FB_MOVE_CHUNK - 1) / FB_MOVE_CHUNK;

		if (chunks > UINT32_MAX)
			return false;
		l->chunks = chunks > l->chunks ? (uint32_t)chunks : l->chunks;
		l->repeats = way->repeats > l->repeats ? way->repeats : l->repeats;
	}
	/* A thread for each 16 bytes of a piece, up to a warp. */
	while (l->team < MOST_TEAM && l->team * UINT64_C(16) < mean)
		l->team *= 2;
	return !__builtin_mul_overflow((uint64_t)l->chunks * l->repeats, l->ways, &all) &&
	       all <= UINT32_MAX;
}

uint32_t fb_move_blocks(const struct fb_move_launch *l, uint32_t threads, uint32_t most)
{
	uint64_t wanted = (uint64_t)l->ways * l->chunks * l->repeats * l->team;
	bool moves = false;

	for (uint32_t w = 0; w < l->ways; w++)
		moves |= l->way[w].chunk || l->way[w].bytes;
	wanted = moves ? (wanted + threads - 1) / threads : 1;
	return wanted < most ? (uint32_t)wanted : most;
}

/* Whether the step is a multiple of the pitch, and all rows lie within one step. */
static bool is_whole(uint64_t step, uint64_t pitch, uint64_t rows)
{
	return step % pitch == 0 && rows <= step / pitch;
}

/* Joins piece `first` and the pieces that continue it on both sides. Returns their number. */
static uint64_t merged(const struct fb_transfer *t, uint64_t first, struct fb_piece *run)
{
	uint64_t n = 1;

	*run = t->piece[first];
	for (; first + n < t->pieces; n++) {
		const struct fb_piece *next = &t->piece[first + n];

		if (next->local != run->local + run->bytes ||
		    next->remote != run->remote + run->bytes)
			break;
		run->bytes += next->bytes;
	}
	return n;
}

/* Adds the rows that follow the first one at equal distances. */
static void add_rows(const struct fb_transfer *t, uint64_t first, struct fb_move_strip *s)
{
	uint64_t next = first + s->pieces, n = 0;
	struct fb_piece run = {0, 0, 0};

	for (; next < t->pieces; next += n) {
		n = merged(t, next, &run);
		if (s->rows == 1 && run.local >= s->local + s->bytes &&
		    run.remote >= s->remote + s->bytes) {
			s->local_pitch = run.local - s->local;
			s->remote_pitch = run.remote - s->remote;
		}
		if (run.bytes != s->bytes || run.local != s->local + s->rows * s->local_pitch ||
		    run.remote != s->remote + s->rows * s->remote_pitch)
			return;
		s->rows++;
		s->pieces += n;
	}
}

void fb_move_strip_at(const struct fb_transfer *t, uint64_t first, struct fb_move_strip *s)
{
	struct fb_piece run;
	uint64_t own = merged(t, first, &run);

	*s = (struct fb_move_strip){.local = run.local, .remote = run.remote, .bytes = run.bytes,
				    .local_pitch = run.bytes, .remote_pitch = run.bytes,
				    .rows = 1, .pieces = own};
	if (run.bytes)
		add_rows(t, first, s);
	if (s->rows > 1 &&
	    (s->rows < FEWEST_ROWS || s->local_pitch > INT32_MAX || s->remote_pitch > INT32_MAX ||
	     (t->repeats > 1 && (!is_whole(t->local_step, s->local_pitch, s->rows) ||
				 !is_whole(t->remote_step, s->remote_pitch, s->rows))))) {
		s->local_pitch = s->remote_pitch = run.bytes;
		s->rows = 1;
		s->pieces = own;
	}
}

/* Whether repeats can be a dimension of a copy: they do not overlap, and the pitch is allowed. */
static bool has_lines(const struct fb_transfer *t, uint64_t step, uint64_t longest)
{
	return t->repeats <= 1 || (step >= longest && step <= INT32_MAX);
}

bool fb_move_strips(const struct fb_transfer *t, uint64_t *count)
{
	uint64_t longest = 0;
	struct fb_move_strip strip;

	*count = 0;
	for (uint64_t i = 0; i < t->pieces; i += strip.pieces) {
		fb_move_strip_at(t, i, &strip);
		longest = strip.bytes > longest ? strip.bytes : longest;
		*count += strip.bytes > 0;
	}
	return has_lines(t, t->local_step, longest) && has_lines(t, t->remote_step, longest);
}
