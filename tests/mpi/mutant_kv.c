/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks: 2 3
 *
 * kv_reshard with engines that are wrong, to prove that verification catches them: mover shm,
 * and copies of it with plans that have one mistake each. tests/kvtransfer/kv_reshard.sh runs them
 * all and wants every row to say `wrong`; run as a test by itself it uses the right one only.
 */
#include "kvtransfer/program.h"

#include <stddef.h>

#include "common/base/error.h"

static struct fb_kv_engine_ops right;

/* The pair in the middle of this rank's list, and the run in its middle; NULL: it has none. */
static struct fb_kv_run *middle(const struct fb_kv_job *job, bool sends)
{
	const struct fb_kv_pair *found = NULL;

	for (uint32_t p = 0; p < job->plan.pairs; p++) {
		const struct fb_kv_pair *pair = &job->plan.pair[p];

		if ((sends ? fb_kv_sender(job, pair) : fb_kv_receiver(job, pair)) == job->rank)
			found = pair;
	}
	return found ? &found->run[found->runs / 2] : NULL;
}

/* From a token too far: another one's, or a canary. */
static int prepare_source(struct fb_kv_engine *engine, const struct fb_kv_job *job,
			  struct fb_kv_request **request)
{
	struct fb_kv_run *run = middle(job, true);

	if (run)
		run->src += fb_kv_row(&job->plan.shape);
	return right.prepare(engine, job, request);
}

/* To a page that is not the request's: the only mistake is in a canary and in what is missing. */
static int prepare_target(struct fb_kv_engine *engine, const struct fb_kv_job *job,
			  struct fb_kv_request **request)
{
	for (int sends = 0; sends < 2; sends++) {
		struct fb_kv_run *run = middle(job, sends);
		uint32_t page = 0;

		while (job->plan.inverse[FB_KV_DECODE][page] >= 0)
			page++;
		if (run)
			run->dst = fb_kv_offset(&job->plan.shape, FB_KV_DECODE, page, 0, 0);
	}
	return right.prepare(engine, job, request);
}

/* The last bytes of a run are left out. */
static int prepare_short(struct fb_kv_engine *engine, const struct fb_kv_job *job,
			 struct fb_kv_request **request)
{
	for (int sends = 0; sends < 2; sends++) {
		struct fb_kv_run *run = middle(job, sends);

		if (run)
			run->bytes -= job->plan.shape.element_bytes;
	}
	return right.prepare(engine, job, request);
}

static struct fb_kv_engine_ops mutants[] = {
	{.name = "source", .summary = "takes a token too far", .prepare = prepare_source},
	{.name = "target", .summary = "writes to another's page", .prepare = prepare_target},
	{.name = "short", .summary = "leaves bytes out", .prepare = prepare_short},
};

enum { MUTANTS = sizeof(mutants) / sizeof(mutants[0]) };

static const struct fb_default defaults[] = {
	{"bytes", "0"}, {"datatype", "bf16"}, {"algorithm", "all"}, {"engine", "shm"},
	{"max-time", "5ms"}, {NULL, NULL},
};

int main(int argc, char **argv)
{
	const struct fb_kv_engine_ops *engines[MUTANTS + 1] = {NULL};

	right = fb_kv_over(&fb_mover_shm);
	for (int m = 0; m < MUTANTS; m++) {
		struct fb_kv_engine_ops mutant = right;

		mutant.name = mutants[m].name;
		mutant.summary = mutants[m].summary;
		mutant.prepare = mutants[m].prepare;
		mutants[m] = mutant;
		engines[m] = &mutants[m];
	}
	return fb_kv_main(engines, defaults, argc, argv);
}
