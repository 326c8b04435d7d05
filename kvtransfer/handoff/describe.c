/* SPDX-License-Identifier: BSD-3-Clause */
/* What a row says of its requests; see handoff.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/measure/stats.h"
#include "common/record/timeline.h"
#include "kvtransfer/handoff/fit.h"

enum { MIN_P90 = 50, MIN_P999 = 10000 };

void fb_handoff_interval(const double *x, size_t n, double value[3])
{
	double *scratch = calloc(2 * n + 1, sizeof(*scratch));
	struct fb_summary summary;

	if (scratch && n && !fb_summarise(x, n, scratch, &summary)) {
		value[0] = summary.median;
		value[1] = summary.median_low;
		value[2] = summary.median_high;
	}
	free(scratch);
}

static double quantile(const double *sorted, size_t n, double q, size_t floor)
{
	return n >= floor ? fb_sorted_quantile(sorted, n, q) : (double)NAN;
}

double *fb_handoff_reduce(const struct fb_handoff_instance *i)
{
	double *all = calloc((FB_STAGES + 1) * i->calls + 1, sizeof(*all));
	int err = fb_group_agree(i->state->machine.world, all ? FB_OK : FB_ENOMEM);

	if (err || !all) {
		free(all);
		return NULL;
	}
	for (size_t k = 0; k < i->calls; k++) {
		const struct fb_handoff_times *t = &i->times[k];
		const double value[FB_STAGES] = {
			[FB_STAGE_BEGIN] = -fb_handoff_global(i, t->begin),
			[FB_STAGE_REGISTER] = t->registered,
			[FB_STAGE_BUILD] = t->build,
			[FB_STAGE_PACK] = t->pack,
			[FB_STAGE_POST] = t->post,
			[FB_STAGE_RELEASED] = fb_handoff_global(i, t->released),
			[FB_STAGE_VISIBLE] = fb_handoff_global(i, t->visible),
			[FB_STAGE_NOTIFIED] = fb_handoff_global(i, t->notified),
			[FB_STAGE_UNPACK] = t->unpack,
			[FB_STAGE_USABLE] = fb_handoff_global(i, t->usable),
		};

		for (int s = 0; s < FB_STAGES; s++)
			all[(size_t)s * i->calls + k] = isnan(value[s]) ? -HUGE_VAL : value[s];
	}
	MPI_Allreduce(MPI_IN_PLACE, all, (int)(FB_STAGES * i->calls), MPI_DOUBLE, MPI_MAX,
		      i->state->machine.world->comm);
	return all;
}

/* Adds a span that there is: ranks without a moment have left -HUGE_VAL. */
static void add_span(struct fb_timeline_span *spans, size_t *n, size_t call, const char *name,
		     double begin, double end)
{
	struct fb_timeline_span *s = &spans[*n];

	if (!isfinite(begin) || !isfinite(end) || end <= begin)
		return;
	*s = (struct fb_timeline_span){.begin_us = begin * 1e6, .end_us = end * 1e6};
	snprintf(s->lane, sizeof(s->lane), "request %zu", call);
	snprintf(s->name, sizeof(s->name), "%s", name);
	++*n;
}

/*
 * The stages of all calls as the columns have them, on the clock of rank 0. What cannot be written
 * is said, and is no reason to lose the row.
 */
static void trace(const struct fb_handoff_instance *i, const double *all)
{
	const char *folder = i->state->own->trace_out;
	size_t n = i->calls, count = 0;
	struct fb_timeline_span *spans;
	char row[FB_TIMELINE_ROW_CHARS];

	if (!folder || i->state->machine.world->rank)
		return;
	spans = calloc(FB_STAGES * n, sizeof(*spans));
	if (!spans) {
		fb_error_print("out of memory for the spans of %zu requests", n);
		return;
	}
	for (size_t k = 0; k < n; k++) {
		double begin = -all[FB_STAGE_BEGIN * n + k];
		double t0 = begin + fmax(all[FB_STAGE_REGISTER * n + k], 0);
		double build = all[FB_STAGE_BUILD * n + k];
		double pack = fmax(all[FB_STAGE_PACK * n + k], 0);
		double usable = all[FB_STAGE_USABLE * n + k];
		/* With GET messages are made before the receivers build. */
		double built = t0 + build + (i->plan.get ? pack : 0);
		double packed = t0 + pack + (i->plan.get ? 0 : build);

		add_span(spans, &count, k, "register", begin, t0);
		if (i->plan.cold)
			add_span(spans, &count, k, "build", built - build, built);
		if (i->plan.wire)
			add_span(spans, &count, k, "pack", packed - pack, packed);
		add_span(spans, &count, k, "post", fmax(built, packed),
			 fmax(built, packed) + all[FB_STAGE_POST * n + k]);
		add_span(spans, &count, k, "done", begin, all[FB_STAGE_RELEASED * n + k]);
		add_span(spans, &count, k, "unpack", usable - all[FB_STAGE_UNPACK * n + k], usable);
		add_span(spans, &count, k, "total", begin, usable);
	}
	fb_timeline_row("handoff", i->key, row);
	(void)fb_timeline_append("trace-out", folder, row, spans, count,
				 -all[FB_STAGE_BEGIN * n] * 1e6, 0);
	free(spans);
}

/* A stage from the senders' beginning until something of the receivers'. */
static void put(struct fb_handoff_instance *i, enum fb_handoff_column column, double us)
{
	i->value[column] = fb_handoff_known(i, us, FB_ENDS_BOTH);
}

/* Medians and quantiles in us of sorted durations. */
static void put_stages(struct fb_handoff_instance *i, double *all)
{
	size_t n = i->calls;
	double *begin = all, *registered = all + FB_STAGE_REGISTER * n;
	double *build = all + FB_STAGE_BUILD * n, *post = all + FB_STAGE_POST * n;
	double *pack = all + FB_STAGE_PACK * n, *unpack = all + FB_STAGE_UNPACK * n;
	double *released = all + FB_STAGE_RELEASED * n, *notified = all + FB_STAGE_NOTIFIED * n;
	double *total = all + FB_STAGE_USABLE * n, *wire = all;
	double *v = i->value;

	for (size_t k = 0; k < n; k++) {
		double t0 = -begin[k];

		build[k] *= 1e6;
		post[k] *= 1e6;
		pack[k] *= 1e6;
		unpack[k] *= 1e6;
		released[k] = (released[k] - t0) * 1e6;
		notified[k] = (notified[k] - t0) * 1e6;
		total[k] = (total[k] - t0) * 1e6;
		registered[k] = isfinite(registered[k]) ? registered[k] * 1e6 : 0;
		wire[k] = total[k] - build[k] - registered[k];
	}
	for (int s = 0; s < FB_STAGES; s++)
		fb_sort(all + (size_t)s * n, n, all + FB_STAGES * n);
	v[FB_HANDOFF_BUILD_US] = quantile(build, n, 0.5, 1);
	if (i->plan.registers)
		v[FB_HANDOFF_REGISTER_US] = quantile(registered, n, 0.5, 1);
	if (i->plan.wire) {
		v[FB_HANDOFF_PACK_US] = quantile(pack, n, 0.5, 1);
		v[FB_HANDOFF_UNPACK_US] = quantile(unpack, n, 0.5, 1);
	}
	v[FB_HANDOFF_POST_US] = quantile(post, n, 0.5, 1);
	v[FB_HANDOFF_DONE_US] = fb_handoff_known(i, quantile(released, n, 0.5, 1), FB_ENDS_SENDERS);
	put(i, FB_HANDOFF_NOTIFIED_US, quantile(notified, n, 0.5, 1));
	put(i, FB_HANDOFF_WIRE_US, quantile(wire, n, 0.5, 1));
	put(i, FB_HANDOFF_TOTAL_US, quantile(total, n, 0.5, 1));
	put(i, FB_HANDOFF_P90_US, quantile(total, n, 0.9, MIN_P90));
	put(i, FB_HANDOFF_P95_US, quantile(total, n, 0.95, FB_MIN_SAMPLES_P95));
	put(i, FB_HANDOFF_P99_US, quantile(total, n, 0.99, FB_MIN_SAMPLES_P99));
	put(i, FB_HANDOFF_P999_US, quantile(total, n, 0.999, MIN_P999));
	v[FB_HANDOFF_TOTAL_GBPS] = i->bytes / v[FB_HANDOFF_TOTAL_US] / 1e3;
	v[FB_HANDOFF_WIRE_GBPS] = v[FB_HANDOFF_WIRE_BYTES] / v[FB_HANDOFF_WIRE_US] / 1e3;
}

/* Lists of all links, and the bytes that reach all receivers. Collective. */
static void count(struct fb_handoff_instance *i)
{
	double sum[6] = {0, 0, 0, i->cpu_s, 0, i->sm_s};

	/* Both ends of a SEND post the same pieces, so only the sender's count. */
	for (int k = 0; k < i->links; k++)
		if (fb_handoff_posts(i, &i->link[k]) && !(i->plan.send && i->receives)) {
			sum[0] += i->link[k].moves;
			sum[1] += (double)i->link[k].pieces;
			sum[2] += (double)i->link[k].bytes;
			sum[4] += (double)i->link[k].wire_bytes;
		}
	MPI_Allreduce(MPI_IN_PLACE, sum, 6, MPI_DOUBLE, MPI_SUM, i->state->machine.world->comm);
	i->bytes = sum[2];
	i->value[FB_HANDOFF_MOVES] = sum[0];
	i->value[FB_HANDOFF_PIECES] = sum[1];
	i->value[FB_HANDOFF_WIRE_BYTES] = sum[4];
	i->value[FB_HANDOFF_PIECE_BYTES] = sum[2] / sum[1];
	if (i->plan.wire == FB_KV_WIRE_FP8)
		MPI_Allreduce(&i->worst, &i->value[FB_HANDOFF_QUANTISE_ERROR], 1, MPI_DOUBLE,
			      MPI_MAX, i->state->machine.world->comm);
	/* Processors compute beside transfers, too. */
	if (i->calls && !i->plan.beside)
		i->value[FB_HANDOFF_CPU_S_PER_GIB] =
			sum[3] / (double)i->calls / (sum[2] / (1 << 30));
	if (sum[5] > 0)
		i->value[FB_HANDOFF_SM_S_PER_GIB] = sum[5] / (sum[2] / (1 << 30));
}

/* The host's way to the pages goes before the mover's. */
static void describe_stage(const struct fb_handoff_instance *i, struct fb_traits *traits)
{
	enum { OWN_CHARS = FB_PATH_CHARS - 64 };
	char own[FB_PATH_CHARS];

	snprintf(own, sizeof(own), "%s", traits->path);
	snprintf(traits->path, sizeof(traits->path), "GPU pages staged, %s: %.*s",
		 fb_kv_stagings[i->plan.staging], OWN_CHARS, own);
}

/* Local: by the first link that this rank posts, if any. Moves of cold cases are not kept. */
static void describe_move(struct fb_handoff_instance *i, struct fb_traits *traits)
{
	struct fb_handoff_link *link = i->link;

	if (!i->posts)
		return;
	while (!fb_handoff_posts(i, link))
		link++;
	if (!i->plan.cold || !fb_handoff_build(i, link))
		i->engine->ops->describe(link->move[0], traits);
	if (i->plan.staging)
		describe_stage(i, traits);
	if (i->plan.cold)
		fb_handoff_unbuild(i, link);
}

/* How much was computed beside transfers, and whether processors were enough. Collective. */
static void describe_beside(struct fb_handoff_instance *i, struct fb_traits *traits)
{
	const struct fb_group *w = i->state->machine.world;
	double layers = i->beside ? (double)fb_kv_beside_layers(i->beside) : 0;
	int is_short = i->beside && fb_kv_beside_short(i->beside);

	MPI_Allreduce(&layers, &i->value[FB_HANDOFF_BESIDE_LAYERS], 1, MPI_DOUBLE, MPI_SUM,
		      w->comm);
	MPI_Allreduce(MPI_IN_PLACE, &is_short, 1, MPI_INT, MPI_MAX, w->comm);
	if (is_short)
		fb_traits_flag(traits, "computing-short");
	if (!i->engine->device && (w->oversubscribed || 2 * w->local_ranks > w->cpus))
		fb_traits_flag(traits, "crowded");
}

void fb_handoff_describe(void *instance, struct fb_traits *traits)
{
	struct fb_handoff_instance *i = instance;
	double *all;
	bool marked = !fb_handoff_mark(i);

	i->value[FB_HANDOFF_REGISTER_US] = i->engine->register_us;
	if (i->plan.operation == FB_HANDOFF_FIT) {
		fb_fit_describe(i, traits);
	} else if (i->plan.operation == FB_HANDOFF_HANDOVER) {
		fb_handover_describe(i, traits);
	} else {
		count(i);
		all = marked ? fb_handoff_reduce(i) : NULL;
		if (all && i->calls) {
			trace(i, all);
			put_stages(i, all);
		}
		free(all);
		describe_move(i, traits);
		traits->algorithm_bytes = i->bytes;
		traits->bus_factor = i->bytes > 0 ? i->value[FB_HANDOFF_WIRE_BYTES] / i->bytes : 1;
		traits->bound_us = i->bulk_us;
	}
	/* The last mark may be less exact than that behind the watched requests. */
	put(i, FB_HANDOFF_VISIBLE_US, i->value[FB_HANDOFF_VISIBLE_US]);
	if (fb_handoff_error_us(i, FB_ENDS_BOTH) > 0)
		i->value[FB_HANDOFF_CLOCK_ERROR_US] = fb_handoff_error_us(i, FB_ENDS_BOTH);
	if (i->clock.unknown)
		fb_traits_flag(traits, "clock-error");
	if (i->clock.wrong)
		fb_traits_flag(traits, "clock-wrong");
	fb_kv_backend_path(&i->state->machine, i->engine, i->automatic, traits);
	if (i->plan.beside)
		describe_beside(i, traits);
	memcpy(traits->extra, i->value, sizeof(i->value));
}
