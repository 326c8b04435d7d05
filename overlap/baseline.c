/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computing alone and communicating alone, measured between the timed steps of a case, by turns.
 *
 * So the parts and the whole share what changes during a run: clocks, temperature, other people's
 * traffic. Like a sample, each is the maximum over ranks behind the harness's barrier.
 */
#include "overlap/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/measure/stats.h"
#include "common/run/run.h"

int fb_ddp_step(struct fb_ddp_instance *i, enum fb_schedule schedule, int calls)
{
	int err = FB_OK;

	if (i->device)
		return fb_gpu_step_run(i->step, schedule, calls);
	for (int call = 0; call < calls && !err; call++)
		err = fb_ddp_host_step(i, schedule);
	return err;
}

int fb_ddp_pack(const struct fb_ddp_instance *i, enum fb_schedule schedule)
{
	const struct fb_operation *op = &i->whole.op;
	int rank = i->state->collective->world->rank;
	size_t bytes = (size_t)op->count * fb_datatype_size(op->datatype);

	if (fb_schedule_computes(schedule))
		return FB_OK;
	if (i->device)
		return fb_gpu_step_pack(i->step);
	memcpy(fb_operation_out(op, rank), fb_operation_in(op, rank), bytes);
	return FB_OK;
}

/* Collective: one sample of a part. */
static int sample(struct fb_ddp_instance *i, enum fb_schedule part)
{
	struct fb_run *run = i->state->run;
	struct fb_ddp_baseline *b = &i->baseline[part];
	uint64_t start;
	double us;
	int err = fb_ddp_pack(i, part);

	if (!err && i->device)
		err = fb_gpu_step_ready(i->step, part, 1);
	if (err)
		return err;
	fb_barrier_wait(&run->barrier);
	start = fb_clock_ticks(&run->clock);
	err = fb_ddp_step(i, part, 1);
	us = fb_clock_seconds(&run->clock, fb_clock_ticks(&run->clock) - start) * 1e6;
	MPI_Allreduce(&us, &b->us[b->n++], 1, MPI_DOUBLE, MPI_MAX, run->world.comm);
	return err;
}

int fb_ddp_settle(void *instance)
{
	struct fb_ddp_instance *i = instance;
	enum fb_schedule part = i->turns % 2 ? FB_COMMUNICATE : FB_COMPUTE;
	bool fresh = i->fresh;

	i->fresh = false;
	if (fresh || i->schedule == FB_COMPUTE || i->schedule == FB_COMMUNICATE ||
	    i->baseline[part].n == FB_BASELINES)
		return FB_OK;
	i->turns++;
	return sample(i, part);
}

/* Median of the first n; of the row itself where it is that part. */
static double part_us(const struct fb_ddp_instance *i, enum fb_schedule part, double own_us)
{
	const struct fb_ddp_baseline *b = &i->baseline[part];
	double scratch[2 * FB_BASELINES];

	if (i->schedule == part)
		return own_us;
	return b->n ? fb_median(b->us, b->n, scratch) : (double)NAN;
}

void fb_ddp_summarise(void *instance, const double *samples_us, size_t n,
		      struct fb_traits *traits)
{
	struct fb_ddp_instance *i = instance;
	double *scratch = n ? malloc(2 * n * sizeof(*scratch)) : NULL;
	double us, compute, communication;

	if (!scratch)
		return;
	us = fb_median(samples_us, n, scratch);
	free(scratch);
	compute = part_us(i, FB_COMPUTE, us);
	communication = part_us(i, FB_COMMUNICATE, us);
	traits->extra[FB_COMPUTE_US] = compute;
	traits->extra[FB_COMMUNICATION_US] = communication;
	traits->extra[FB_COMPUTE_TFLOPS] = fb_ddp_flop(i) / compute * 1e-6;
	if (i->schedule != FB_SEQUENTIAL && i->schedule != FB_OVERLAP)
		return;
	traits->extra[FB_EXPOSED_US] = us - compute;
	traits->extra[FB_HIDDEN] = 1 - (us - compute) / communication;
	/* Nothing is faster than the longer of the two with the other hidden behind it. */
	traits->bound_us = fmax(compute, communication);
}
