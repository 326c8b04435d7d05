/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel of the KV transfer engines without a GPU, on emulated ranks, with the launches of
 * engine cuda: every mode and layout, ranks in both groups and in one, several calls back to back,
 * from random interleavings; each receiver's pages are checked behind its own last launch. Launches
 * broken on purpose have to be noticed. And the strips of the copy engine, against the runs.
 */
#include <unistd.h>

#include "common/base/error.h"
#include "kvtransfer/pages.h"
#include "tests/cuda/emulator.h"
/* On top of the emulator. */
#include "kvtransfer/engine/gpu/build.h"
#include "kvtransfer/engine/gpu/move.h"
#include "tests/cuda/scheduler.h"
#include "tests/unit/check.h"

enum {
	RANKS = 5, CALLS = 2, LAYERS = 3, THREADS = 32, PUSH_BLOCKS = 2, LOCAL_BLOCKS = 3,
	MOST_LAUNCHES = CALLS * LAYERS * 2 * FB_KV_STEP_TASKS + 1,
};

static struct world {
	struct fb_segment segment, flags;
	char *parts[RANKS], *flag_parts[RANKS];
	int part_of[RANKS];
	struct fb_kv_job job[RANKS];
	struct fb_kv_pieces of_pair[RANKS][FB_KV_MOST_WAYS];
	struct fb_kv_piece *piece[RANKS][FB_KV_MOST_WAYS];
	struct fb_kv_launch launch[RANKS][MOST_LAUNCHES];
	struct emu_launch stream[RANKS][MOST_LAUNCHES];
	struct fb_mismatch bad;
} w;

static void run_kernel(const void *args, unsigned char *shared)
{
	(void)shared;
	fb_kv_run_launch(args);
}

/* Behind a receiver's calls, as its host would check them, while others may still run. */
static void check_rank(const void *args, unsigned char *shared)
{
	const struct fb_kv_job *job = args;

	(void)shared;
	if (job->index[FB_KV_DECODE] >= 0)
		fb_kv_pages_host.check(job, FB_KV_DECODE, &w.bad);
}

static char *zeroed(size_t bytes)
{
	char *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	if (!memory)
		abort();
	memset(memory, 0, bytes);
	return memory;
}

static void open_rank(int r, const struct fb_kv_shape *shape, enum fb_kv_mode mode, int shift)
{
	struct fb_kv_job *job = &w.job[r];

	if (fb_kv_job_open(job, shape, mode, r, RANKS, shift) || fb_kv_job_plan(job))
		abort();
	job->type = FB_BF16;
	job->seed = 5;
	job->segment = &w.segment;
	w.part_of[r] = r;
	w.parts[r] = zeroed(job->part_bytes);
	w.flag_parts[r] = zeroed((size_t)RANKS * 2 * FB_KV_FLAG_BYTES);
	for (uint32_t p = 0; p < job->plan.pairs; p++) {
		uint32_t n = fb_kv_cut(&job->plan.pair[p], NULL);

		w.piece[r][p] = malloc((n + 1) * sizeof(struct fb_kv_piece));
		if (!w.piece[r][p])
			abort();
		fb_kv_cut(&job->plan.pair[p], w.piece[r][p]);
		w.of_pair[r][p] = (struct fb_kv_pieces){(uint64_t)(uintptr_t)w.piece[r][p], n};
	}
}

static void open_world(const struct fb_kv_shape *shape, enum fb_kv_mode mode, int shift)
{
	memset(&w, 0, sizeof(w));
	w.segment = (struct fb_segment){.nparts = RANKS, .part_of = w.part_of, .parts = w.parts,
					.ops = &fb_memory_host};
	w.flags = (struct fb_segment){.nparts = RANKS, .part_of = w.part_of,
				      .parts = w.flag_parts, .ops = &fb_memory_host};
	for (int r = 0; r < RANKS; r++)
		open_rank(r, shape, mode, shift);
}

static void close_world(void)
{
	for (int r = 0; r < RANKS; r++) {
		for (uint32_t p = 0; p < w.job[r].plan.pairs; p++)
			free(w.piece[r][p]);
		fb_kv_job_close(&w.job[r]);
		free(w.parts[r]);
		free(w.flag_parts[r]);
	}
}

/* Adds the launches of some tasks to a rank's stream, which has n of them. */
static int add_tasks(int r, int n, const struct fb_kv_task *task, int tasks, uint32_t step,
		     uint64_t call)
{
	struct fb_kv_view view = {&w.job[r], NULL, w.of_pair[r], PUSH_BLOCKS, LOCAL_BLOCKS};

	for (int t = 0; t < tasks; t++) {
		view.flags = task[t].counts ? &w.flags : NULL;
		if (!fb_kv_build(&view, task[t].work, step, call, task[t].last, &w.launch[r][n]))
			continue;
		w.stream[r][n] = (struct emu_launch){
			.kernel = run_kernel, .args = &w.launch[r][n], .threads = THREADS,
			.blocks = fb_kv_blocks_of(&view, task[t].work)};
		n++;
	}
	return n;
}

static void build_rank(int r, uint64_t first_call, int calls)
{
	const struct fb_kv_job *job = &w.job[r];
	struct fb_kv_task task[FB_KV_STEP_TASKS];
	int n = 0;

	for (uint64_t call = first_call; call < first_call + (uint64_t)calls; call++) {
		for (uint32_t step = 0; step < job->steps; step++)
			n = add_tasks(r, n, task, fb_kv_push_tasks(job, FB_KV_ALL, task), step,
				      call);
		for (uint32_t step = 0; step < job->steps; step++)
			n = add_tasks(r, n, task, fb_kv_receive_tasks(job, FB_KV_ALL, step, task),
				      step, call);
	}
	w.stream[r][n++] = (struct emu_launch){.kernel = check_rank, .args = job, .blocks = 1,
					       .threads = 1};
	emu.ranks[r].stream = w.stream[r];
	emu.ranks[r].launches = n;
	emu.ranks[r].next = 0;
}

/* So many calls back to back from clean pages and counters; errors, or -1 where they hang. */
static long run_batch(int calls, uint64_t seed)
{
	bool finished;

	w.bad = (struct fb_mismatch){0};
	emu.nranks = RANKS;
	for (int r = 0; r < RANKS; r++) {
		memset(w.flag_parts[r], 0, (size_t)RANKS * 2 * FB_KV_FLAG_BYTES);
		memset(w.parts[r] + w.job[r].out_at, 0, w.job[r].part_bytes - w.job[r].out_at);
		for (int side = 0; side < FB_KV_SIDES; side++)
			if (w.job[r].index[side] >= 0)
				fb_kv_pages_host.fill(&w.job[r], (enum fb_kv_side)side,
						      side == FB_KV_DECODE);
	}
	for (int r = 0; r < RANKS; r++)
		build_rank(r, 1, calls);
	finished = emu_run(seed);
	for (int r = 0; r < RANKS && finished; r++)
		for (int side = 0; side < FB_KV_SIDES; side++)
			if (w.job[r].index[side] >= 0)
				fb_kv_pages_host.check(&w.job[r], (enum fb_kv_side)side, &w.bad);
	return finished ? (long)w.bad.errors : -1;
}

static const enum fb_kv_mode modes[] = {FB_KV_DIRECT, FB_KV_PACK, FB_KV_LAYERWISE};

static struct fb_kv_shape shape_of(uint32_t p, uint32_t d, int layout, uint32_t tokens)
{
	return (struct fb_kv_shape){.layers = LAYERS, .kv_heads = 4, .head_dim = 8,
				    .element_bytes = 2, .tokens = tokens, .block_tokens = 4,
				    .page_run = 1, .layout = (enum fb_kv_layout)layout,
				    .tp = {p, d}};
}

static void test_modes(void)
{
	static const struct {
		uint32_t p, d;
		int shift;
	} groups[] = {{1, 4, 1}, {4, 1, 4}, {2, 2, 2}, {1, 1, 0}, {4, 4, 2}, {4, 2, 1}, {2, 4, 3}};
	uint64_t seed = 1;

	for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++)
		for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
			for (int layout = 0; layout < FB_KV_LAYOUTS; layout++) {
				struct fb_kv_shape s = shape_of(groups[g].p, groups[g].d, layout,
								11);

				open_world(&s, modes[m], groups[g].shift);
				for (int calls = 1; calls <= CALLS; calls++)
					CHECK_INT(run_batch(calls, seed++), 0);
				close_world();
			}
}

/* Runs longer than a piece: pages that are neighbours, 2 heads of 600 tokens of 16 bytes. */
static void test_long(void)
{
	for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
		struct fb_kv_shape s = shape_of(2, 2, FB_KV_HND, 600);

		s.page_run = 0;
		s.layers = 1;
		open_world(&s, modes[m], 2);
		CHECK(w.of_pair[0][0].count > 1);
		CHECK_INT(run_batch(1, 3), 0);
		close_world();
	}
}

static bool noticed(void)
{
	for (uint64_t seed = 1; seed <= 30; seed++)
		if (run_batch(1, seed) != 0)
			return true;
	return false;
}

static void test_mutants(void)
{
	struct fb_kv_shape s = shape_of(2, 1, FB_KV_NHD, 11);
	int quiet = dup(STDERR_FILENO);

	if (quiet < 0 || !freopen("/dev/null", "w", stderr))
		abort();
	for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
		open_world(&s, modes[m], 2);
		emu.blind = EMU_BLIND_COUNTERS;
		CHECK(noticed());
		emu.blind = EMU_SEES;
		CHECK(!noticed());
		/* A piece that goes to where another belongs, and one that is left out. */
		w.piece[0][0][2].dst += 16;
		w.piece[2][0][2].dst += 16;
		CHECK(noticed());
		w.piece[0][0][2].dst -= 16;
		w.piece[2][0][2].dst -= 16;
		w.of_pair[0][0].count--;
		w.of_pair[2][0].count--;
		CHECK(noticed());
		close_world();
	}
	dup2(quiet, STDERR_FILENO);
	close(quiet);
}

/* Strips cover the runs, in order, and are as few as they have to be in NHD: one a block. */
static void test_strips(void)
{
	for (int layout = 0; layout < FB_KV_LAYOUTS; layout++) {
		struct fb_kv_shape s = shape_of(1, 4, layout, 38);
		const struct fb_kv_pair *pair;
		struct fb_kv_strip strip;
		uint32_t at = 0, strips = 0;

		open_world(&s, FB_KV_STRIDED, 1);
		pair = &w.job[0].plan.pair[1];
		for (; at < pair->runs; at += strip.rows, strips++) {
			fb_kv_strip_at(&w.job[0], pair, at, &strip);
			for (uint32_t i = 0; i < strip.rows && at + i < pair->runs; i++) {
				const struct fb_kv_run *run = &pair->run[at + i];

				CHECK_INT(run->src, strip.src + i * strip.src_pitch);
				CHECK_INT(run->dst, strip.dst + i * strip.dst_pitch);
				CHECK_INT(run->bytes, strip.bytes);
			}
		}
		CHECK_INT(at, pair->runs);
		CHECK(strips <= 10);
		CHECK(layout == FB_KV_HND || pair->runs == 38);
		close_world();
	}
}

int main(void)
{
	test_strips();
	test_modes();
	test_long();
	test_mutants();
	return check_done("kv_kernels");
}
