/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks: 2 3
 *
 * kv_reshard with plans that have one mistake each, to prove that verification catches them.
 * tests/kvtransfer/kv_reshard.sh runs all mistakes (FB_KV_MISTAKE) and wants every row to say
 * `wrong`; run as a test by itself it has none.
 */
#include <stdlib.h>
#include <string.h>

#include "kvtransfer/handoff/handoff.h"

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
static void source(struct fb_kv_job *job)
{
	struct fb_kv_run *run = middle(job, true);

	if (run)
		run->src += fb_kv_row(&job->plan.shape);
}

/* To a page that is not the request's: the only mistake is in a canary and in what is missing. */
static void target(struct fb_kv_job *job)
{
	for (int sends = 0; sends < 2; sends++) {
		struct fb_kv_run *run = middle(job, sends);
		uint32_t page = 0;

		while (job->plan.inverse[FB_KV_DECODE][page] >= 0)
			page++;
		if (run)
			run->dst = fb_kv_offset(&job->plan.shape, FB_KV_DECODE, 0, page,
						0, 0);
	}
}

/* The last bytes of a run are left out. */
static void cut(struct fb_kv_job *job)
{
	for (int sends = 0; sends < 2; sends++) {
		struct fb_kv_run *run = middle(job, sends);

		if (run)
			run->bytes -= job->plan.shape.element_bytes;
	}
}

static const struct {
	const char *name;
	void (*spoil)(struct fb_kv_job *job);
} mistakes[] = {{"source", source}, {"target", target}, {"short", cut}};

int main(int argc, char **argv)
{
	static const struct fb_default defaults[] = {
		{"bytes", "0"}, {"datatype", "bf16"}, {"algorithm", "all"}, {"engine", "shm"},
		{"max-time", "5ms"}, {NULL, NULL}};
	struct fb_handoff_name name = fb_handoff_kv_reshard;
	const char *mistake = getenv("FB_KV_MISTAKE");

	name.defaults = defaults;
	for (size_t m = 0; m < sizeof(mistakes) / sizeof(mistakes[0]); m++)
		if (mistake && !strcmp(mistake, mistakes[m].name))
			name.spoil = mistakes[m].spoil;
	return fb_handoff_main(&name, argc, argv);
}
