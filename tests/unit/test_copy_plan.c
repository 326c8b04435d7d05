/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lists of engine copy, carried out on host memory over random interleavings.
 *
 * Every rank makes several calls back to back without a barrier. At the begin of each its output
 * is poisoned and its input changed, at the end of each its output is checked at once: a copy
 * that came too early, or that the end of the call did not wait for, is seen. Copies take two
 * steps, so that others come in between. Lists are the same in every call, which is what replay
 * of a graph is. At the end all flags must be 0. Lists that are broken on purpose must be caught.
 */
#include "collectives/engine/copy/plan.h"
#include "common/rng.h"
#include "tests/unit/check.h"
#include "tests/unit/world_in_one.h"

enum { CALLS = 4, STREAMS = FB_COPY_MOST_STREAMS + 1, MOST_FLAGS = 512 };

/* From NO_AFTER on: what reductions alone rely on. */
enum mutant { SOUND, NO_READY, NO_DONE, NO_RESET, EARLY_DONE, NO_AFTER, NO_FREE, NO_LAST, MUTANTS };

struct rank_state {
	struct fb_copy_list list;
	size_t next[STREAMS];     /* per stream: of the list, what is not yet carried out */
	bool done[4096];          /* [list.count] of this call */
	bool half;                /* of some copy: the first half is there */
	size_t half_at;
	int call;                 /* CALLS: all made */
	bool begun;
	unsigned char flags[MOST_FLAGS];
	uint64_t moved;           /* bytes that arrived in this rank's output */
};

struct job {
	struct world_in_one world;
	struct rank_state rank[WORLD_MOST];
	struct fb_rng rng;
	enum mutant mutant;
	char *scratch[WORLD_MOST]; /* of each rank */
	bool serial;              /* all streams of a rank in one hardware queue */
	uint64_t errors;
};

/* Whether the mutant does not wait for the flag: of its kind there is one for each rank. */
static bool is_ignored(const struct job *job, uint32_t flag)
{
	uint32_t kind = flag / (uint32_t)job->world.nranks;

	return (job->mutant == NO_READY && kind == 0) || (job->mutant == NO_DONE && kind > 0) ||
	       (job->mutant == NO_FREE && (kind == 3 || kind == 4)) ||
	       (job->mutant == NO_LAST && kind == 5);
}

/* Whether the op may run now, given what of the list went before. */
static bool can_run(const struct job *job, const struct rank_state *s, size_t i)
{
	const struct fb_copy_op *op = &s->list.op[i];

	for (size_t k = 0; k < i; k++) {
		const struct fb_copy_op *before = &s->list.op[k];
		bool same = before->stream == op->stream;

		if (s->done[k])
			continue;
		if (op->kind == FB_COPY_AFTER && job->mutant != NO_AFTER)
			same |= before->stream == op->after;
		if (same || job->serial)
			return false;
	}
	if (op->kind == FB_COPY_AWAIT)
		return s->flags[op->flag] == 1 || is_ignored(job, op->flag);
	return true;
}

static void run_move(struct job *job, struct rank_state *s, size_t i)
{
	const struct fb_copy_op *op = &s->list.op[i];
	const char *from = fb_copy_source(&job->world.op, job->scratch, op);
	char *to = fb_copy_destination(&job->world.op, job->scratch, op);
	size_t half = (size_t)op->bytes / 2;
	bool second = s->half && s->half_at == i;

	if (second) {
		memcpy(to + half, from + half, (size_t)op->bytes - half);
		s->half = false;
	} else {
		memcpy(to, from, half);
		/* One copy at a time is cut; the others are whole. */
		if (!s->half) {
			s->half = true;
			s->half_at = i;
			return;
		}
		memcpy(to + half, from + half, (size_t)op->bytes - half);
	}
	job->rank[op->to].moved += op->bytes;
	s->done[i] = true;
}

/* Element by element in order of rank, as the kernel does it. */
static void run_sum(struct job *job, const struct fb_copy_op *op)
{
	const struct fb_operation *o = &job->world.op;
	fb_combine_fn combine = fb_combine(o->datatype, o->redop);
	size_t size = fb_datatype_size(o->datatype), count = (size_t)op->bytes / size;
	char *to = fb_copy_destination(o, job->scratch, op), *sum = malloc(op->bytes);
	int n = job->world.nranks;

	if (!CHECK(sum != NULL))
		return;
	memcpy(sum, fb_copy_summand(o, job->scratch, op, n, 0), op->bytes);
	for (int k = 1; k < n; k++)
		combine(sum, sum, fb_copy_summand(o, job->scratch, op, n, k), count);
	memcpy(to, sum, op->bytes);
	free(sum);
}

static void run_op(struct job *job, struct rank_state *s, size_t i)
{
	const struct fb_copy_op *op = &s->list.op[i];

	if (op->kind == FB_COPY_MOVE) {
		run_move(job, s, i);
		return;
	}
	if (op->kind == FB_COPY_SIGNAL) {
		/* A flag that is still set would lose this write. */
		job->errors += job->mutant == SOUND && job->rank[op->peer].flags[op->flag] != 0;
		job->rank[op->peer].flags[op->flag] = 1;
	}
	if (op->kind == FB_COPY_SUM)
		run_sum(job, op);
	if (op->kind == FB_COPY_AWAIT && job->mutant != NO_RESET)
		s->flags[op->flag] = 0;
	s->done[i] = true;
}

static void begin_call(struct job *job, int rank)
{
	struct rank_state *s = &job->rank[rank];
	const struct fb_data data = world_data(&job->world, (uint64_t)s->call + 1);

	job->errors += fb_buffers_prime(&job->world.op, &data, rank) != 0;
	memset(s->done, 0, sizeof(s->done));
	s->begun = true;
}

static void end_call(struct job *job, int rank)
{
	struct rank_state *s = &job->rank[rank];
	const struct fb_data data = world_data(&job->world, (uint64_t)s->call + 1);
	struct fb_mismatch bad = {0};

	job->errors += fb_buffers_check(&job->world.op, &data, rank, 1, &bad) != 0;
	job->errors += bad.errors;
	s->call++;
	s->begun = false;
}

/* One step of a random rank; false if it could do nothing. */
static bool step(struct job *job, int rank)
{
	struct rank_state *s = &job->rank[rank];
	size_t able[4096], n = 0, left = 0;

	if (s->call == CALLS)
		return false;
	if (!s->begun) {
		begin_call(job, rank);
		return true;
	}
	for (size_t i = 0; i < s->list.count; i++) {
		left += !s->done[i];
		if (!s->done[i] && can_run(job, s, i))
			able[n++] = i;
	}
	if (!left) {
		end_call(job, rank);
		return true;
	}
	if (n)
		run_op(job, s, able[fb_rng_below(&job->rng, n)]);
	return n > 0;
}

/* Until nobody can go on. Whether all calls were made. */
static bool run(struct job *job)
{
	int n = job->world.nranks, finished = 0;

	for (;;) {
		int start = (int)fb_rng_below(&job->rng, (uint64_t)n), i = 0;

		/* A rank goes on for a while, so that some run far ahead. */
		for (; i < n; i++) {
			int rank = (start + i) % n, steps = (int)fb_rng_below(&job->rng, 40) + 1;
			bool moved = false;

			while (steps-- && step(job, rank))
				moved = true;
			if (moved)
				break;
		}
		if (i == n)
			break;
	}
	for (int r = 0; r < n; r++)
		finished += job->rank[r].call == CALLS;
	return finished == n;
}

/* A signal of DONE comes before the copy it is for. */
static void break_list(struct job *job, struct fb_copy_list *list)
{
	for (size_t i = 1; job->mutant == EARLY_DONE && i < list->count; i++) {
		struct fb_copy_op *a = &list->op[i - 1], *b = &list->op[i], swap = *a;

		if (a->kind == FB_COPY_MOVE && b->kind == FB_COPY_SIGNAL) {
			*a = *b;
			*b = swap;
		}
	}
}

/* Bytes that the operation puts into a rank's output, as far as they are not there already. */
static uint64_t expected_bytes(const struct world_in_one *w, int rank)
{
	uint64_t bytes = fb_buffers_elements(&w->op, true, rank, w->nranks) *
			 fb_datatype_size(w->op.datatype);
	const struct fb_operation *op = &w->op;
	bool own = op->in_place && (op->collective == FB_ALL_GATHER ||
				    ((op->collective == FB_GATHER ||
				      op->collective == FB_SCATTER ||
				      op->collective == FB_BROADCAST) && rank == op->root));

	return own ? bytes - op->count * fb_datatype_size(op->datatype) : bytes;
}

/* Whether a job with these wishes goes right. */
static bool goes_right(struct job *job, const struct fb_copy_wishes *wishes)
{
	int n = job->world.nranks;
	bool right = true, sums = fb_collective_info(job->world.op.collective)->reduces;
	uint64_t scratch = fb_copy_scratch_bytes(&job->world.op, wishes, n);

	for (int r = 0; r < n; r++) {
		job->rank[r] = (struct rank_state){.call = 0};
		/* Its own piece of memory, so that a sanitizer sees what is out of bounds. */
		job->scratch[r] = calloc(scratch ? scratch : 1, 1);
		if (!CHECK(job->scratch[r] != NULL))
			return false;
		if (fb_copy_plan(&job->world.op, wishes, r, n, &job->rank[r].list))
			return false;
		break_list(job, &job->rank[r].list);
		CHECK(job->rank[r].list.count <= 4096);
	}
	job->errors = 0;
	right = run(job) && job->errors == 0;
	for (int r = 0; r < n; r++) {
		right &= sums || job->rank[r].moved == CALLS * expected_bytes(&job->world, r);
		free(job->scratch[r]);
		for (int f = 0; f < MOST_FLAGS; f++)
			right &= job->rank[r].flags[f] == 0;
		fb_copy_list_free(&job->rank[r].list);
	}
	return right;
}

static const struct fb_copy_wishes wishes[] = {
	{.pull = false, .streams = 0, .relay_bytes = UINT64_MAX},
	{.pull = true, .streams = 0, .relay_bytes = UINT64_MAX},
	{.pull = false, .streams = 1, .relay_bytes = UINT64_MAX},
	{.pull = true, .streams = 2, .relay_bytes = UINT64_MAX},
	{.pull = false, .streams = 16, .relay_bytes = UINT64_MAX},
	{.pull = true, .streams = 16, .relay_bytes = UINT64_MAX},
	{.pull = false, .streams = 0, .relay_bytes = 1, .piece_bytes = 4},
	{.pull = false, .streams = 3, .relay_bytes = 1, .piece_bytes = 1},
	{.pull = false, .streams = 2, .relay_bytes = 1, .piece_bytes = 1 << 20},
	{.pull = false, .streams = 1, .relay_bytes = UINT64_MAX, .sum_bytes = 128},
	{.pull = false, .streams = 1, .relay_bytes = UINT64_MAX, .sum_bytes = 384},
};

enum { WISHES = sizeof(wishes) / sizeof(wishes[0]) };

static void test_all(struct job *job)
{
	for (int c = 0; c < FB_COLLECTIVES; c++) {
		for (int n = 1; n <= WORLD_MOST; n++) {
			for (int place = 0; place < 2; place++) {
				struct fb_operation op = {
					.collective = (enum fb_collective)c, .datatype = FB_U8,
					.root = n / 2, .in_place = place, .count = 37,
				};
				char why[FB_REASON_CHARS];

				/* Several pieces for each rank, the last ones short or empty. */
				bool sums = fb_collective_info(op.collective)->reduces;

				if (sums)
					op.count = 1171;
				if (!fb_copy_can(&op, false, why, sizeof(why)) ||
				    (place && !fb_collective_info(op.collective)->in_place))
					continue;
				if (!CHECK(world_open(&job->world, n, op) == 0))
					return;
				/* Reductions know the size of pieces only. */
				for (size_t i = sums ? WISHES * 2 - 4 : 0; i < WISHES * 2; i++) {
					job->serial = i % 2;
					if (!CHECK(goes_right(job, &wishes[i / 2])))
						printf("\t%s, %d ranks, in place %d, wishes %zu\n",
						       fb_collective_info(op.collective)->name, n,
						       place, i);
				}
				world_close(&job->world);
			}
		}
	}
	job->serial = false;
}

/* Whether a reduction relies on what the mutant lacks: results, and pieces behind the second. */
static bool concerns(enum mutant m, const struct fb_operation *op, size_t wish)
{
	if (m == NO_FREE)
		return fb_collective_info(op->collective)->reduces && wish == WISHES - 2;
	return op->collective == FB_ALL_REDUCE || op->collective == FB_REDUCE;
}

/* Each kind of damage is noticed in some interleaving, of every collective and direction. */
static void test_mutants(struct job *job)
{
	static const enum fb_collective collectives[] = {FB_ALL_GATHER, FB_ALL_TO_ALL,
							  FB_BROADCAST, FB_SEND_RECV,
							  FB_ALL_REDUCE, FB_REDUCE_SCATTER,
							  FB_REDUCE};

	for (int m = SOUND + 1; m < MUTANTS; m++) {
		for (size_t c = 0; c < sizeof(collectives) / sizeof(collectives[0]); c++) {
			bool sums = fb_collective_info(collectives[c])->reduces;

			for (size_t i = sums ? WISHES - 2 : 0; i < WISHES; i++) {
				struct fb_operation op = {.collective = collectives[c],
							  .datatype = FB_U8,
							  .count = sums ? 1171 : 37};
				int caught = 0;

				if (m >= NO_AFTER && !concerns((enum mutant)m, &op, i))
					continue;
				/* There the last copy is the rank's own: no harm is done. */
				if (m == EARLY_DONE && !sums && !wishes[i].streams &&
				    (op.collective != FB_BROADCAST ||
				     wishes[i].relay_bytes == UINT64_MAX))
					continue;
				if (!CHECK(world_open(&job->world, 4, op) == 0))
					return;
				job->mutant = (enum mutant)m;
				for (int try = 0; try < 60 && !caught; try++)
					caught = !goes_right(job, &wishes[i]);
				if (!CHECK(caught))
					printf("\tmutant %d, %s, wishes %zu\n", m,
					       fb_collective_info(op.collective)->name, i);
				world_close(&job->world);
			}
		}
	}
	job->mutant = SOUND;
}

/* At every step of the rotation each rank is served by one other. */
static void test_rotation(void)
{
	const struct fb_copy_wishes wish = {.streams = 16};
	struct world_in_one w;

	if (!CHECK(world_open(&w, 8, (struct fb_operation){.collective = FB_ALL_TO_ALL,
							   .datatype = FB_F32, .count = 3}) == 0))
		return;
	for (int step_ = 0; step_ < 7; step_++) {
		int hits[8] = {0};

		for (int r = 0; r < 8; r++) {
			struct fb_copy_list list;
			int moves = 0;

			if (!CHECK_INT(fb_copy_plan(&w.op, &wish, r, 8, &list), 0))
				continue;
			for (size_t i = 0; i < list.count; i++)
				if (list.op[i].kind == FB_COPY_MOVE && list.op[i].to != r &&
				    moves++ == step_)
					hits[list.op[i].to]++;
			fb_copy_list_free(&list);
		}
		for (int r = 0; r < 8; r++)
			CHECK_INT(hits[r], 1);
	}
	world_close(&w);
}

static void test_reasons(void)
{
	struct fb_operation op = {.collective = FB_BARRIER};
	char why[FB_REASON_CHARS];

	CHECK(!fb_copy_can(&op, false, why, sizeof(why)));
	CHECK_STR(why, "copy engines cannot do barrier");
	op = (struct fb_operation){.collective = FB_ALL_REDUCE};
	CHECK(fb_copy_can(&op, false, why, sizeof(why)));
	CHECK(!fb_copy_can(&op, true, why, sizeof(why)));
	CHECK_STR(why, "what is summed is pushed");
	op = (struct fb_operation){.collective = FB_ALL_TO_ALL, .in_place = true};
	CHECK(!fb_copy_can(&op, false, why, sizeof(why)));
	CHECK_STR(why, "all_to_all in place needs memory between");
}

int main(void)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return 1;
	fb_rng_seed(&job->rng, 1);
	test_all(job);
	test_mutants(job);
	test_rotation();
	test_reasons();
	free(job);
	return check_done("copy_plan");
}
