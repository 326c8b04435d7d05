/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The GPU engine's device code without a GPU, on emulated ranks: every algorithm over every
 * protocol, datatypes, counts around every boundary, in place and not, against the serial oracle;
 * many operations of different kinds back to back; flags that wrap around; and engines broken on
 * purpose, which have to be noticed.
 *
 *	test_gpu_plans [COLLECTIVE [ALGORITHM]]
 *
 * timeout: 300
 */
#include "common/base/float16.h"
#include "tests/cuda/try.h"

enum { MIXED_JOBS = 10, ROUNDS = 2 };

/* One case of how many is tried. 7 has no factor in common with what the cases take in turn. */
static uint64_t every(void)
{
	return check_full() ? EVERY : 7 * EVERY;
}

/* Every algorithm over every protocol; datatypes, counts, slots and channels in turn. */
static void test_all(const char *collective, const char *algorithm)
{
	static const uint64_t counts[] = {1, 7, 300, 0, 129, 1025};
	static const enum fb_datatype types[] = {FB_F32, FB_I8, FB_BF16, FB_F64, FB_I32, FB_F16,
						 FB_U64, FB_U8, FB_I64, FB_U32,
						 FB_F8E4M3, FB_F8E5M2};
	static const uint32_t slot_bytes[] = {0, 64, 1024}, threads[] = {16, 64, 32};
	uint64_t turn = 0;

	for (int a = 0; a < fb_algorithm_count; a++) {
		const struct fb_algorithm *algo = fb_algorithms[a];
		const struct fb_collective_info *info = fb_collective_info(algo->collective);

		if ((collective && strcmp(collective, info->name)) ||
		    (algorithm && strcmp(algorithm, algo->name)))
			continue;
		for (size_t k = 0; k < (size_t)PROTOCOLS * JOB_RANKS * 2 * ROUNDS; k++, turn++) {
			struct job_case c = {
				.algorithm = algo, .protocol = protocols[k % PROTOCOLS].protocol,
				.direct = protocols[k % PROTOCOLS].direct,
				.tma = protocols[k % PROTOCOLS].tma,
				.nranks = 1 + (int)(k / PROTOCOLS % JOB_RANKS),
				.in_place = k / PROTOCOLS / JOB_RANKS % 2,
				.datatype = types[turn * 7 % 12],
				.redop = (enum fb_redop)(turn % 5),
				.count = counts[turn % 6],
				.threads = threads[turn % 3],
				.tuning = {.slots = 1u << turn % 4, .ll_line = 16,
					   .slot_bytes = slot_bytes[turn % 3]},
			};

			c.channels = algo->channels ? algo->channels : 1 + (int)(turn % 2);
			c.root = info->has_root ? (int)turn % c.nranks : 0;
			if (algo->collective == FB_BARRIER)
				c.count = 0;
			if (turn % every() == 0 && possible(&c))
				try_case(&c, turn);
		}
	}
}

/*
 * More ranks, where what goes wrong takes three steps; blocks of enough warps for records side by
 * side. Barriers several times, as only a late rank shows that nobody waited for it.
 */
static void test_many_ranks(void)
{
	for (int a = 0; a < fb_algorithm_count; a++)
		for (int k = 0; k < PROTOCOLS * (JOB_MOST - JOB_RANKS); k++) {
			struct job_case c = {
				.algorithm = fb_algorithms[a],
				.protocol = protocols[k % PROTOCOLS].protocol,
				.direct = protocols[k % PROTOCOLS].direct,
				.tma = protocols[k % PROTOCOLS].tma,
				.nranks = JOB_RANKS + 1 + k / PROTOCOLS, .channels = 1,
				.datatype = FB_F32, .count = 9 + 61 * (uint64_t)(k % 2),
				.in_place = a % 2, .root = k % JOB_RANKS, .threads = 64};
			bool barrier = c.algorithm->collective == FB_BARRIER;

			c.channels = c.algorithm->channels ? c.algorithm->channels : 1;
			if (!fb_collective_info(c.algorithm->collective)->has_root)
				c.root = 0;
			if (barrier)
				c.count = 0;
			for (int i = 0; i < (barrier ? 10 : 1); i++)
				if ((uint64_t)(a + k) % every() == 0 && possible(&c))
					try_case(&c, (uint64_t)i);
		}
}

/*
 * Messages without bytes depend on each other by nothing but their order: a rank that ran calls
 * ahead would overwrite slots that are not read yet. Two slots and few threads show it soonest.
 * In all blocks, and in some of those of unequal size.
 */
static void test_no_bytes(void)
{
	enum { SEEDS = 24, RANKS = 4 };

	for (int a = 0; a < fb_algorithm_count; a++) {
		struct job_case c = {.algorithm = fb_algorithms[a], .protocol = FB_GPU_LL8,
				     .nranks = RANKS, .channels = 1, .datatype = FB_F32,
				     .threads = 16, .tuning = {.slots = 2, .ll_line = 8}};

		c.channels = c.algorithm->channels ? c.algorithm->channels : 1;
		for (uint64_t seed = 0; seed < SEEDS && possible(&c); seed += EVERY)
			try_case(&c, seed);
		c.gaps = c.in_place = fb_collective_info(c.algorithm->collective)->unequal;
		c.count = 2;
		for (uint64_t seed = 0; seed < 4 * SEEDS && c.gaps && possible(&c);
		     seed += EVERY)
			try_case(&c, seed);
	}
}

/* Two nodes of two ranks, whose links are in other memory than those within; all algorithms. */
static void test_nodes(void)
{
	for (int a = 0; a < fb_algorithm_count; a++)
		for (int k = 0; k < PROTOCOLS; k++) {
			struct job_case c = {
				.algorithm = fb_algorithms[a], .protocol = protocols[k].protocol,
				.direct = protocols[k].direct,
				.tma = protocols[k].tma, .nranks = 4, .nodes = 2,
				.datatype = FB_F32, .count = 40 + 300 * (uint64_t)(a % 2),
				.in_place = k % 2, .tuning = {.slots = 1u << (a + k) % 4}};

			c.channels = c.algorithm->channels ? c.algorithm->channels : 1;
			if (c.algorithm->collective == FB_BARRIER)
				c.count = 0;
			if ((a + k) % EVERY == 0 && possible(&c))
				try_case(&c, (uint64_t)a);
		}
}

/* Every datatype and operation, where bytes are combined. */
static void test_types(void)
{
	static const struct fb_algorithm *const algorithms[] = {
		&fb_all_reduce_one_shot, &fb_all_reduce_two_shot, &fb_reduce_scatter_ring};

	for (int type = 0; type < FB_DATATYPES; type++)
		for (int op = 0; op < FB_REDOPS; op++)
			for (int k = 0; k < PROTOCOLS; k++) {
				struct job_case c = {
					.algorithm = algorithms[(type + op + k) % 3],
					.protocol = protocols[k].protocol,
					.direct = protocols[k].direct,
					.tma = protocols[k].tma, .nranks = 2 + (op + k) % 3,
					.channels = 1, .datatype = (enum fb_datatype)type,
					.redop = (enum fb_redop)op,
					.count = 37 + 61 * (uint64_t)op,
				};

				c.wide = (op + k) % 2;
				if ((type + op + k) % EVERY == 0 &&
				    fb_can_reduce(c.datatype, c.redop))
					try_case(&c, (uint64_t)type * 100 +
							     (uint64_t)op * 10 + (uint64_t)k);
			}
}

/*
 * Blocks of every length at every address: what small messages of bytes and of pairs of them are
 * made of. Lengths up to 1,024, alignments of both buffers, ranks and protocols in turn.
 */
static void test_shifts(void)
{
	static const struct fb_algorithm *const algorithms[] = {
		&fb_all_gather_direct, &fb_all_to_all_direct, &fb_reduce_scatter_direct,
		&fb_all_reduce_two_shot, &fb_broadcast_chain};
	static const enum fb_datatype types[] = {FB_I8, FB_BF16, FB_U8, FB_F32};

	for (unsigned n = 1; n <= 1024; n++)
		for (unsigned a = 0; a < sizeof(algorithms) / sizeof(algorithms[0]); a++) {
			enum fb_datatype type = types[(n / 3 + a) % 4];
			unsigned size = (unsigned)fb_datatype_size(type);
			struct job_case c = {
				.algorithm = algorithms[a],
				.protocol = protocols[2 + n % 3].protocol,
				.nranks = 2 + (int)(n / 5 % 3), .channels = 1, .datatype = type,
				.count = (n + size - 1) / size, .in_place = n % 2,
				.in_shift = n * 7 % 16 / size * size,
				.out_shift = n / 16 % 16 / size * size, .threads = 16u << n % 2};

			if ((n + a) % (2 * every()) == 0 && possible(&c))
				try_case(&c, n);
		}
}

/*
 * Channels that share blocks in stripes: all algorithms that zero-copy links have, at lengths that
 * end with a stripe, within one, within 16 bytes, and are too short; aligned to 16 bytes and not.
 */
static void test_striped(void)
{
	static const uint64_t counts[] = {4 * 4096, 9 * 4096 + 1232, 5 * 4096 + 20, 28684, 900};
	static const enum fb_datatype types[] = {FB_F32, FB_BF16, FB_F32, FB_F64, FB_U8};
	int striped = 0;

	for (int a = 0; a < fb_algorithm_count; a++)
		for (int k = 0; k < 2 * 5; k++) {
			struct job_case c = {
				.algorithm = fb_algorithms[a], .direct = true, .striped = true,
				.nranks = 2 + (a + k) % 3, .channels = 1 + (a + k) % JOB_CHANNELS,
				.datatype = types[k % 5], .count = counts[(a + k) % 5],
				.in_place = k / 5, .redop = a % 2 ? FB_AVG : FB_SUM,
				.threads = 16u << k % 3,
				.tuning = {.slot_bytes = 8192u >> k % 2, .slots = k % 3 ? 8 : 4}};
			static struct job j;

			if (c.algorithm->channels)
				c.channels = c.algorithm->channels;
			if ((uint64_t)(a + k) % every() || c.algorithm->collective == FB_BARRIER ||
			    !possible(&c) || !fb_can_reduce(c.datatype, c.redop))
				continue;
			try_case(&c, (uint64_t)a);
			/* The kernels for any address know stripes, too. */
			CHECK_INT(job_open(&j, &c), FB_OK);
			striped += j.shape.geometry.stripe != 0;
			for (int r = 0; r < c.nranks; r++)
				j.ranks[r].table.odd = true;
			if (!CHECK_INT(run_job(&j, CALLS, false, (uint64_t)k), 0))
				describe(&c, "by the kernels for any address");
			job_close(&j);
		}
	CHECK(striped > 0);
}

/* Rank 0 has 2048 everywhere, the others 1. */
static void fill_uneven(const void *args, unsigned char *shared)
{
	const struct job_turn *t = args;
	uint16_t *to = (void *)(t->job->parts[t->rank] + t->job->op.in_offset);
	uint16_t value = fb_narrow_f16(t->rank ? 1 : 2048);

	(void)shared;
	for (uint64_t i = 0; fb_thread() == 0 && i < t->job->c.count; i++)
		to[i] = value;
}

/*
 * 2048 + 1 + 1 is 2048 in f16 where each sum is rounded, and 2050 where only the last is; divided
 * by 3, 682.5 and 683.5. One rank reduces all.
 */
static void test_accumulate(void)
{
	static const float right[2][2] = {{2048, 682.5f}, {2050, 683.5f}};

	for (int k = 0; k < 2 * 2 * PROTOCOLS; k++) {
		const struct job_case c = {
			.algorithm = &fb_all_reduce_one_shot, .wide = k % 2,
			.redop = k / 2 % 2 ? FB_AVG : FB_SUM,
			.protocol = protocols[k / 4].protocol, .direct = protocols[k / 4].direct,
			.tma = protocols[k / 4].tma,
			.nranks = 3, .channels = 1, .datatype = FB_F16, .count = 69 + (k & 3)};
		uint16_t want = fb_narrow_f16(right[k % 2][k / 2 % 2]);
		struct job_turn turns[JOB_RANKS];
		static struct job j;
		struct emu_launch l[JOB_RANKS][2];
		int wrong = 0;

		CHECK_INT(job_open(&j, &c), FB_OK);
		emu.nranks = c.nranks;
		for (int r = 0; r < c.nranks; r++) {
			turns[r] = (struct job_turn){.job = &j, .rank = r};
			l[r][0] = (struct emu_launch){.kernel = fill_uneven, .args = &turns[r],
						      .blocks = 1, .threads = 1};
			l[r][1] = job_launch(&j, r, j.ranks[r].is_fused);
			emu.ranks[r].stream = l[r];
			emu.ranks[r].launches = 2;
			emu.ranks[r].next = 0;
		}
		CHECK(emu_run(7));
		for (int r = 0; r < c.nranks; r++)
			for (uint64_t i = 0; i < c.count; i++)
				wrong += memcmp(j.parts[r] + j.op.out_offset + 2 * i, &want,
						sizeof(want)) != 0;
		if (!CHECK_INT(wrong, 0))
			describe(&c, c.wide ? "f32" : "type");
		job_close(&j);
	}
}

/* Returns the messages of the busiest link into the rank; at least 1. */
static uint64_t most_messages(const struct fb_plan *plan)
{
	uint64_t most = 1;

	for (int i = 0; plan && i < plan->n_in_links; i++)
		most = plan->in_links[i].messages > most ? plan->in_links[i].messages : most;
	return most;
}

/* The 32-bit flags of ll wrap; numbers of messages go on. */
static void test_wrap(void)
{
	for (int a = 0; a < fb_algorithm_count; a += EVERY)
		for (int k = 0; k < PROTOCOLS; k++) {
			struct job_case c = {
				.algorithm = fb_algorithms[a], .protocol = protocols[k].protocol,
				.direct = protocols[k].direct,
				.tma = protocols[k].tma, .nranks = 3, .channels = 1,
				.datatype = FB_F32, .count = 100, .tuning = {.slots = 2},
			};
			static struct job j;
			uint64_t messages = 1;
			long errors = 0;

			c.channels = c.algorithm->channels ? c.algorithm->channels : 1;
			if (c.algorithm->collective == FB_BARRIER || !possible(&c))
				continue;
			for (int pass = 0; pass < 3; pass++) {
				/* Some calls before the wrap, so that slots are in use. */
				c.epoch = pass ? (UINT64_C(1) << 32) / messages - 5 : 0;
				CHECK_INT(job_open(&j, &c), FB_OK);
				messages = most_messages(j.ranks[1].plans[0]);
				for (int i = 0; pass && i < 4 && !errors; i++)
					errors = run_job(&j, CALLS, pass == 2, (uint64_t)i);
				job_close(&j);
			}
			if (!check_that(errors == 0, c.algorithm->name, __FILE__, __LINE__))
				describe(&c, errors < 0 ? "deadlock" : "wrong at the wrap");
		}
}

/* Operations of different kinds, each with links of its own, in one stream without a barrier. */
static void test_mixed(void)
{
	static struct job jobs[MIXED_JOBS];
	int a = 0, n = 0;

	for (; n < MIXED_JOBS; a += 5) {
		int k = (a + n) % PROTOCOLS;
		struct job_case c = {
			.algorithm = fb_algorithms[a % fb_algorithm_count],
			.protocol = protocols[k].protocol,
			.direct = protocols[k].direct, .tma = protocols[k].tma,
			.nranks = JOB_RANKS, .channels = 1, .datatype = n % 2 ? FB_F32 : FB_I8,
			.count = 3 + 50 * (uint64_t)n, .tuning = {.slots = 1u << n % 3}};

		c.channels = c.algorithm->channels ? c.algorithm->channels : 1;
		if (!possible(&c) || job_open(&jobs[n], &c)) {
			job_close(&jobs[n]);
			continue;
		}
		n++;
	}
	for (int r = 0; r < JOB_RANKS; r++)
		for (int i = 0; i < MIXED_CALLS; i++)
			add_call(r, &jobs[(i * 7 + i / 13) % n], i, true);
	CHECK(run_streams(JOB_RANKS, 99));
	for (int i = 0; i < n; i++)
		if (!CHECK_INT(jobs[i].bad.errors, 0))
			describe(&jobs[i].c, jobs[i].why);
	for (int i = 0; i < n; i++)
		job_close(&jobs[i]);
}

#include "tests/cuda/mutants.h"

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_all(argc > 1 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL);
	if (argc == 1) {
		test_many_ranks();
		test_no_bytes();
		test_nodes();
		test_types();
		test_shifts();
		test_striped();
		test_accumulate();
		test_wrap();
		test_mixed();
		test_mutants();
		test_tma_mutants();
		test_striped_mutants();
		test_fused_mutants();
		test_unaligned_mutants();
	}
	return check_done("gpu_plans");
}
