/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of a job's ranks, primed and checked. */
#ifndef FB_TESTS_CUDA_TURN_H
#define FB_TESTS_CUDA_TURN_H

#include "tests/cuda/job.h"

/*
 * One call of one rank between two launches of its own: one gives it fresh input, poisons its
 * output; the other checks what came out. Every call has data of its own, so that what an earlier
 * or a later one left in a slot is wrong here.
 */
struct job_turn {
	struct job *job;
	int rank, call;
};

static struct fb_data job_data(const struct job_turn *t)
{
	struct fb_data data = t->job->data;

	data.seed += (uint64_t)t->call;
	return data;
}

static void job_prime(const void *args, unsigned char *shared)
{
	const struct job_turn *t = args;
	const struct fb_data data = job_data(t);

	(void)shared;
	if (fb_thread() != 0)
		return;
	t->job->entered[t->rank] = t->call;
	fb_buffers_prime(&t->job->op, &data, t->rank);
}

/* A barrier has no data: nobody leaves it before all have come. */
static void job_look_around(const struct job_turn *t, struct fb_mismatch *bad)
{
	for (int r = 0; r < t->job->c.nranks; r++) {
		if (t->job->entered[r] >= t->call)
			continue;
		if (bad->errors++ > 0)
			continue;
		bad->index = (uint64_t)r;
		snprintf(bad->got, sizeof(bad->got), "not entered");
		snprintf(bad->expected, sizeof(bad->expected), "entered");
	}
}

static void job_check(const void *args, unsigned char *shared)
{
	const struct job_turn *t = args;
	const struct fb_data data = job_data(t);
	bool first = !t->job->bad.errors;

	(void)shared;
	if (fb_thread() != 0)
		return;
	if (t->job->whole && t->job->op.collective == FB_BARRIER)
		job_look_around(t, &t->job->bad);
	fb_buffers_check(&t->job->op, &data, t->rank, 1, &t->job->bad);
	if (first && t->job->bad.errors)
		snprintf(t->job->why, sizeof(t->job->why), "rank %d, call %d: element %llu is %s, "
			 "not %s", t->rank, t->call, (unsigned long long)t->job->bad.index,
			 t->job->bad.got, t->job->bad.expected);
}

/* The launch of one call of a rank; `fused`: by the fused kernel where there is one. */
static struct emu_launch job_launch(const struct job *j, int rank, bool fused)
{
	const struct job_rank *r = &j->ranks[rank];
	bool odd = fused && r->is_fused ? !(r->fused.flags & FB_GPU_ALIGNED) : r->table.odd;
	bool striped = j->shape.geometry.stripe && !odd;
	const struct emu_kernels *k =
		j->data.reduces && j->op.collective != FB_BARRIER
			? &emu_kernels[odd][j->c.datatype]
			: &emu_movers[odd];

	if (fused && r->is_fused)
		return (struct emu_launch){
			.kernel = j->c.protocol == FB_GPU_LL128 ? k->lines : k->exchange,
			.args = &r->fused, .blocks = 2, .threads = j->c.threads};
	return (struct emu_launch){.kernel = striped		 ? k->striped
					     : j->c.tma && !odd ? k->tma
								: k->by_protocol[j->c.protocol],
				   .args = &r->launch,
				   .blocks = (uint32_t)r->table.nblocks, .threads = j->c.threads};
}

#endif
