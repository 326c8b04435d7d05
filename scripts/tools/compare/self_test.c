/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the gate on launches between which nothing changed; see self_test.h.
 *
 * All splits share one reference. The distribution of the largest z^2 over assignments does not
 * depend on which assignment is the real one, so one pass over the rows serves all splits.
 */
#include "scripts/tools/compare/self_test.h"

#include <math.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/rng.h"
#include "common/measure/stats.h"
#include "scripts/tools/compare/family.h"
#include "scripts/tools/compare/max_t.h"
#include "scripts/tools/compare/power.h"
#include "scripts/tools/compare/verdict.h"
#include "scripts/tools/lib/memory.h"

/* Splits by time come after the random ones. */
enum { HALVES = FB_SELF_TEST_SPLITS, INTERLEAVED, SPLITS, LEAST_LAUNCHES = 4 };

struct work {
	size_t launches, rows; /* in use: even; complete */
	size_t stride;	       /* launches in y */
	double *y;	       /* [rows][launches] */
	double *theta;	       /* [rows] */
	unsigned char *label;  /* [SPLITS][launches] */
	double *room;	       /* [3 * launches] */
	struct fb_ready_rows ready;
	struct fb_assignments reference, splits;
	double *reference_z2, *split_z2; /* the largest z^2 of each; reference_z2 gets sorted */
};

/* Checks all values, sets the noise of all rows, and keeps the complete rows for splitting. */
static int take_rows(const double *y, size_t rows, const double *theta, double *noise,
		     struct work *w)
{
	for (size_t i = 0; i < rows; i++) {
		const double *row = y + i * w->stride;
		bool complete = w->launches >= LEAST_LAUNCHES;

		for (size_t u = 0; u < w->stride; u++) {
			if (isinf(row[u]))
				return fb_error(FB_EINPUT, "the value of row %zu, launch %zu is %g",
						i, u, row[u]);
			if (u < w->launches && isnan(row[u]))
				complete = false;
		}
		double sd = fb_launch_noise(row, w->stride);
		struct fb_threshold limits = {.least = FB_LEAST_THETA, .noise = sd};

		if (noise)
			noise[i] = sd;
		if (!complete)
			continue;
		memcpy(w->y + w->rows * w->launches, row, w->launches * sizeof(*row));
		w->theta[w->rows++] = theta ? theta[i] : fb_theta(&limits);
	}
	return FB_OK;
}

static void make_labels(struct work *w, uint64_t seed)
{
	size_t n = w->launches;
	struct fb_rng rng;

	/* Not the sequence that the reference is drawn from. */
	fb_rng_seed(&rng, ~seed);
	for (size_t split = 0; split < SPLITS; split++) {
		unsigned char *label = w->label + split * n;

		for (size_t u = 0; u < n; u++)
			label[u] = u >= n / 2;
		if (split == INTERLEAVED)
			for (size_t u = 0; u < n; u++)
				label[u] = u % 4 == 1 || u % 4 == 2;
		else if (split != HALVES)
			fb_shuffle(label, n, 1, &rng);
	}
}

/* The largest z^2 of every reference assignment and of every split. */
static int scan_all(struct work *w, uint64_t seed)
{
	const struct fb_design design = {.launches = w->launches, .side = w->label};
	const struct fb_design_size size = {.a = w->launches / 2, .b = w->launches / 2};
	const struct fb_assign_options options = {
		.most = FB_FAMILY_EXHAUSTIVE,
		.draws = FB_FAMILY_DRAWS,
		.seed = seed,
		.mirrored_once = true,
	};
	size_t *index = fb_new(w->rows, sizeof(*index));
	int ret = FB_OK;

	for (size_t i = 0; i < w->rows; i++)
		index[i] = i;
	ret = fb_ready_rows_make(&design, &size, w->y, index, w->rows, &w->ready);
	if (ret)
		return ret;
	fb_assignments_make(&design, &size, &options, &w->reference);
	w->splits = w->reference;
	w->splits.count = SPLITS;
	w->splits.nibble = fb_new(SPLITS * w->splits.groups, 1);
	w->reference_z2 = fb_new(2 * w->reference.count, sizeof(double));
	w->split_z2 = fb_new(SPLITS, sizeof(double));
	for (size_t i = 0; i < SPLITS; i++)
		fb_assignment_pack(w->label + i * w->launches, w->launches,
				   w->splits.nibble + i * w->splits.groups);
	struct fb_scan scan = {
		.rows = &w->ready, .assignments = &w->reference, .maximum = w->reference_z2};

	fb_scan(&scan);
	scan.assignments = &w->splits;
	scan.maximum = w->split_z2;
	fb_scan(&scan);
	fb_sort(w->reference_z2, w->reference.count, w->reference_z2 + w->reference.count);
	return FB_OK;
}

/* The adjusted p of a row with this z^2. A drawn reference does not contain the split itself. */
static double p_of(const struct work *w, double z2)
{
	size_t n = w->reference.count;
	size_t reaching = fb_count_reaching(w->reference_z2, n, z2 * (1 - FB_Z2_ROUNDING));

	if (w->reference.exhaustive)
		return (double)reaching / (double)n;
	return (double)(reaching + 1) / (double)(n + 1);
}

/* Whether a row would be called changed in a split that alarms: 1 or 0, or an error. */
static int split_is_flagged(const struct work *w, size_t split)
{
	const struct fb_design design = {
		.launches = w->launches,
		.side = w->label + split * w->launches,
	};

	for (size_t i = 0; i < w->rows; i++) {
		double z = fb_ready_z(&w->ready, i, w->splits.nibble + split * w->splits.groups,
				      w->room);
		double p = p_of(w, z * z);
		struct fb_effect effect;
		int ret;

		if (p > FB_ALPHA)
			continue;
		ret = fb_effect(&design, w->y + i * w->launches, &effect);
		if (ret)
			return ret;
		enum fb_verdict verdict = fb_verdict(&effect, p, w->theta[i]);

		if (verdict == FB_REGRESSED || verdict == FB_IMPROVED)
			return 1;
	}
	return 0;
}

static int judge_splits(const struct work *w, struct fb_self_test *out)
{
	out->splits = FB_SELF_TEST_SPLITS;
	for (size_t split = 0; split < FB_SELF_TEST_SPLITS; split++) {
		int flagged;

		if (p_of(w, w->split_z2[split]) > FB_ALPHA)
			continue;
		out->alarms++;
		flagged = split_is_flagged(w, split);
		if (flagged < 0)
			return flagged;
		out->flagged += (size_t)flagged;
	}
	out->share = (double)out->alarms / (double)out->splits;
	out->good = out->share <= FB_SELF_TEST_SHARE;
	out->halves_p = p_of(w, w->split_z2[HALVES]);
	out->interleaved_p = p_of(w, w->split_z2[INTERLEAVED]);
	return FB_OK;
}

int fb_self_test(const double *y, size_t rows, size_t launches, const double *theta, uint64_t seed,
		 double *noise, struct fb_self_test *out)
{
	struct work w = {.launches = launches - launches % 2, .stride = launches};
	struct fb_self_test result = {
		.share = (double)NAN,
		.halves_p = (double)NAN,
		.interleaved_p = (double)NAN,
		.enough = launches >= FB_SELF_TEST_LAUNCHES,
	};
	int ret = FB_OK;

	w.y = fb_new(rows * w.launches + 1, sizeof(*w.y));
	w.theta = fb_new(rows + 1, sizeof(*w.theta));
	w.label = fb_new(SPLITS * w.launches + 1, 1);
	w.room = fb_new(3 * w.launches + 1, sizeof(*w.room));
	if (!ret)
		ret = take_rows(y, rows, theta, noise, &w);
	result.launches = w.launches;
	result.rows = w.rows;
	if (!ret && w.rows > 0) {
		make_labels(&w, seed);
		/* The first label serves as the real one: any would do. */
		ret = scan_all(&w, seed);
		if (!ret)
			ret = judge_splits(&w, &result);
	}
	if (!ret)
		*out = result;
	return ret;
}
