/* SPDX-License-Identifier: BSD-3-Clause */
/* What a row says of its requests; see stream.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvtransfer/stream/stream.h"

/*
 * Whether the exposed time is within 10% of the recursion: by its interval, which may lie within
 * these limits, beyond them, or across one of them. Between hosts the clocks' error may be in it,
 * and in the parts: the whole transfer, and the transfers of the layer at which the transfers in a
 * row begin, and of the first layer.
 */
static void judge_model(const double *value, struct fb_traits *traits)
{
	double error_us = value[FB_STREAM_CLOCK_ERROR_US];
	double slack = isnan(error_us) ? 0 : error_us * 4;
	double least = value[FB_STREAM_MODEL_US] * 0.9, most = value[FB_STREAM_MODEL_US] * 1.1;
	double low = value[FB_STREAM_EXPOSED_LOW_US] - slack;
	double high = value[FB_STREAM_EXPOSED_HIGH_US] + slack;

	if (low > most || high < least)
		fb_traits_flag(traits, "off-recursion");
	else if (!(low >= least && high <= most))
		fb_traits_flag(traits, "undecided");
}

/* Exposed times of all calls, and the longest computing, over ranks. Collective. */
static void put_exposed(struct fb_stream *s, double *value)
{
	int n = (int)s->calls;
	double *exposed = calloc(s->calls + 1, sizeof(*exposed)), compute = 0;
	double interval[3] = {NAN, NAN, NAN};

	for (int k = 0; k < n; k++)
		for (int m = 0; m < 2; m++)
			if (isfinite(s->call[k][m]))
				s->call[k][m] = fb_handoff_global(s->base, s->call[k][m]);
	MPI_Allreduce(MPI_IN_PLACE, s->call, 3 * n, MPI_DOUBLE, MPI_MAX,
		      fb_stream_mover(s)->group->comm);
	for (int k = 0; k < n && exposed; k++) {
		exposed[k] = (s->call[k][1] - s->call[k][0]) * 1e6;
		compute += s->call[k][2] / n;
	}
	if (exposed)
		fb_handoff_interval(exposed, s->calls, interval);
	if (isnan(fb_handoff_known(s->base, interval[0], FB_ENDS_BOTH)))
		interval[0] = interval[1] = interval[2] = (double)NAN;
	memcpy(&value[FB_STREAM_EXPOSED_US], interval, sizeof(interval));
	value[FB_STREAM_SLOWDOWN] = compute / s->compute_s;
	free(exposed);
}

/* Rates of computing alone, and their shares of what is possible; row's rank has a computer. */
static void put_rates(const struct fb_stream *s, double *v)
{
	struct fb_kv_cost prompt = {0, 0}, step = {0, 0};
	const struct fb_kv_batch others = fb_stream_others(s);
	double layers = s->model->layers;

	if (!s->compute)
		return;
	for (uint32_t done = 0; done < s->tokens; done += FB_KV_CHUNK) {
		const struct fb_kv_batch batch = fb_stream_chunk(s, done);
		const struct fb_kv_cost chunk = fb_kv_layer_cost(s->compute, &batch);

		prompt.flop += chunk.flop * layers / s->compute_s;
		prompt.bytes += chunk.bytes * layers / s->compute_s;
	}
	v[FB_STREAM_PEAK_TFLOPS] = s->peak[0].flop * 1e-12;
	v[FB_STREAM_PEAK_GBPS] = s->peak[0].bytes * 1e-9;
	v[FB_STREAM_PREFILL_TFLOPS] = prompt.flop * 1e-12;
	v[FB_STREAM_PREFILL_FLOP_SHARE] = prompt.flop / s->peak[0].flop;
	v[FB_STREAM_PREFILL_BYTE_SHARE] = prompt.bytes / s->peak[0].bytes;
	if (!s->others)
		return;
	step = fb_kv_layer_cost(s->compute, &others);
	v[FB_STREAM_DECODE_TFLOPS] = step.flop * layers / s->step_s * 1e-12;
	v[FB_STREAM_DECODE_GBPS] = step.bytes * layers / s->step_s * 1e-9;
	v[FB_STREAM_DECODE_FLOP_SHARE] = step.flop * layers / s->step_s / s->peak[1].flop;
	v[FB_STREAM_DECODE_BYTE_SHARE] = step.bytes * layers / s->step_s / s->peak[1].bytes;
}

void fb_stream_describe(void *instance, struct fb_traits *traits)
{
	struct fb_stream *s = instance;
	double *v = traits->extra, model_s = (double)NAN, steps[2];
	double ignored[FB_HANDOFF_COLUMNS] = {0};
	char text[128] = "";
	size_t used;
	struct fb_handoff_clock said;

	/* The handoff's columns are not this program's. */
	traits->extra = ignored;
	fb_handoff_describe(s->base, traits);
	traits->extra = v;
	said = s->base->clock; /* what the row has flags of already */
	v[FB_STREAM_CLOCK_ERROR_US] = ignored[FB_HANDOFF_CLOCK_ERROR_US];
	v[FB_STREAM_QUANTISE_ERROR] = ignored[FB_HANDOFF_QUANTISE_ERROR];
	v[FB_STREAM_COMPUTE_US] = s->compute_s * 1e6;
	v[FB_STREAM_TRANSFER_US] = s->transfer_s * 1e6;
	if (s->layerwise)
		model_s = fb_stream_recursion(s->computed_s, s->layer_s, s->transfer_s,
					      s->model->layers);
	v[FB_STREAM_MODEL_US] = model_s * 1e6;
	v[FB_STREAM_AFTER_US] = s->after_s * 1e6;
	put_exposed(s, v);
	if (s->base->clock.unknown && !said.unknown)
		fb_traits_flag(traits, "clock-error");
	if (s->base->clock.wrong && !said.wrong)
		fb_traits_flag(traits, "clock-wrong");
	v[FB_STREAM_OVER_MODEL] = v[FB_STREAM_EXPOSED_US] / v[FB_STREAM_MODEL_US];
	if (!isnan(v[FB_STREAM_OVER_MODEL]))
		judge_model(v, traits);
	v[FB_STREAM_HIDDEN] = 1 - v[FB_STREAM_EXPOSED_US] / v[FB_STREAM_TRANSFER_US];
	steps[0] = s->steps_s;
	steps[1] = (double)s->steps;
	MPI_Bcast(steps, 2, MPI_DOUBLE, 1, fb_stream_mover(s)->group->comm);
	if (s->others && steps[1] > 0) {
		v[FB_STREAM_TPOT_ALONE_US] = s->step_s * 1e6;
		v[FB_STREAM_TPOT_US] = steps[0] / steps[1] * 1e6;
		v[FB_STREAM_TPOT_PRICE] = steps[0] / steps[1] / s->step_s - 1;
	}
	put_rates(s, v);
	if (s->compute)
		fb_kv_compute_describe(s->compute, text, sizeof(text));
	used = strlen(traits->path);
	snprintf(traits->path + used, sizeof(traits->path) - used, "; %s", text);
	traits->bound_us = (double)NAN;
}

void fb_stream_summarise(void *instance, const double *samples_us, size_t n,
			 struct fb_traits *traits)
{
	const struct fb_stream *s = instance;
	double interval[3] = {NAN, NAN, NAN};

	fb_handoff_interval(samples_us, n, interval);
	traits->extra[FB_STREAM_GAIN] = s->after_s * 1e6 / interval[0];
}
