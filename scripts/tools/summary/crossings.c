/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the sizes at which the quickest way changes, and the library's loss; see summary.h. */
#include "common/base/sizes.h"
#include "scripts/tools/summary/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS = 64 };

/* Whether NCCL chose by itself, or was forced. */
enum choice { OTHER_ENGINE, CHOSEN, FORCED };

/* The cells of a section, by who carried them out. */
struct ways {
	const struct fb_section *section;
	char label[LABELS][FB_LABEL_CHARS];
	bool best[LABELS]; /* at some size, of all or of those that NCCL did not choose */
	enum choice choice[LABELS];
	const char *registration[LABELS];
	size_t count;
};

static enum choice choice_of(const struct fb_cell *cell)
{
	if (strcmp(fb_cell_text(cell, "engine"), "nccl"))
		return OTHER_ENGINE;
	return strcmp(fb_cell_text(cell, "algorithm"), "library") ? FORCED : CHOSEN;
}

static bool is_choice(const struct fb_cell *cell)
{
	return choice_of(cell) == CHOSEN;
}

static size_t way_of(struct ways *ways, const struct fb_cell *cell)
{
	char label[FB_LABEL_CHARS];
	size_t i = 0;

	fb_cell_label(cell, label);
	while (i < ways->count && strcmp(ways->label[i], label))
		i++;
	if (i == ways->count && i < LABELS) {
		memcpy(ways->label[i], label, sizeof(label));
		ways->choice[i] = choice_of(cell);
		ways->registration[i] = fb_cell_text(cell, "registration");
		ways->count++;
	}
	return i;
}

static const struct fb_cell *find(const struct ways *ways, const struct fb_cell *at, size_t n,
				  size_t way)
{
	char label[FB_LABEL_CHARS];

	for (size_t i = 0; i < n; i++)
		if (fb_cell_has_time(&at[i]) &&
		    !strcmp(fb_cell_label(&at[i], label), ways->label[way]))
			return &at[i];
	return NULL;
}

/* All ways, and which of them are the fastest of some size. */
static void collect(struct ways *ways, const struct fb_section *section)
{
	*ways = (struct ways){.section = section};
	for (size_t i = 0, n; i < section->count; i += n) {
		const struct fb_cell *best[2] = {NULL, NULL}; /* of all; of what was not chosen */

		n = fb_section_same_place(section, i);
		for (size_t k = i; k < i + n; k++) {
			const struct fb_cell *cell = &section->cell[k];

			(void)way_of(ways, cell);
			for (int of = 0; of < 1 + !is_choice(cell); of++)
				if (fb_cell_has_time(cell) &&
				    (!best[of] || cell->us < best[of]->us))
					best[of] = cell;
		}
		for (int of = 0; of < 2; of++)
			if (best[of] && way_of(ways, best[of]) < LABELS)
				ways->best[way_of(ways, best[of])] = true;
	}
}

/* A size at which both have times. */
struct point {
	uint64_t bytes;
	double ratio; /* time of a by time of b */
	int sign;     /* -1: a is surely faster; 1: b is; 0: undecided */
	bool bare;    /* there is no interval, so a tenth between the medians must do */
};

static struct point point_at(uint64_t bytes, const struct fb_ratio *ratio)
{
	bool bare = !isfinite(ratio->low) || !isfinite(ratio->high);
	double low = bare ? ratio->value / 1.1 : ratio->low;
	double high = bare ? ratio->value * 1.1 : ratio->high;

	return (struct point){bytes, ratio->value, high < 1 ? -1 : low > 1 ? 1 : 0, bare};
}

/* Where the ratio is 1 between two sizes, about, on logarithmic axes; 0: it is not. */
static uint64_t equal_at(const struct point *from, const struct point *to)
{
	double a = log(from->ratio), b = log(to->ratio), x, y;

	if ((a < 0) == (b < 0) || !from->bytes)
		return 0;
	x = log((double)from->bytes);
	y = log((double)to->bytes);
	x = exp(x + (y - x) * a / (a - b));
	y = x >= 8 << 20 ? 1 << 20 : x >= 8 << 10 ? 1 << 10 : 1;
	return (uint64_t)(round(x / y) * y);
}

static void print_crossing(FILE *out, const struct ways *ways, size_t a, size_t b,
			   const struct point *sure, const struct point *now, uint64_t equal)
{
	char low[FB_SIZE_CHARS], high[FB_SIZE_CHARS], middle[FB_SIZE_CHARS];
	size_t first = sure->sign < 0 ? a : b, then = sure->sign < 0 ? b : a;

	fprintf(out, "  %s up to %s, %s from %s on%s%s%s\n", ways->label[first],
		fb_size_text(sure->bytes, low), ways->label[then], fb_size_text(now->bytes, high),
		equal ? "; equal at about " : "", equal ? fb_size_text(equal, middle) : "",
		sure->bare || now->bare ? " (by medians without intervals)" : "");
}

static void cross(FILE *out, const struct ways *ways, size_t a, size_t b)
{
	struct point sure = {0}, before = {0};
	uint64_t equal = 0;

	for (size_t i = 0, n; i < ways->section->count; i += n) {
		const struct fb_cell *cell = &ways->section->cell[i], *x, *y;
		struct fb_ratio ratio;
		struct point now;

		n = fb_section_same_place(ways->section, i);
		x = find(ways, cell, n, a);
		y = find(ways, cell, n, b);
		ratio = fb_cell_ratio(x, y);
		if (!isfinite(ratio.value))
			continue;
		now = point_at(cell->bytes, &ratio);
		if (before.bytes && equal_at(&before, &now))
			equal = equal_at(&before, &now);
		before = now;
		if (!now.sign)
			continue;
		if (sure.sign && sure.sign != now.sign)
			print_crossing(out, ways, a, b, &sure, &now, equal);
		sure = now;
		equal = 0;
	}
}

/* --- what the library's own choice loses --------------------------------------------------- */

/* Ratios of times, over sizes. */
struct loss {
	double log_sum;
	size_t n;
	struct fb_ratio worst;
	uint64_t at;
	char label[FB_LABEL_CHARS];
};

/* The fastest forced cell beside the library's choice, of the same registration. */
static const struct fb_cell *best_forced(const struct fb_cell *at, size_t n,
					 const struct fb_cell *choice)
{
	const struct fb_cell *best = NULL;

	for (size_t i = 0; i < n; i++)
		if (fb_cell_has_time(&at[i]) && !is_choice(&at[i]) &&
		    !strcmp(fb_cell_text(&at[i], "engine"), "nccl") &&
		    !strcmp(fb_cell_text(&at[i], "registration"),
			    fb_cell_text(choice, "registration")) &&
		    (!best || at[i].us < best->us))
			best = &at[i];
	return best;
}

/* `error`: what is too small is as bad as what is too large. */
static void lose(struct loss *loss, const struct fb_ratio *ratio, const struct fb_cell *cell,
		 bool error)
{
	double bad = log(ratio->value), worst = log(loss->worst.value);

	loss->log_sum += bad;
	if (!loss->n++ || (error ? fabs(bad) > fabs(worst) : bad > worst)) {
		loss->worst = *ratio;
		loss->at = cell->bytes;
		fb_cell_label(cell, loss->label);
	}
}

static void print_loss(FILE *out, const struct loss *loss, const char *says, const char *of)
{
	char size[FB_SIZE_CHARS], interval[64] = "";

	if (isfinite(loss->worst.low) && isfinite(loss->worst.high))
		snprintf(interval, sizeof(interval), " (%.3g to %.3g)", loss->worst.low,
			 loss->worst.high);
	if (loss->n)
		fprintf(out, "  %s %.3g %s, geometric mean of %zu; at %s %.3g%s, %s\n",
			says, exp(loss->log_sum / (double)loss->n), of, loss->n,
			fb_size_text(loss->at, size), loss->worst.value, interval, loss->label);
}

static void print_regret(FILE *out, const struct fb_section *section)
{
	struct loss loss = {0};

	for (size_t i = 0, n; i < section->count; i += n) {
		n = fb_section_same_place(section, i);
		for (size_t k = i; k < i + n; k++) {
			const struct fb_cell *choice = &section->cell[k], *forced;
			struct fb_ratio ratio;

			if (!is_choice(choice) || !fb_cell_has_time(choice))
				continue;
			forced = best_forced(&section->cell[i], n, choice);
			ratio = fb_cell_ratio(choice, forced);
			if (isfinite(ratio.value))
				lose(&loss, &ratio, forced, false);
		}
	}
	print_loss(out, &loss, "NCCL's choice takes", "times the best forced");
}

static void print_model(FILE *out, const struct fb_section *section, int column)
{
	struct loss loss = {0};

	for (size_t i = 0; column >= 0 && i < section->count; i++) {
		const struct fb_cell *cell = &section->cell[i];
		double model = fb_cell_number(cell, (size_t)column);
		struct fb_ratio ratio = {model / cell->us, model / cell->high_us,
					 model / cell->low_us};

		if (fb_cell_has_time(cell) && model > 0)
			lose(&loss, &ratio, cell, true);
	}
	print_loss(out, &loss, "NCCL's model says", "of the time");
}

/*
 * NCCL's choice is one of the forced cells of the same registration. If another one of these is
 * faster, that is regret of NCCL's choice and not a crossing of two ways.
 */
static bool are_rivals(const struct ways *ways, size_t a, size_t b)
{
	enum choice x = ways->choice[a], y = ways->choice[b];

	return ways->best[a] && ways->best[b] &&
	       (!((x == CHOSEN && y == FORCED) || (x == FORCED && y == CHOSEN)) ||
		strcmp(ways->registration[a], ways->registration[b]));
}

void fb_summary_crossings(const struct fb_report *report)
{
	for (size_t s = 0; s < report->cells->nsections; s++) {
		const struct fb_section *section = &report->cells->section[s];
		char title[FB_TITLE_CHARS], *text = NULL;
		size_t length = 0;
		FILE *out = open_memstream(&text, &length);
		struct ways ways;

		if (!out)
			return;
		collect(&ways, section);
		for (size_t a = 0; a < ways.count; a++)
			for (size_t b = a + 1; b < ways.count; b++)
				if (are_rivals(&ways, a, b))
					cross(out, &ways, a, b);
		print_regret(out, section);
		print_model(out, section, fb_results_column(report->results, "model_us"));
		fclose(out);
		if (length)
			fprintf(report->out, "%s\n%s\n",
				fb_section_title(section, title, sizeof(title)), text);
		free(text);
	}
}
