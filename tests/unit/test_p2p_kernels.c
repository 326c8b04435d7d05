/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of the point-to-point engine cuda without a GPU, on emulated ranks: windows of
 * messages of every verb and pattern, ping-pong of both protocols, several calls back to back,
 * sizes around every boundary, from random interleavings; counters beyond 2^32 rounds; and
 * launches broken on purpose, which have to be noticed.
 */
#include "common/base/error.h"
#include "common/memory/segment.h"
#include "tests/cuda/emulator.h"
/* On top of the emulator. */
#include "p2p/engine/cuda/build.h"
#include "p2p/engine/cuda/move.h"
#include "tests/cuda/scheduler.h"
#include "tests/unit/check.h"

enum { RANKS = 4, CALLS = 3, MOST_FLOWS = 12 };

struct world {
	struct fb_segment segment, links;
	char *parts[RANKS], *link_parts[RANKS];
	int part_of[RANKS];
	struct fb_flow flows[MOST_FLOWS];
	struct fb_job job;
	struct fb_data data;
	struct fb_p2p_window window[RANKS];
	struct fb_p2p_ping_pong ping_pong[RANKS];
	struct fb_p2p_shape shape[RANKS];
	bool acts[RANKS];
	struct fb_mismatch bad;
};

static struct world w;
static const uint32_t *near; /* [RANKS]: where ranks get small messages */

static void run_window(const void *args, unsigned char *shared)
{
	(void)shared;
	fb_p2p_run_window(args);
}

static void run_direct(const void *args, unsigned char *shared)
{
	(void)shared;
	fb_p2p_run_ping_pong(args, false);
}

static void run_ll(const void *args, unsigned char *shared)
{
	(void)shared;
	fb_p2p_run_ping_pong(args, true);
}

/* Behind a rank's calls, as its host would check them, while others may still run. */
static void check_rank(const void *args, unsigned char *shared)
{
	(void)shared;
	fb_job_check(&w.job, &w.data, *(const int *)args, &w.bad);
}

static char *zeroed(size_t bytes)
{
	char *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	if (!memory)
		abort();
	memset(memory, 0, bytes);
	return memory;
}

static void open_world(enum fb_pattern pattern, enum fb_verb verb, uint64_t bytes, int window,
		       const int (*pairs)[2], int npairs)
{
	memset(&w, 0, sizeof(w));
	w.job = (struct fb_job){.pattern = pattern, .verb = verb, .flows = w.flows,
				.nflows = npairs, .window = window, .bytes = bytes,
				.rounds = pattern == FB_PING_PONG ? 4 : 1,
				.base = FB_JOB_HEADER, .segment = &w.segment};
	w.data = (struct fb_data){.seed = 11, .type = FB_U8, .op = FB_SUM, .nranks = RANKS};
	for (int f = 0; f < npairs; f++)
		w.flows[f] = (struct fb_flow){.src = pairs[f][0], .dst = pairs[f][1]};
	w.segment = (struct fb_segment){.nparts = RANKS, .part_of = w.part_of, .parts = w.parts,
					.ops = &fb_memory_host};
	w.links = (struct fb_segment){.nparts = RANKS, .part_of = w.part_of,
				      .parts = w.link_parts, .ops = &fb_memory_host};
	w.segment.part_bytes = fb_job_layout(&w.job);
	for (int r = 0; r < RANKS; r++) {
		w.part_of[r] = r;
		w.parts[r] = zeroed(w.segment.part_bytes);
		w.link_parts[r] = zeroed(FB_P2P_LINKS_BYTES);
	}
}

static void close_world(void)
{
	for (int r = 0; r < RANKS; r++) {
		free(w.parts[r]);
		free(w.link_parts[r]);
	}
}

static void build_for(bool ll, uint64_t channels, uint64_t threads)
{
	const struct fb_p2p_limits limits = {.channels = channels, .threads = threads, .sms = 8};

	for (int r = 0; r < RANKS; r++) {
		const struct fb_p2p_view view = {&w.job, &w.links, r, ll, near};

		fb_p2p_choose_shape(&view, &limits, &w.shape[r]);
		for (int f = 0; f < w.job.nflows; f++) {
			const struct fb_flow *flow = &w.job.flows[f];

			w.acts[r] |= w.job.verb == FB_SEND ? flow->src == r || flow->dst == r
							   : fb_job_origin(&w.job, flow) == r;
		}
		if (w.job.pattern != FB_PING_PONG)
			fb_p2p_build_window(&view, &w.shape[r], &w.window[r]);
		else if (w.acts[r])
			fb_p2p_build_ping_pong(&view, &w.ping_pong[r]);
	}
}

static void build(bool ll, uint64_t channels)
{
	build_for(ll, channels, 16);
}

/* `calls` calls back to back on every rank, each rank checked behind its own; errors or -1. */
static long run_batch(bool ll, int calls, uint64_t seed)
{
	static struct emu_launch launches[RANKS][CALLS + 1];
	static const int ranks[RANKS] = {0, 1, 2, 3};
	bool ping_pong = w.job.pattern == FB_PING_PONG, finished;

	w.bad = (struct fb_mismatch){0};
	emu.nranks = RANKS;
	for (int r = 0; r < RANKS; r++) {
		int n = 0;

		fb_job_prime(&w.job, &w.data, r);
		for (int i = 0; i < calls && w.acts[r]; i++)
			launches[r][n++] = (struct emu_launch){
				.kernel = !ping_pong ? run_window : ll ? run_ll : run_direct,
				.args = ping_pong ? (const void *)&w.ping_pong[r]
						  : (const void *)&w.window[r],
				.blocks = w.shape[r].blocks, .threads = w.shape[r].threads};
		/* The passive end of put and get takes no part, so it is checked at the end. */
		if (w.job.verb == FB_SEND)
			launches[r][n++] = (struct emu_launch){
				.kernel = check_rank, .args = &ranks[r], .blocks = 1, .threads = 1};
		emu.ranks[r].stream = launches[r];
		emu.ranks[r].launches = n;
		emu.ranks[r].next = 0;
	}
	finished = emu_run(seed);
	for (int r = 0; r < RANKS && finished; r++)
		fb_job_check(&w.job, &w.data, r, &w.bad);
	return finished ? (long)w.bad.errors : -1;
}

static const int one[][2] = {{2, 1}}, both[][2] = {{0, 3}, {3, 0}};
static const int in[][2] = {{1, 0}, {2, 0}, {3, 0}}, out[][2] = {{3, 0}, {3, 1}, {3, 2}};
static const int pairs[][2] = {{0, 1}, {2, 3}, {1, 0}, {3, 2}};

static const struct {
	enum fb_pattern pattern;
	const int (*pairs)[2];
	int n;
} patterns[] = {
	{FB_ONE_WAY, one, 1}, {FB_TWO_WAY, both, 2}, {FB_FAN_IN, in, 3}, {FB_FAN_OUT, out, 3},
	{FB_TWO_WAY, pairs, 4},
};

static void test_windows(void)
{
	static const uint64_t sizes[] = {1, 8, 24, 500, 513, 4099, 70001};
	uint64_t seed = 1;

	for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++)
		for (int verb = 0; verb < FB_VERBS; verb++)
			for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
				int window = sizes[s] > 5000 ? 2 : 5;

				open_world(patterns[p].pattern, (enum fb_verb)verb, sizes[s],
					   window, patterns[p].pairs, patterns[p].n);
				build(false, 1 + seed % 3);
				for (int calls = 1; calls <= CALLS; calls += 2)
					CHECK_INT(run_batch(false, calls, seed++), 0);
				close_world();
			}
}

static void test_ping_pong(void)
{
	static const uint64_t sizes[] = {1, 7, 8, 9, 16, 100, 1001, 5000};
	static const uint64_t warp_sizes[] = {1, 8, 9, 100, 8 * FB_WARP, 8 * FB_WARP + 1};
	uint64_t seed = 1;

	for (int ll = 0; ll < 2; ll++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			open_world(FB_PING_PONG, FB_SEND, sizes[s], 1, both, 2);
			/* Rounds so far: flags of 32 bits wrap around within the next ones. */
			for (int r = 0; r < RANKS && ll; r++)
				*(uint64_t *)(void *)w.link_parts[r] = (1u << 30) - 2;
			build(ll, 1);
			for (int calls = 1; calls <= CALLS; calls++)
				CHECK_INT(run_batch(ll, calls, seed++), 0);
			close_world();
		}
	/* One warp and no more: up to a line for each of its threads, and beyond. */
	for (size_t s = 0; s < sizeof(warp_sizes) / sizeof(warp_sizes[0]); s++) {
		open_world(FB_PING_PONG, FB_SEND, warp_sizes[s], 1, both, 2);
		for (int r = 0; r < RANKS; r++)
			*(uint64_t *)(void *)w.link_parts[r] = (1u << 30) - 2;
		build_for(true, 1, FB_WARP);
		for (int calls = 1; calls <= CALLS; calls++)
			CHECK_INT(run_batch(true, calls, seed++), 0);
		close_world();
	}
	/* A message moved by several blocks. */
	for (uint64_t channels = 2; channels <= 4; channels++) {
		open_world(FB_PING_PONG, FB_SEND, 9000, 1, both, 2);
		build(false, channels);
		CHECK_INT(w.shape[0].blocks, channels);
		for (int calls = 1; calls <= CALLS; calls++)
			CHECK_INT(run_batch(false, calls, channels), 0);
		close_world();
	}
}

/* Ranks that wait at pages of their own choice, the last of which is the end of the links. */
static void test_near(void)
{
	static const uint64_t sizes[] = {1, 8, 100, 2047, 2048, 2049, 5000};
	static const uint32_t chosen[RANKS] = {
		FB_P2P_LINKS_NEAR, 0, 0,
		FB_P2P_LINKS_NEAR + (FB_P2P_NEAR_PAGES - 1) * FB_P2P_PAGE,
	};
	uint64_t seed = 1;

	near = chosen;
	for (int ll = 0; ll < 2; ll++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			bool there = !ll || sizes[s] <= 2048;

			open_world(FB_PING_PONG, FB_SEND, sizes[s], 1, both, 2);
			build(ll, ll ? 1 : 2);
			CHECK_INT(w.ping_pong[0].in - (uintptr_t)w.link_parts[0] ==
					  FB_P2P_LINKS_NEAR, there);
			CHECK_INT(w.ping_pong[0].out - (uintptr_t)w.link_parts[3] ==
					  FB_P2P_LINKS_BYTES - FB_P2P_PAGE, there);
			for (int calls = 1; calls <= CALLS; calls++)
				CHECK_INT(run_batch(ll, calls, seed++), 0);
			close_world();
		}
	near = NULL;
}

/* Whether any of some interleavings shows what is wrong. */
static bool noticed(bool ll)
{
	/* Where there are several calls, the later ones write the same bytes once more. */
	for (uint64_t seed = 1; seed <= 50; seed++)
		if (run_batch(ll, 1, seed) != 0)
			return true;
	return false;
}

static void test_mutants(void)
{
	/* Not waiting. */
	for (int ll = 0; ll < 2; ll++) {
		open_world(FB_PING_PONG, FB_SEND, 1000, 1, both, 2);
		w.job.rounds = 1;
		build(ll, 1);
		emu.blind = EMU_BLIND_FLAGS | EMU_BLIND_COUNTERS;
		CHECK(noticed(ll));
		emu.blind = EMU_SEES;
		close_world();
	}
	/* One line by itself, and some of a warp. */
	for (uint64_t bytes = 8; bytes <= 100; bytes += 92) {
		open_world(FB_PING_PONG, FB_SEND, bytes, 1, both, 2);
		w.job.rounds = 1;
		build_for(true, 1, FB_WARP);
		emu.blind = EMU_BLIND_FLAGS;
		CHECK(noticed(true));
		emu.blind = EMU_SEES;
		CHECK(!noticed(true));
		/* Waiting at another page than the one that the message comes to. */
		w.ping_pong[0].in += FB_P2P_PAGE;
		CHECK(noticed(true));
		close_world();
	}
	open_world(FB_FAN_IN, FB_SEND, 5000, 2, in, 3);
	build(false, 3);
	emu.blind = EMU_BLIND_COUNTERS;
	CHECK(noticed(false));
	emu.blind = EMU_SEES;
	CHECK(!noticed(false));
	/* Waiting for one block of three, and for one flow less. */
	w.window[0].in_blocks = 1;
	CHECK(noticed(false));
	w.window[0].in_blocks = 3;
	w.window[0].nin = 2;
	CHECK(noticed(false));
	w.window[0].nin = 3;
	/* A message that is left out, and one that goes where another belongs. */
	w.window[1].window = 1;
	CHECK(noticed(false));
	w.window[1].window = 2;
	w.window[1].out[0].to += 1;
	CHECK(noticed(false));
	close_world();
}

/* Blocks and threads that follow from sizes and from the limits that a user sets. */
static void test_shape(void)
{
	const struct fb_p2p_limits free_choice = {.sms = 132}, small = {.sms = 16};
	const struct fb_p2p_limits requested = {.channels = 4, .threads = 96, .sms = 132};
	struct fb_p2p_shape shape;
	struct fb_p2p_view view = {&w.job, &w.links, 0, false, NULL};

	open_world(FB_ONE_WAY, FB_PUT, 1 << 20, 4, one, 1);
	fb_p2p_choose_shape(&view, &free_choice, &shape);
	CHECK_INT(shape.movers, 32);
	CHECK_INT(shape.threads, 512);
	fb_p2p_choose_shape(&view, &small, &shape);
	CHECK_INT(shape.movers, 16);
	fb_p2p_choose_shape(&view, &requested, &shape);
	CHECK_INT(shape.movers, 4);
	CHECK_INT(shape.threads, 96);
	close_world();
	open_world(FB_PING_PONG, FB_SEND, 8, 1, both, 2);
	fb_p2p_choose_shape(&view, &free_choice, &shape);
	CHECK_INT(shape.movers, 1);
	CHECK_INT(shape.threads, 32);
	w.job.bytes = 1 << 20;
	fb_p2p_choose_shape(&view, &free_choice, &shape);
	CHECK_INT(shape.movers, 32);
	view.ll = true;
	fb_p2p_choose_shape(&view, &free_choice, &shape);
	CHECK_INT(shape.movers, 1);
	CHECK_INT(shape.threads, 512);
	close_world();
}

int main(void)
{
	test_shape();
	test_windows();
	test_ping_pong();
	test_near();
	test_mutants();
	return check_done("p2p_kernels");
}
