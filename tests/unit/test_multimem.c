/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The barriers of engine multimem's kernels (collectives/engine/multimem/multimem.h) under random
 * interleavings of emulated ranks, in memory that is as weak as the model lets it be
 * (tests/cuda/weak.h): several calls in a row, of data of their own. Right kernels give right
 * data with every seed; each barrier that is broken on purpose gives wrong data or hangs with one.
 */
#include "tests/cuda/emulator.h"
#include "tests/cuda/weak.h"
/* On top of both. */
#include "collectives/engine/multimem/multimem.h"
#include "tests/cuda/scheduler.h"
#include "tests/unit/check.h"

enum { RANKS = WEAK_RANKS, BLOCKS = 2, THREADS = 16, CALLS = 4 };

/* Sanitizers make switching dear. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SEEDS = 8 };
#else
enum { SEEDS = 40 };
#endif

/*
 * f32 elements in each rank's memory: inputs and outputs of all ranks' blocks. Both begin equally
 * far from a multiple of 16 bytes, or no sums of two_shot would be loaded and stored 16 at once.
 */
enum { COUNT = 101, IN = 1, OUT = IN + RANKS * COUNT + 1, PART = 36 };
_Static_assert((OUT + RANKS * COUNT) * sizeof(float) <= WEAK_BYTES, "more than the memory has");
_Static_assert((OUT - IN) % 4 == 0, "sums would be loaded element by element");

enum form { ONE_SHOT, TWO_SHOT, REDUCE_SCATTER, ALL_GATHER, FORMS };

struct turn {
	int rank, call;
};

static struct job {
	enum form form;
	struct fb_multimem_flags flags[RANKS];
	struct fb_multimem_launch launches[RANKS];
	struct turn turns[RANKS][CALLS];
	struct emu_launch streams[RANKS][3 * CALLS];
	long wrong;
} job;

static uint64_t at_own(int rank, uint32_t element)
{
	return (uint64_t)(uintptr_t)weak.memory[WEAK_OWN][rank] + sizeof(float) * element;
}

static uint64_t at_all(uint32_t element)
{
	return (uint64_t)(uintptr_t)weak.window + sizeof(float) * element;
}

/* As the engine places them (cuda_multimem.c). */
static void place(int rank)
{
	struct fb_multimem_launch *l = &job.launches[rank];
	const uint32_t own = (uint32_t)rank;
	uint32_t in = IN, out = OUT, count = COUNT;

	if (job.form == TWO_SHOT) {
		in += own * PART;
		out += own * PART;
		count = COUNT - own * PART < PART ? COUNT - own * PART : PART;
	} else if (job.form == REDUCE_SCATTER) {
		in += own * COUNT;
	} else if (job.form == ALL_GATHER) {
		out += own * COUNT;
	}
	*l = (struct fb_multimem_launch){.rank = own, .ranks = RANKS,
					 .bytes = count * sizeof(float)};
	for (int r = 0; r < RANKS; r++) {
		l->flags[r] = (uint64_t)(uintptr_t)&job.flags[r];
		l->in[r] = at_own(r, in);
		l->out[r] = at_own(r, out);
	}
	l->all_in = job.form == ALL_GATHER ? 0 : at_all(in);
	l->all_out = job.form == TWO_SHOT || job.form == ALL_GATHER ? at_all(out) : 0;
}

static void run(const void *args, unsigned char *shared)
{
	(void)shared;
	fb_multimem_run(args, job.form == ALL_GATHER ? FB_MULTIMEM_MOVE : FB_MULTIMEM_F32_SUM);
	weak_fence(); /* a kernel ends with its stores done */
}

static float input(int rank, int call, int i)
{
	return (float)(1 + (i * 7 + rank * 31 + call * 53) % 1000);
}

/* A kernel before the call fills this rank's inputs and outputs. */
static void prime(const void *args, unsigned char *shared)
{
	const struct turn *t = args;

	(void)shared;
	for (int i = 0; i < RANKS * COUNT; i++) {
		float value = input(t->rank, t->call, i), poison = -1;

		weak_store(emu_at(at_own(t->rank, IN + (uint32_t)i)), WEAK_OWN, &value, 4);
		weak_store(emu_at(at_own(t->rank, OUT + (uint32_t)i)), WEAK_OWN, &poison, 4);
	}
	for (uint32_t i = 0; i < weak.nstores; i++)
		weak.stores[i].met |= weak.stores[i].rank == t->rank;
	weak_fence();
}

static float expected(const struct turn *t, int i)
{
	float sum = 0;

	if (job.form == ALL_GATHER)
		return input(i / COUNT, t->call, i % COUNT);
	for (int r = 0; r < RANKS; r++)
		sum += input(r, t->call, job.form == REDUCE_SCATTER ? t->rank * COUNT + i : i);
	return sum;
}

/* And one behind it looks at what has come. */
static void check(const void *args, unsigned char *shared)
{
	const struct turn *t = args;

	(void)shared;
	for (int i = 0; i < (job.form == ALL_GATHER ? RANKS * COUNT : COUNT); i++) {
		float got;

		memcpy(&got, emu_at(at_own(t->rank, OUT + (uint32_t)i)), sizeof(got));
		job.wrong += got != expected(t, i); /* whole numbers */
	}
}

/* How many elements are wrong, or -1 for a deadlock. */
static long run_job(enum form form, enum mutation mutation, uint64_t seed)
{
	memset(&job, 0, sizeof(job));
	weak_reset();
	weak_mutation = mutation;
	job.form = form;
	emu.nranks = RANKS;
	for (int r = 0; r < RANKS; r++) {
		place(r);
		for (int i = 0; i < CALLS; i++) {
			struct emu_launch *l = &job.streams[r][3 * i];

			job.turns[r][i] = (struct turn){r, i};
			l[0] = (struct emu_launch){prime, &job.turns[r][i], 1, 1};
			l[1] = (struct emu_launch){run, &job.launches[r], BLOCKS, THREADS};
			l[2] = (struct emu_launch){check, &job.turns[r][i], 1, 1};
		}
		emu.ranks[r].stream = job.streams[r];
		emu.ranks[r].launches = 3 * CALLS;
		emu.ranks[r].next = 0;
	}
	return emu_run(seed) ? job.wrong : -1;
}

int main(void)
{
	static const char *const forms[FORMS] = {"one_shot", "two_shot", "reduce_scatter",
						 "all_gather"};
	static const struct {
		const char *what;
		enum mutation mutation;
		bool stores; /* shows only in forms that store to other ranks */
	} mutants[] = {
		{"right", NO_MUTATION, false},
		{"no barrier at the beginning", NO_FIRST, false},
		{"no barrier at the end", NO_LAST, false},
		{"waits for the barrier before", OLD_NUMBER, false},
		{"calls of the same number", SAME_NUMBER, false},
		{"number stored too early", EARLY_NUMBER, false},
		{"flags reset by their reader", RESET, false},
		{"silent rank", SILENT, false},
		{"posts before threads have met", EARLY_POST, false},
		{"data before threads have met", EARLY_DATA, false},
		{"no fence before posts", NO_FENCE, true},
		{"no fence between aliases", NO_ALIAS, false},
	};

	for (size_t m = 0; m < sizeof(mutants) / sizeof(mutants[0]); m++)
		for (int form = 0; form < FORMS; form++) {
			bool right = mutants[m].mutation == NO_MUTATION;
			long wrong = 0;
			uint64_t seed = 0;

			if (mutants[m].stores && form != TWO_SHOT && form != ALL_GATHER)
				continue;
			for (; seed < SEEDS && !wrong; seed++)
				wrong = run_job((enum form)form, mutants[m].mutation, seed);
			if (!check_that((wrong == 0) == right, mutants[m].what, __FILE__, __LINE__))
				printf("\t%s: %ld wrong with seed %llu\n", forms[form], wrong,
				       (unsigned long long)seed - 1);
		}
	return check_done("multimem");
}
