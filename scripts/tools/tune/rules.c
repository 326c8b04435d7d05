/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a family's rules. A user may leave all open, or fix the algorithm, the protocol, or both
 * (if several shapes were measured). Each of these questions gets rules for all contexts together.
 * If all is open, a kind of buffers or elements gets its own rules where that makes a difference.
 */
#include "common/base/error.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/sizes.h"

static const char automatic[] = "auto";

/* One question about a family, and its answer by size. */
struct question {
	const struct fb_tune_family *family;
	struct fb_tune_problem problem;
	bool *context, *candidate;
	int *choice;
	const char *algorithm, *protocol; /* asked for */
	int in_place, element;            /* or FB_TUNING_ANY */
	uint32_t channels;                /* asked for; 0: none */
	enum fb_auto_objective objective;
	FILE *out;
};

static void open_question(struct question *q, const struct fb_tune_family *f,
			 const struct fb_tune_settings *settings, FILE *out)
{
	*q = (struct question){
		.family = f, .out = out,
		.context = fb_new(f->ncontexts, sizeof(*q->context)),
		.candidate = fb_new(f->ncandidates, sizeof(*q->candidate)),
		.choice = fb_new(f->nsizes, sizeof(*q->choice)),
	};
	q->problem = (struct fb_tune_problem){
		.ncontexts = f->ncontexts, .nsizes = f->nsizes, .ncandidates = f->ncandidates,
		.point = f->point, .context = q->context, .candidate = q->candidate,
		.numbers = f->numbers, .change = settings->change,
	};
	q->objective = (enum fb_auto_objective)settings->objective;
}

static bool fits(const char *asked, const char *name)
{
	return !strcmp(asked, automatic) || !strcmp(asked, name);
}

/* Finds the choices. */
static void answer(struct question *q, const char *algorithm, const char *protocol, int in_place,
		  int element)
{
	const struct fb_tune_family *f = q->family;

	q->algorithm = algorithm;
	q->protocol = protocol;
	q->in_place = in_place;
	q->element = element;
	for (size_t c = 0; c < f->ncontexts; c++)
		q->context[c] = (in_place == FB_TUNING_ANY || in_place == f->context[c].in_place) &&
				(element == FB_TUNING_ANY || element == f->context[c].element);
	for (size_t k = 0; k < f->ncandidates; k++)
		q->candidate[k] = fits(algorithm, f->candidate[k].algorithm) &&
				  fits(protocol, f->candidate[k].protocol) &&
				  (!q->channels || f->candidate[k].tuned.channels == q->channels);
	fb_tune_choose(&q->problem, q->choice);
}

/* A number or "any". */
static const char *number_or_any(int value, char buf[16])
{
	snprintf(buf, 16, "%d", value);
	return value == FB_TUNING_ANY ? "any" : buf;
}

/* One rule for the sizes [from, to], with what it costs beside the best of each. */
static void print_rule(const struct question *q, size_t from, size_t to)
{
	const struct fb_tune_family *f = q->family;
	const struct fb_tune_candidate *k = &f->candidate[q->choice[from]];
	char low[FB_SIZE_CHARS], high[FB_SIZE_CHARS], slot[FB_SIZE_CHARS], element[16];
	const char *in_place = q->in_place == FB_TUNING_ANY ? "any" : q->in_place ? "yes" : "no";
	double worst = 0;

	for (size_t s = from; s <= to; s++)
		worst = fmax(worst, fb_tune_excess(&q->problem, s, (size_t)q->choice[from]));
	fprintf(q->out, "rule %-4s %-14s %2s %2s %-4s %-3s %-3s %5s %5s  %-18s %-6s  %-18s %-6s "
		"%2u %3u %4s",
		f->engine, f->operation,
		fb_cell_text(f->first, "ranks"), fb_cell_text(f->first, "nodes"),
		fb_cell_text(f->first, "transport"), in_place, number_or_any(q->element, element),
		fb_size_text(f->bytes[from], low), fb_size_text(f->bytes[to], high), q->algorithm,
		q->protocol, k->algorithm, k->protocol, k->tuned.channels, k->tuned.threads,
		fb_size_text(k->tuned.slot_bytes, slot));
	if (q->channels)
		fprintf(q->out, "  channels=%u", q->channels);
	if (q->objective)
		fprintf(q->out, "  objective=%s", fb_auto_objectives[q->objective]);
	if (f->unaligned)
		fprintf(q->out, "  unaligned");
	fprintf(q->out, "  # %.4g", fb_tune_time_us(&q->problem, from, (size_t)q->choice[from]));
	if (to > from)
		fprintf(q->out, "-%.4g", fb_tune_time_us(&q->problem, to, (size_t)q->choice[from]));
	fprintf(q->out, " us, +%.1f%%\n", 100 * worst);
}

static void print_rules(const struct question *q)
{
	size_t n = q->family->nsizes, end;

	for (size_t s = 0; s < n; s = end) {
		end = s + 1;
		while (end < n && q->choice[end] == q->choice[s])
			end++;
		if (q->choice[s] >= 0)
			print_rule(q, s, end - 1);
	}
}

/* Says which sizes have no rule, in the table and on stderr. */
static void print_gaps(const struct question *q)
{
	const struct fb_tune_family *f = q->family;
	char *text = NULL, size[FB_SIZE_CHARS];
	size_t length = 0, gaps = 0;
	FILE *list = open_memstream(&text, &length);

	if (!list)
		return;
	for (size_t s = 0; s < f->nsizes; s++)
		if (q->choice[s] < 0)
			fprintf(list, "%s%s", gaps++ ? ", " : "", fb_size_text(f->bytes[s], size));
	fclose(list);
	if (gaps) {
		fprintf(q->out, "# no data: %s %s on %s ranks over %s: %s\n",
			f->engine, f->operation,
			fb_cell_text(f->first, "ranks"), fb_cell_text(f->first, "transport"), text);
		fb_warn("no data: %s %s on %s ranks over %s: %s", f->engine,
			f->operation, fb_cell_text(f->first, "ranks"),
			fb_cell_text(f->first, "transport"), text);
	}
	free(text);
}

/* Whether one kind of buffers or elements wants rules of its own beside those for all. */
static bool differs(const struct question *own, const struct question *all, double change)
{
	for (size_t s = 0; s < own->family->nsizes; s++) {
		if (own->choice[s] < 0 || own->choice[s] == all->choice[s])
			continue;
		if (all->choice[s] < 0 ||
		    fb_tune_excess(&own->problem, s, (size_t)all->choice[s]) >
			    fb_tune_excess(&own->problem, s, (size_t)own->choice[s]) + 2 * change)
			return true;
	}
	return false;
}

/* The question for anything: of each kind first, where it differs, then of all kinds. */
static void print_best(const struct fb_tune_family *f, const struct fb_tune_settings *settings,
		       struct question *all, FILE *out)
{
	struct question own;
	bool places = false, elements = false; /* there are several */

	open_question(&own, f, settings, out);
	for (size_t c = 1; c < f->ncontexts; c++) {
		places |= f->context[c].in_place != f->context[0].in_place;
		elements |= f->context[c].element != f->context[0].element;
	}
	answer(all, automatic, automatic, FB_TUNING_ANY, FB_TUNING_ANY);
	for (size_t c = 0; c < f->ncontexts; c++) {
		const struct fb_tune_context *kind = &f->context[c];
		bool seen = false;

		for (size_t d = 0; d < c; d++)
			seen |= f->context[d].in_place == kind->in_place &&
				f->context[d].element == kind->element;
		if (seen)
			continue;
		answer(&own, automatic, automatic, places ? kind->in_place : FB_TUNING_ANY,
		       elements ? kind->element : FB_TUNING_ANY);
		if (differs(&own, all, settings->change))
			print_rules(&own);
	}
	print_rules(all);
	print_gaps(all);
}

/* Whether candidate k is the first with its algorithm, its protocol, or both. */
static bool is_first(const struct fb_tune_family *f, size_t k, bool algorithm, bool protocol)
{
	for (size_t i = 0; i < k; i++)
		if ((!algorithm || !strcmp(f->candidate[i].algorithm, f->candidate[k].algorithm)) &&
		    (!protocol || !strcmp(f->candidate[i].protocol, f->candidate[k].protocol)))
			return false;
	return true;
}

/* Candidates with these names (NULL: any), of which `shapes` counts those that fix a number. */
static size_t alternatives(const struct fb_tune_family *f, const char *algorithm,
			   const char *protocol, bool shapes)
{
	size_t n = 0;

	for (size_t k = 0; k < f->ncandidates; k++)
		n += (!algorithm || !strcmp(f->candidate[k].algorithm, algorithm)) &&
		     (!protocol || !strcmp(f->candidate[k].protocol, protocol)) &&
		     (!shapes || f->numbers[k]);
	return n;
}

/* Whether there are several algorithms or protocols among all candidates. */
static bool several(const struct fb_tune_family *f, bool algorithm)
{
	const struct fb_tune_candidate *c = f->candidate;

	return alternatives(f, algorithm ? c->algorithm : NULL, algorithm ? NULL : c->protocol,
			    false) < f->ncandidates;
}

/* Asks for these names and prints the answer. */
static void print_answer(struct question *q, const char *algorithm, const char *protocol)
{
	answer(q, algorithm, protocol, FB_TUNING_ANY, FB_TUNING_ANY);
	print_rules(q);
}

/* Questions with names in them. */
static void print_given(struct question *q)
{
	const struct fb_tune_family *f = q->family;
	const struct fb_tune_candidate *c = f->candidate;

	for (size_t k = 0; k < f->ncandidates && several(f, false); k++)
		if (is_first(f, k, false, true))
			print_answer(q, automatic, c[k].protocol);
	for (size_t k = 0; k < f->ncandidates && several(f, false); k++)
		if (is_first(f, k, true, false))
			print_answer(q, c[k].algorithm, automatic);
	for (size_t k = 0; k < f->ncandidates; k++)
		if (is_first(f, k, true, true) &&
		    alternatives(f, c[k].algorithm, c[k].protocol, true))
			print_answer(q, c[k].algorithm, c[k].protocol);
}

/* Whether candidate k is the first that has so many channels. */
static bool is_new_number(const struct fb_tune_family *f, size_t k)
{
	for (size_t i = 0; i < k; i++)
		if (f->candidate[i].tuned.channels == f->candidate[k].tuned.channels)
			return false;
	return true;
}

/* Questions with a number of channels, which is how much of a GPU a collective may take. */
static void print_few(struct question *q)
{
	const struct fb_tune_family *f = q->family;

	for (size_t k = 0; k < f->ncandidates; k++) {
		q->channels = f->candidate[k].tuned.channels;
		if (q->channels && is_new_number(f, k))
			print_answer(q, automatic, automatic);
	}
	q->channels = 0;
}

/* Whether there is a choice between engines, or the engine is one. */
static bool is_choice(const struct fb_tune_family *f)
{
	size_t copies = 0;

	for (size_t k = 0; k < f->ncandidates; k++)
		copies += !strncmp(f->candidate[k].algorithm, "copy/", 5);
	return strcmp(f->engine, automatic) || (copies && copies < f->ncandidates);
}

void fb_tune_rules(const struct fb_tune_family *family, const struct fb_tune_settings *settings,
		   FILE *out)
{
	struct question q;

	if (!is_choice(family))
		return;
	open_question(&q, family, settings, out);
	fprintf(out, "\n");
	print_best(family, settings, &q, out);
	if (!strcmp(family->engine, "cuda"))
		print_few(&q);
	if (!settings->best_only && strcmp(family->engine, automatic))
		print_given(&q);
}
