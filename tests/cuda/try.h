/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases tried on emulated ranks: several calls, each checked; what is wrong is described. */
#ifndef FB_TESTS_CUDA_TRY_H
#define FB_TESTS_CUDA_TRY_H

#include "tests/cuda/turn.h"
#include "tests/unit/check.h"

enum { CALLS = 3, MIXED_CALLS = 100 };

/* Sanitizers make switching dear, and the code is the same: a part of the cases. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { EVERY = 16 };
#else
enum { EVERY = 1 };
#endif

static const struct {
	const char *name;
	enum fb_gpu_protocol protocol;
	bool direct, tma;
} protocols[] = {
	{"simple", FB_GPU_SIMPLE, false, false}, {"direct", FB_GPU_SIMPLE, true, false},
	{"ll8", FB_GPU_LL8, false, false},	 {"ll16", FB_GPU_LL16, false, false},
	{"ll128", FB_GPU_LL128, false, false},	 {"tma", FB_GPU_SIMPLE, true, true},
};
enum { PROTOCOLS = sizeof(protocols) / sizeof(protocols[0]) };

static void describe(const struct job_case *c, const char *what)
{
	printf("\t%s %s %s n=%d channels=%d root=%d in_place=%d %s %s count=%llu slots=%u of %u "
	       "bytes, epoch %llu: %s\n",
	       fb_collective_info(c->algorithm->collective)->name, c->algorithm->name,
	       c->tma	   ? "tma"
	       : c->striped ? "striped"
	       : c->direct ? "direct"
			   : protocols[c->protocol ? c->protocol + 1 : 0].name, c->nranks,
	       c->channels, c->root, c->in_place, fb_datatype_name(c->datatype),
	       fb_redop_name(c->redop), (unsigned long long)c->count, c->tuning.slots,
	       c->tuning.slot_bytes, (unsigned long long)c->epoch, what);
}

/* A rank's stream: three launches a call. */
struct stream {
	struct emu_launch launches[3 * MIXED_CALLS];
	struct job_turn turns[MIXED_CALLS];
	int calls;
};

static struct stream streams[JOB_MOST];

static void add_call(int rank, struct job *j, int call, bool fused)
{
	struct stream *s = &streams[rank];
	struct job_turn *turn = &s->turns[s->calls];
	struct emu_launch *l = &s->launches[3 * s->calls++];

	*turn = (struct job_turn){.job = j, .rank = rank, .call = call};
	l[0] = (struct emu_launch){.kernel = job_prime, .args = turn, .blocks = 1, .threads = 1};
	l[1] = job_launch(j, rank, fused);
	l[2] = (struct emu_launch){.kernel = job_check, .args = turn, .blocks = 1, .threads = 1};
}

/* Runs what was added. False for a deadlock. */
static bool run_streams(int nranks, uint64_t seed)
{
	emu.nranks = nranks;
	for (int r = 0; r < nranks; r++) {
		emu.ranks[r].stream = streams[r].launches;
		emu.ranks[r].launches = 3 * streams[r].calls;
		emu.ranks[r].next = 0;
		streams[r].calls = 0;
	}
	return emu_run(seed);
}

/* All ranks make `calls` calls, each checked. Errors, or -1 for a deadlock. */
static long run_job(struct job *j, int calls, bool fused, uint64_t seed)
{
	j->bad = (struct fb_mismatch){0};
	j->whole = true;
	memset(j->entered, -1, sizeof(j->entered));
	for (int r = 0; r < j->c.nranks; r++)
		for (int i = 0; i < calls; i++)
			add_call(r, j, i, fused);
	if (!run_streams(j->c.nranks, seed))
		return -1;
	return (long)j->bad.errors;
}

static void try_case(const struct job_case *c, uint64_t seed)
{
	static struct job j;
	long errors;

	if (!CHECK_INT(job_open(&j, c), FB_OK)) {
		describe(c, "not built");
		job_close(&j);
		return;
	}
	for (int fused = 0; fused <= (j.ranks[0].is_fused ? 1 : 0); fused++) {
		/* Each way has its own epochs: it is the first for its blocks. */
		job_reset(&j);
		errors = run_job(&j, CALLS, fused, seed + (uint64_t)fused);
		if (!check_that(errors == 0, c->algorithm->name, __FILE__, __LINE__))
			describe(c, errors < 0 ? "deadlock" : j.why);
		if (errors)
			break;
	}
	job_close(&j);
}

static bool possible(const struct job_case *c)
{
	static const int node_of[] = {0, 0, 1, 1}, local_rank_of[] = {0, 1, 0, 1};
	const struct fb_topology two = {.nranks = 4, .nnodes = 2, .node_of = node_of,
					.local_rank_of = local_rank_of};
	const struct fb_shape shape = {
		.collective = c->algorithm->collective, .nranks = c->nranks, .root = c->root,
		.in_place = c->in_place, .nchannels = c->channels,
		.topology = c->nodes ? &two : NULL};
	unsigned bit = c->direct ? FB_DIRECT_PROTOCOL : FB_FIFO_PROTOCOLS;
	char why[256];

	return fb_algorithm_can(c->algorithm, &shape, why, sizeof(why)) &&
	       (!c->algorithm->protocols || (c->algorithm->protocols & bit));
}

#endif
