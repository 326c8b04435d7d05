/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engines broken on purpose, for test_gpu_plans.c: what does not wait, what uses the wrong slot,
 * what uses slots again too soon. Each has to give wrong results or to hang within some runs.
 */
#ifndef FB_TESTS_CUDA_MUTANTS_H
#define FB_TESTS_CUDA_MUTANTS_H

enum mutation {
	NO_MUTATION,
	BLIND_FLAGS,    /* lines are taken without looking at their flags */
	BLIND_COUNTERS, /* counters are not waited for */
	WRONG_SLOT,     /* rank 0 fills the slot behind the right one */
	FEW_SLOTS,      /* links without credits have slots for one call instead of two */
	NO_CREDITS,     /* senders do not wait for slots to be free */
	NO_POSTS,       /* rank 0 does not raise counters */
	TRUST_APART,    /* flags count though their lines were not loaded at once */
	NO_SYNC,        /* threads do not meet where they work on each other's memory */
	ALL_AT_ONCE,    /* records go side by side, whatever they touch */
	ONE_STRIPE,     /* stripes all in one place */
	ALL_EARLY,      /* sources are read before they are waited for */
	BLIND_LOADS,    /* bulk copies: see emulator_tma.h */
	BLIND_READS,
	BLIND_ENDS,
	BLIND_FENCES,
};

static struct fb_gpu_record *first_record(const struct job *j, int rank)
{
	return (void *)(uintptr_t)j->ranks[rank].table.blocks[0].records;
}

static struct fb_gpu_record *next_record(struct fb_gpu_record *r)
{
	return (void *)((char *)r + r->size);
}

/* Changes a rank's records; they fit one window in these tests. */
static void mutate(struct job *j, int rank, enum mutation mutation)
{
	struct fb_gpu_record *r = first_record(j, rank);

	if (mutation == ALL_AT_ONCE)
		r->batch = j->ranks[rank].table.blocks[0].nrecords;
	for (uint32_t i = 0; i < j->ranks[rank].table.blocks[0].nrecords; i++) {
		struct fb_gpu_end *ends = (void *)(r + 1);
		struct fb_gpu_counter *waits = (void *)(ends + r->nsrc + r->ndst);

		for (int k = 0; k < r->nsrc + r->ndst; k++) {
			if (!ends[k].is_slot)
				continue;
			if (mutation == WRONG_SLOT && rank == 0 && k >= r->nsrc)
				ends[k].address += ends[k].stride;
			if (mutation == FEW_SLOTS)
				ends[k].mask >>= 1;
		}
		/* The root of a chain waits for nothing else. */
		for (int k = 0; k < r->nwait && mutation == NO_CREDITS && rank == 0; k++)
			waits[k].index = -1000000;
		if (mutation == NO_POSTS && rank == 0)
			for (int k = 0; k < r->npost; k++)
				waits[r->nwait + k] = (struct fb_gpu_counter){
					.address = waits[r->nwait + k].address};
		if (mutation == ONE_STRIPE)
			r->stripes = 0;
		if (mutation == ALL_EARLY && r->ndst)
			r->flags |= FB_GPU_EARLY;
		if (mutation == NO_SYNC)
			r->flags &= ~(uint32_t)FB_GPU_SYNC;
		r = next_record(r);
	}
}

/* The same of the fused kernel's parameters, which are made from right records. */
static void mutate_fused(struct job *j, int rank, enum mutation mutation)
{
	struct fb_gpu_exchange *x = &j->ranks[rank].fused;

	if (mutation == WRONG_SLOT && rank == 0)
		x->peer[0].to += x->stride;
	if (mutation == FEW_SLOTS)
		x->stride = 0;
}

static void expect_caught(const struct job_case *c, enum mutation mutation, bool fused,
			  const char *what)
{
	static struct job j;
	long errors = 0;

	for (uint64_t seed = 0; seed < 40 && !errors; seed++) {
		CHECK_INT(job_open(&j, c), FB_OK);
		for (int r = 0; r < c->nranks; r++) {
			CHECK(!fused || j.ranks[r].is_fused);
			(fused ? mutate_fused : mutate)(&j, r, mutation);
		}
		emu.blind = mutation == BLIND_FLAGS   ? EMU_BLIND_FLAGS
			    : mutation == TRUST_APART ? EMU_TRUST_APART
			    : mutation == BLIND_COUNTERS ? EMU_BLIND_COUNTERS
			    : mutation == BLIND_LOADS ? EMU_BLIND_LOADS
			    : mutation == BLIND_READS ? EMU_BLIND_READS
			    : mutation == BLIND_ENDS ? EMU_BLIND_ENDS
			    : mutation == BLIND_FENCES ? EMU_BLIND_FENCES
						       : 0u;
		for (int i = 0; i < 3 && !errors; i++)
			errors = run_job(&j, CALLS, fused, seed * 3 + (uint64_t)i);
		emu.blind = 0;
		job_close(&j);
		if (mutation == NO_MUTATION && seed == 3)
			break;
	}
	if (!check_that((errors != 0) == (mutation != NO_MUTATION), what, __FILE__, __LINE__))
		describe(c, mutation ? "not noticed" : "wrong");
}

static void test_mutants(void)
{
	static const struct {
		const char *what;
		const struct fb_algorithm *algorithm;
		enum fb_gpu_protocol protocol;
		bool direct;
		enum mutation mutation;
		uint32_t slots, slot_bytes;
	} table[] = {
		{"right ll", &fb_all_reduce_one_shot, FB_GPU_LL16, false, NO_MUTATION, 2, 0},
		{"right chain", &fb_broadcast_chain, FB_GPU_SIMPLE, false, NO_MUTATION, 2, 64},
		{"ll8 without flags", &fb_all_reduce_ring, FB_GPU_LL8, false, BLIND_FLAGS, 8, 0},
		{"ll16 without flags", &fb_all_gather_direct, FB_GPU_LL16, false, BLIND_FLAGS, 8,
		 0},
		{"ll128 without flags", &fb_all_reduce_two_shot, FB_GPU_LL128, false, BLIND_FLAGS,
		 8, 0},
		{"ll128, threads apart", &fb_all_reduce_one_shot, FB_GPU_LL128, false,
		 TRUST_APART, 8, 0},
		{"simple without counters", &fb_all_reduce_ring, FB_GPU_SIMPLE, false,
		 BLIND_COUNTERS, 8, 0},
		{"direct without counters", &fb_all_reduce_ring, FB_GPU_SIMPLE, true,
		 BLIND_COUNTERS, 8, 0},
		{"simple, wrong slot", &fb_all_reduce_ring, FB_GPU_SIMPLE, false, WRONG_SLOT, 8, 0},
		{"ll16, wrong slot", &fb_all_reduce_one_shot, FB_GPU_LL16, false, WRONG_SLOT, 8, 0},
		{"ll128, wrong slot", &fb_all_to_all_direct, FB_GPU_LL128, false, WRONG_SLOT, 8,
		 0},
		{"ll16, slots of one call", &fb_all_reduce_one_shot, FB_GPU_LL16, false, FEW_SLOTS,
		 2, 0},
		{"simple, slots of one call", &fb_all_gather_direct, FB_GPU_SIMPLE, false,
		 FEW_SLOTS, 2, 0},
		{"chain without credits", &fb_broadcast_chain, FB_GPU_SIMPLE, false, NO_CREDITS, 2,
		 64},
		{"ll16 chain without credits", &fb_broadcast_chain, FB_GPU_LL16, false, NO_CREDITS,
		 2, 64},
		{"ll16, threads that do not meet", &fb_all_reduce_halving_doubling, FB_GPU_LL16,
		 false, NO_SYNC, 8, 0},
		{"ll16, all records at once", &fb_all_reduce_halving_doubling, FB_GPU_LL16, false,
		 ALL_AT_ONCE, 8, 0},
		{"simple, silent rank", &fb_all_reduce_ring, FB_GPU_SIMPLE, false, NO_POSTS, 8, 0},
		{"direct, silent rank", &fb_all_reduce_two_shot, FB_GPU_SIMPLE, true, NO_POSTS, 8,
		 0},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct job_case c = {
			.algorithm = table[i].algorithm, .protocol = table[i].protocol,
			.direct = table[i].direct, .nranks = 3, .channels = 1, .datatype = FB_F32,
			.count = table[i].mutation == ALL_AT_ONCE ? 20 : 150, .threads = 64,
			.tuning = {.slots = table[i].slots, .slot_bytes = table[i].slot_bytes}};

		expect_caught(&c, table[i].mutation, false, table[i].what);
	}
}

/* Tiles enough that every warp fills its stages several times. */
static void test_tma_mutants(void)
{
	static const struct {
		const char *what;
		const struct fb_algorithm *algorithm;
		enum mutation mutation;
	} table[] = {
		{"right tma", &fb_all_reduce_ring, NO_MUTATION},
		{"tma without counters", &fb_all_reduce_ring, BLIND_COUNTERS},
		{"tma, silent rank", &fb_all_reduce_two_shot, NO_POSTS},
		{"tma, tiles that are not there", &fb_all_gather_ring, BLIND_LOADS},
		{"tma, summands that are not there", &fb_all_reduce_one_shot, BLIND_LOADS},
		{"tma, stages filled too soon", &fb_all_gather_direct, BLIND_READS},
		{"tma, notified before stored", &fb_all_gather_ring, BLIND_ENDS},
		{"tma, no fences", &fb_all_gather_ring, BLIND_FENCES},
		{"tma, no fences of sums", &fb_all_reduce_one_shot, BLIND_FENCES},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct job_case c = {
			.algorithm = table[i].algorithm, .direct = true, .tma = true, .nranks = 3,
			.channels = 1, .datatype = FB_F32, .count = 3000, .threads = 64};

		expect_caught(&c, table[i].mutation, false, table[i].what);
	}
}

static void test_striped_mutants(void)
{
	static const struct {
		const char *what;
		const struct fb_algorithm *algorithm;
		enum mutation mutation;
	} table[] = {
		{"right stripes", &fb_all_reduce_two_shot, NO_MUTATION},
		{"stripes without counters", &fb_all_reduce_ring, BLIND_COUNTERS},
		{"stripes, silent rank", &fb_all_reduce_two_shot, NO_POSTS},
		{"stripes in one place", &fb_all_gather_direct, ONE_STRIPE},
		{"sums of stripes in one place", &fb_reduce_scatter_direct, ONE_STRIPE},
		{"stripes that are not there", &fb_all_gather_ring, ALL_EARLY},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct job_case c = {
			.algorithm = table[i].algorithm, .direct = true, .striped = true,
			.nranks = 3, .channels = 2, .datatype = FB_F32, .count = 25000,
			.threads = 64, .tuning = {.slot_bytes = FB_GPU_LEAST_STRIPE}};

		expect_caught(&c, table[i].mutation, false, table[i].what);
	}
}

static void test_fused_mutants(void)
{
	static const struct {
		const char *what;
		const struct fb_algorithm *algorithm;
		enum fb_gpu_protocol protocol;
		enum mutation mutation;
	} table[] = {
		{"right exchange", &fb_all_reduce_one_shot, FB_GPU_LL16, NO_MUTATION},
		{"exchange without flags", &fb_all_to_all_direct, FB_GPU_LL16, BLIND_FLAGS},
		{"exchange, wrong slot", &fb_all_gather_direct, FB_GPU_LL16, WRONG_SLOT},
		{"exchange, slots of one call", &fb_all_reduce_one_shot, FB_GPU_LL16, FEW_SLOTS},
		{"right lines", &fb_all_reduce_two_shot, FB_GPU_LL128, NO_MUTATION},
		{"lines without flags", &fb_all_to_all_direct, FB_GPU_LL128, BLIND_FLAGS},
		{"sums without flags", &fb_all_reduce_two_shot, FB_GPU_LL128, BLIND_FLAGS},
		{"lines, threads apart", &fb_all_reduce_two_shot, FB_GPU_LL128, TRUST_APART},
		{"lines, wrong slot", &fb_reduce_scatter_direct, FB_GPU_LL128, WRONG_SLOT},
		{"sums, wrong slot", &fb_all_reduce_two_shot, FB_GPU_LL128, WRONG_SLOT},
		{"lines, slots of one call", &fb_all_gather_direct, FB_GPU_LL128, FEW_SLOTS},
		{"sums, slots of one call", &fb_all_reduce_two_shot, FB_GPU_LL128, FEW_SLOTS},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct job_case c = {
			.algorithm = table[i].algorithm, .protocol = table[i].protocol, .nranks = 3,
			.channels = 1, .datatype = FB_F32, .count = 150, .threads = 64};

		expect_caught(&c, table[i].mutation, true, table[i].what);
	}
}

/* Blocks of 302 bytes, which begin and end anywhere: what moves them waits as well. */
static void test_unaligned_mutants(void)
{
	static const struct {
		const char *what;
		const struct fb_algorithm *algorithm;
		enum fb_gpu_protocol protocol;
		bool direct, fused;
		enum mutation mutation;
	} table[] = {
		{"right unaligned", &fb_all_gather_direct, FB_GPU_LL128, false, true, NO_MUTATION},
		{"unaligned ll16 without flags", &fb_all_to_all_direct, FB_GPU_LL16, false, true,
		 BLIND_FLAGS},
		{"unaligned lines without flags", &fb_all_gather_direct, FB_GPU_LL128, false, true,
		 BLIND_FLAGS},
		{"unaligned lines, threads apart", &fb_all_reduce_one_shot, FB_GPU_LL128, false,
		 false, TRUST_APART},
		{"unaligned lines, wrong slot", &fb_reduce_scatter_direct, FB_GPU_LL128, false,
		 true, WRONG_SLOT},
		{"unaligned simple without counters", &fb_all_gather_ring, FB_GPU_SIMPLE, false,
		 false, BLIND_COUNTERS},
		{"unaligned direct without counters", &fb_reduce_scatter_ring, FB_GPU_SIMPLE, true,
		 false, BLIND_COUNTERS},
		{"unaligned direct, silent rank", &fb_all_gather_direct, FB_GPU_SIMPLE, true, false,
		 NO_POSTS},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct job_case c = {
			.algorithm = table[i].algorithm, .protocol = table[i].protocol,
			.direct = table[i].direct, .nranks = 3, .channels = 1,
			.datatype = FB_BF16, .count = 151, .threads = 64};

		expect_caught(&c, table[i].mutation, table[i].fused, table[i].what);
	}
}

#endif
