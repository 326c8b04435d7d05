/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks of engine copy on host memory: lists carried out in a random order, as far as streams and
 * flags allow, sound or broken on purpose.
 */
#ifndef FB_TESTS_UNIT_COPY_WORLD_H
#define FB_TESTS_UNIT_COPY_WORLD_H

#include "collectives/engine/copy/plan.h"
#include "common/base/rng.h"
#include "tests/unit/check.h"
#include "tests/unit/world_in_one.h"

enum { CALLS = 4, STREAMS = FB_COPY_MOST_STREAMS + 1, MOST_FLAGS = 512 };

/* From NO_AFTER on: what some lists alone rely on. */
enum mutant { SOUND, NO_READY, NO_DONE, NO_RESET, EARLY_DONE, NO_AFTER, NO_FREE, NO_LAST, MUTANTS };

/* How streams of a rank run: at once, or all in one hardware queue. */
enum order { AT_ONCE, AS_LISTED, ONE_QUEUE, ORDERS };

struct rank_state {
	struct fb_copy_list list;
	size_t next[STREAMS];     /* per stream: of the list, what is not yet carried out */
	bool done[4096];          /* [list.count] of this call */
	size_t queue[4096];       /* ONE_QUEUE: an order that keeps to streams, forks and joins */
	size_t queued;            /* of it, carried out */
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
	enum order order;
	uint64_t errors;
	uint64_t crowded;         /* copies that began while another went into or out of a GPU */
};

/* Whether the mutant does not wait for the flag: of its kind there is one for each rank. */
static bool is_ignored(const struct job *job, uint32_t flag)
{
	uint32_t kind = flag / (uint32_t)job->world.nranks;
	const char *way = job->rank[0].list.way;
	bool chained = way && !strcmp(way, "in a row"); /* with another window */

	return (job->mutant == NO_READY && kind == 0) || (job->mutant == NO_DONE && kind > 0) ||
	       (job->mutant == NO_FREE && (chained ? kind > 4 : kind == 3 || kind == 4)) ||
	       (job->mutant == NO_LAST && kind == 5);
}

/* Whether op i of the list has to come behind op k < i. */
static bool comes_behind(const struct job *job, const struct fb_copy_list *list, size_t i, size_t k)
{
	const struct fb_copy_op *op = &list->op[i], *before = &list->op[k];

	return before->stream == op->stream || job->order == AS_LISTED ||
	       (op->kind == FB_COPY_AFTER && job->mutant != NO_AFTER &&
		before->stream == op->after);
}

/* Whether the op may run now, given what of the list went before. */
static bool can_run(const struct job *job, const struct rank_state *s, size_t i)
{
	const struct fb_copy_op *op = &s->list.op[i];

	if (job->order == ONE_QUEUE && s->queue[s->queued] != i)
		return false;
	for (size_t k = 0; k < i; k++)
		if (!s->done[k] && comes_behind(job, &s->list, i, k))
			return false;
	if (op->kind == FB_COPY_AWAIT)
		return s->flags[op->flag] == 1 || is_ignored(job, op->flag);
	return true;
}

/* The worst for a rank would be that a wait comes before what others wait for: any order. */
static void make_queue(struct job *job, struct rank_state *s)
{
	bool queued[4096] = {false};

	for (size_t n = 0; n < s->list.count; n++) {
		size_t able[STREAMS] = {0}, streams = 0;
		bool seen[STREAMS] = {false};

		for (size_t i = 0; i < s->list.count; i++) {
			bool free = !queued[i] && !seen[s->list.op[i].stream];

			if (queued[i])
				continue;
			seen[s->list.op[i].stream] = true;
			for (size_t k = 0; k < i && free; k++)
				free = queued[k] || !comes_behind(job, &s->list, i, k);
			if (free)
				able[streams++] = i;
		}
		s->queue[n] = able[fb_rng_below(&job->rng, streams)];
		/* Mostly one stream as far as it goes. */
		for (size_t j = 0; n && j < streams && fb_rng_below(&job->rng, 8); j++)
			if (s->list.op[able[j]].stream == s->list.op[s->queue[n - 1]].stream)
				s->queue[n] = able[j];
		queued[s->queue[n]] = true;
	}
	s->queued = 0;
}

/* Whether a copy is half done that comes from, or goes to, the same GPU as this one. */
static bool is_crowded(const struct job *job, const struct fb_copy_op *op)
{
	for (int r = 0; r < job->world.nranks && op->from != op->to; r++) {
		const struct rank_state *s = &job->rank[r];
		const struct fb_copy_op *other = &s->list.op[s->half_at];

		if (s->half && other->from != other->to &&
		    (other->from == op->from || other->to == op->to))
			return true;
	}
	return false;
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
		job->crowded += is_crowded(job, op);
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
	s->queued++;
}

/* Element by element in order of rank, as the kernel does it. */
static void run_sum(struct job *job, const struct fb_copy_op *op)
{
	const struct fb_operation *o = &job->world.op;
	fb_combine_fn combine = fb_combine(o->datatype, o->redop);
	size_t size = fb_datatype_size(o->datatype), count = (size_t)op->bytes / size;
	char *to = fb_copy_destination(o, job->scratch, op), *sum = malloc(op->bytes);
	int n = job->world.nranks;

	if (!sum) {
		job->errors++;
		return;
	}
	memcpy(sum, fb_copy_summand(o, job->scratch, op, n, 0), op->bytes);
	for (int k = 1; k < fb_copy_summands(op, n); k++)
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
	s->queued++;
}

static void begin_call(struct job *job, int rank)
{
	struct rank_state *s = &job->rank[rank];
	const struct fb_data data = world_data(&job->world, (uint64_t)s->call + 1);

	job->errors += fb_buffers_prime(&job->world.op, &data, rank) != 0;
	memset(s->done, 0, sizeof(s->done));
	if (job->order == ONE_QUEUE)
		make_queue(job, s);
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
	size_t able[STREAMS], n = 0, left = 0;
	bool seen[STREAMS] = {false}; /* of the stream, what comes first */

	if (s->call == CALLS)
		return false;
	if (!s->begun) {
		begin_call(job, rank);
		return true;
	}
	for (size_t i = 0; i < s->list.count; i++) {
		if (s->done[i] || seen[s->list.op[i].stream])
			continue;
		left++;
		seen[s->list.op[i].stream] = true;
		if (can_run(job, s, i))
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
		struct fb_copy_op signal = list->op[i];
		size_t k = i;

		while (k > 0 && (list->op[k - 1].stream != signal.stream ||
				 list->op[k - 1].kind == FB_COPY_AFTER))
			k--;
		if (k == 0 || signal.kind != FB_COPY_SIGNAL || list->op[k - 1].kind != FB_COPY_MOVE)
			continue;
		memmove(&list->op[k], &list->op[k - 1], (i - k + 1) * sizeof(signal));
		list->op[k - 1] = signal;
	}
}

/* Bytes that the operation puts into a rank's output, as far as they are not there already. */
static uint64_t expected_bytes(const struct world_in_one *w, int rank)
{
	uint64_t bytes = fb_buffers_elements(&w->op, true, rank, w->nranks) *
			 fb_datatype_size(w->op.datatype);
	const struct fb_operation *op = &w->op;
	bool own = op->in_place && (op->collective == FB_ALL_GATHER ||
				    op->collective == FB_ALL_GATHER_V ||
				    ((op->collective == FB_GATHER ||
				      op->collective == FB_SCATTER ||
				      op->collective == FB_BROADCAST) && rank == op->root));

	return own ? bytes - fb_buffers_first(op, false, rank, 1) * fb_datatype_size(op->datatype)
		   : bytes;
}

/* Whether the result of a job with this tuning is right. */
static bool goes_right(struct job *job, const struct fb_copy_tuning *tuning)
{
	int n = job->world.nranks;
	bool right = true, sums = fb_collective_info(job->world.op.collective)->reduces;
	uint64_t scratch = fb_copy_scratch_bytes(&job->world.op, tuning, n);

	for (int r = 0; r < n; r++) {
		job->rank[r] = (struct rank_state){.call = 0};
		/* Its own piece of memory, so that a sanitizer sees what is out of bounds. */
		job->scratch[r] = calloc(scratch ? scratch : 1, 1);
		if (!CHECK(job->scratch[r] != NULL))
			return false;
		if (fb_copy_plan(&job->world.op, tuning, r, n, &job->rank[r].list))
			return false;
		break_list(job, &job->rank[r].list);
		CHECK(job->rank[r].list.count <= 4096);
	}
	job->errors = job->crowded = 0;
	right = run(job) && job->errors == 0;
	/* But for tails, copies in rounds are alone in both their GPUs. */
	if (job->rank[0].list.way && !strcmp(job->rank[0].list.way, "in rounds") &&
	    !tuning->tail_bytes)
		right &= job->crowded == 0;
	for (int r = 0; r < n; r++) {
		right &= sums || job->rank[r].moved == CALLS * expected_bytes(&job->world, r);
		free(job->scratch[r]);
		for (int f = 0; f < MOST_FLAGS; f++)
			right &= job->rank[r].flags[f] == 0;
		fb_copy_list_free(&job->rank[r].list);
	}
	return right;
}

#endif
