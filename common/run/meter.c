/* SPDX-License-Identifier: BSD-3-Clause */
/* The state that all measurements of a run share; see measure.h. */
#include "common/base/error.h"
#include "common/run/measure.h"
#include "common/system/launcher.h"

#include <math.h>
#include <stdlib.h>

static const double long_row_s = 10; /* a shorter row is measured to its end */

/* MPI_User_function: see struct fb_times. */
static void combine_times(void *in, void *inout, int *count, MPI_Datatype *type)
{
	const struct fb_times *a = in;
	struct fb_times *b = inout;

	(void)type;
	for (int i = 0; i < *count; i++) {
		b[i].max = fmax(a[i].max, b[i].max);
		b[i].min = fmin(a[i].min, b[i].min);
		b[i].sum += a[i].sum;
		b[i].ranks += a[i].ranks;
		b[i].last_start = fmax(a[i].last_start, b[i].last_start);
		b[i].first_start = fmin(a[i].first_start, b[i].first_start);
		b[i].last_end = fmax(a[i].last_end, b[i].last_end);
	}
}

int fb_meter_open(struct fb_meter *meter)
{
	const struct fb_sampler_config config = {
		.ci = meter->settings->ci,
		.min_samples = meter->settings->min_samples,
		.max_samples = meter->settings->max_samples,
		.max_time_s = meter->settings->max_time_s,
		.whole_time = meter->settings->whole_time,
	};
	int err = FB_OK;

	meter->block = calloc(2 * FB_METER_BLOCK, sizeof(*meter->block));
	if (!meter->block)
		err = fb_error(FB_ENOMEM, "out of memory for a block of samples");
	if (!err && meter->world->rank == 0)
		err = fb_sampler_open(&meter->sampler, &config);
	if (!err && meter->settings->raw_ranks)
		err = fb_rank_times_open(&meter->ranks, meter->world, FB_METER_BLOCK);
	err = fb_group_agree(meter->world, err);
	if (err) {
		fb_rank_times_close(&meter->ranks);
		fb_sampler_close(&meter->sampler);
		free(meter->block);
		return err;
	}
	meter->reduced = meter->block + FB_METER_BLOCK;
	meter->work_s = 0;
	fb_cpu_time_open(&meter->cpu);
	meter->reads_cpu = false;
	/* Recent, so that begins in us keep their digits; the same on all ranks if one_clock. */
	meter->epoch = fb_clock_ticks(meter->clock);
	if (meter->one_clock)
		MPI_Bcast(&meter->epoch, 1, MPI_UINT64_T, 0, meter->world->comm);
	MPI_Type_contiguous(sizeof(struct fb_times) / sizeof(double), MPI_DOUBLE,
			    &meter->times_type);
	MPI_Type_commit(&meter->times_type);
	MPI_Op_create(combine_times, 1, &meter->times_op);
	return FB_OK;
}

void fb_meter_close(struct fb_meter *meter)
{
	if (!meter->block)
		return;
	MPI_Op_free(&meter->times_op);
	MPI_Type_free(&meter->times_type);
	fb_rank_times_close(&meter->ranks);
	fb_sampler_close(&meter->sampler);
	free(meter->block);
	meter->block = NULL;
}

struct fb_sample fb_meter_sample(const struct fb_meter *m, const struct fb_times *all, int calls)
{
	return (struct fb_sample){
		.max = m->one_clock ? (all->last_end - all->first_start) / calls : all->max,
		.min = all->min,
		.mean = all->sum / all->ranks,
		.skew = all->last_start - all->first_start,
	};
}

bool fb_meter_cuts(struct fb_meter *meter, double elapsed_s)
{
	meter->cut = elapsed_s >= long_row_s && meter->sampler.n > 0 && fb_launcher_ends();
	if (meter->cut)
		meter->sampler.stop = FB_STOP_TIME;
	return meter->cut;
}
