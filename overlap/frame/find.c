/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --find-bucket: the sizes of buckets that are measured follow from those that were. Each
 * combination of the other axes has a search of its own, over the logarithm of the size. Rank 0,
 * which has the times, decides; the new case is added on all ranks.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/measure/stats.h"
#include "common/record/key.h"
#include "common/record/variant.h"
#include "common/run/run.h" /* fb_run.cases, to one of which the next size is put */
#include "overlap/frame/frame.h"

enum { UNIT = 1024 }; /* bytes: sizes are multiples of it */
static const double least = 0.2; /* 15% between two sizes */

/* The case without its size, and how far its search is. */
struct fb_step_search {
	struct fb_case key;
	struct fb_golden golden;
	double asked; /* where the newest case of it is */
};

static uint64_t bytes_of(double x)
{
	return (uint64_t)(exp2(x) / UNIT + 0.5) * UNIT;
}

/* The range that the list of --bucket spans, without 0. */
static void range_of(const struct fb_sizes *list, double *from, double *to)
{
	*from = HUGE_VAL;
	*to = 0;
	for (size_t i = 0; i < list->count; i++) {
		double x;

		if (!list->value[i])
			continue;
		x = log2((double)list->value[i]);
		*from = fmin(*from, x);
		*to = fmax(*to, x);
	}
}

int fb_step_find_open(struct fb_step_state *s)
{
	struct fb_sizes *list = &s->settings.bucket;
	double from, to, x;

	if (!s->own->find_bucket)
		return FB_OK;
	range_of(list, &from, &to);
	fb_golden_open(&s->golden, from, to, least);
	if (!fb_golden_next(&s->golden, &x))
		return s->session->world->rank ? FB_EINPUT : fb_error(
			FB_EINPUT, "--find-bucket needs two sizes in --bucket that are not alike");
	list->count = 1;
	list->value[0] = bytes_of(x);
	return FB_OK;
}

/* The axis that is --bucket is the first one of ddp. */
enum { AXIS = 0 };

/* Gives a variant another size, or for 0 a sign that stands for any; see fb_variant_set. */
static int put_size(const struct fb_step_state *s, char variant[FB_VARIANT_CHARS], uint64_t bytes)
{
	char text[FB_SIZE_CHARS];

	return fb_variant_set(variant, s->program->axes[AXIS].key,
			      bytes ? fb_size_text(bytes, text) : "?");
}

static struct fb_step_search *search_of(struct fb_step_state *s, const struct fb_case *c)
{
	struct fb_case key = *c;
	struct fb_step_search *more;
	char a[2 * FB_VARIANT_CHARS], b[2 * FB_VARIANT_CHARS];

	put_size(s, key.variant, 0);
	snprintf(b, sizeof(b), "%s %s %s", key.operation, key.engine, key.variant);
	for (size_t i = 0; i < s->nsearches; i++) {
		const struct fb_case *k = &s->searches[i].key;

		snprintf(a, sizeof(a), "%s %s %s", k->operation, k->engine, k->variant);
		if (!strcmp(a, b) && k->bytes == key.bytes && k->datatype == key.datatype &&
		    k->cadence == key.cadence && !strcmp(k->algorithm, key.algorithm) &&
		    !strcmp(k->protocol, key.protocol) && !strcmp(k->transport, key.transport) &&
		    !strcmp(k->memory, key.memory) && !strcmp(k->launch, key.launch) &&
		    !strcmp(k->registration, key.registration) && k->redop == key.redop)
			return &s->searches[i];
	}
	more = realloc(s->searches, (s->nsearches + 1) * sizeof(*more));
	if (!more)
		return NULL;
	s->searches = more;
	more = &s->searches[s->nsearches++];
	*more = (struct fb_step_search){.key = key, .golden = s->golden};
	(void)fb_golden_next(&more->golden, &more->asked);
	return more;
}

void fb_step_find_put(struct fb_step_instance *i, const double *samples_us, size_t n,
		      double *scratch)
{
	struct fb_summary sum;

	if (i->state->own->find_bucket && n && !fb_summarise(samples_us, n, scratch, &sum))
		i->state->found = (struct fb_golden_point){
			0, sum.median, sum.median_low, sum.median_high};
}

static void report_best(const struct fb_step_state *s, const struct fb_step_search *search)
{
	const struct fb_golden_point *best = fb_golden_best(&search->golden);
	char text[FB_SIZE_CHARS], key[FB_CASE_CHARS];

	if (!best)
		return;
	fb_size_text(bytes_of(best->x), text);
	snprintf(key, sizeof(key), "found_bucket.%s.%s", search->key.operation, search->key.engine);
	fb_launch_fact(s->session, key, "%s, %.1f us, %d sizes measured, %s", text, best->median,
		       search->golden.npoints, search->key.variant);
	if (!s->session->world->rank && !s->session->settings->quiet)
		fprintf(stderr, "best bucket of %s %s: %s, %.1f us (%d sizes; %s)\n",
			search->key.operation, search->key.engine, text, best->median,
			search->golden.npoints, search->key.variant);
}

/* Adds the pass and the case of another size. Collective. */
static int add_size(struct fb_run *run, struct fb_step_state *s, const struct fb_case *done,
		    uint64_t bytes)
{
	uint64_t like = *FB_OWN_CONST(uint64_t, done);
	struct fb_case next = *done;
	struct fb_step_pass *more;
	int err;

	more = realloc(s->passes, (s->npasses + 1) * sizeof(*more));
	if (more)
		s->passes = more;
	err = fb_group_agree(s->session->world, more ? FB_OK : FB_ENOMEM);
	if (!more || err)
		return err;
	more[s->npasses] = more[like];
	more[s->npasses].value[AXIS] = bytes;
	if (put_size(s, more[s->npasses].variant, bytes) || put_size(s, next.variant, bytes))
		return fb_error(FB_EINPUT, "column `variant` has no room for another bucket");
	*FB_OWN(uint64_t, &next) = s->npasses++;
	return fb_run_add(run, &next);
}

/* What was measured at the case, now or, with --resume, before; median 0: nothing. Collective. */
static struct fb_golden_point found_at(struct fb_run *run, struct fb_step_state *s,
				       const struct fb_case *done)
{
	struct fb_golden_point found;
	struct fb_csv_median before;

	/* Only rank 0 has times; a case that was skipped has none. */
	MPI_Bcast(&s->found, sizeof(s->found), MPI_BYTE, 0, s->session->world->comm);
	found = s->found;
	s->found = (struct fb_golden_point){.median = 0};
	if (!(found.median > 0) && fb_run_known(run, done, &before) && before.us > 0)
		found = (struct fb_golden_point){0, before.us, before.low_us, before.high_us};
	return found;
}

int fb_step_more(struct fb_run *run, void *state, const struct fb_case *done)
{
	struct fb_step_state *s = state;
	const struct fb_step_pass *pass = fb_step_pass_of(s, done);
	struct fb_step_search *search;
	struct fb_golden_point found;
	int err;

	if (!s->own->find_bucket || !pass || !pass->value[AXIS])
		return FB_OK;
	search = search_of(s, done);
	err = fb_group_agree(s->session->world, search ? FB_OK : FB_ENOMEM);
	if (err || !search)
		return err;
	found = found_at(run, s, done);
	found.x = search->asked;
	if (found.median > 0)
		fb_golden_put(&search->golden, found);
	if (!(found.median > 0) || !fb_golden_next(&search->golden, &search->asked)) {
		report_best(s, search);
		return FB_OK;
	}
	return add_size(run, s, done, bytes_of(search->asked));
}
