/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins environments and keeps track of which launch a fact belongs to; see merge.h. */
#include "common/base/error.h"
#include "common/record/csv.h"
#include "common/system/environment.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/merge/merge.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SCOPE, HOST, RANK, KEY, VALUE, FIELDS };

struct fact {
	const char *field[FIELDS];
	char *key; /* field[KEY] */
	size_t source, order;
	bool launch; /* a launch's own */
};

struct facts {
	struct fact *fact;
	size_t count;
};

static void push(struct facts *facts, const struct fact *model, char *key, bool launch)
{
	struct fact *fact = FB_ADD(facts->fact, facts->count);

	*fact = *model;
	fact->key = key;
	fact->field[KEY] = key;
	fact->launch = launch;
	fact->order = facts->count - 1;
}

/*
 * Whether a key is program.NAME.LAUNCH.REST, a launch's own fact; NAME may hold dots. Sets *rest
 * and, unless the source has no rows of it, *launch.
 */
static bool is_of_launch(const struct fb_merge *merge, size_t source, const char *key,
			 const struct fb_merge_launch **launch, const char **rest)
{
	const char *name = key + strlen(FB_FACTS_KEPT), *dot = name;
	bool found = false;

	if (strncmp(key, FB_FACTS_KEPT, strlen(FB_FACTS_KEPT)))
		return false;
	while (!*launch && (dot = strchr(dot, '.'))) {
		const char *end = strchr(++dot, '.');
		char program[256], number[24];
		uint64_t before;

		snprintf(program, sizeof(program), "%.*s", (int)(dot - 1 - name), name);
		snprintf(number, sizeof(number), "%.*s", end ? (int)(end - dot) : 0, dot);
		if (!fb_launch_index(number, &before))
			continue;
		*launch = fb_merge_find_launch(merge, source, program, before);
		*rest = end + 1;
		found = true;
	}
	return found;
}

static char *launch_key(const struct fb_merge_launch *launch, const char *what, const char *rest)
{
	return fb_new_text(FB_FACTS_KEPT "%s.%" PRIu64 ".%s%s", launch->program, launch->after,
			   what, rest);
}

/* All facts of all sources, those of launches with their new numbers. */
static void collect(const struct fb_merge *merge, struct facts *facts)
{
	for (size_t s = 0; s < merge->sheets->count; s++) {
		const struct fb_sheet *sheet = &merge->sheets->sheet[s];

		for (size_t i = 0; sheet->kind == FB_CSV_FACTS && i < sheet->nrows; i++) {
			struct fact fact = {.source = sheet->source};
			const struct fb_merge_launch *launch = NULL;
			const char *rest = NULL;
			bool own;

			memcpy(fact.field, sheet->row[i].cell, sizeof(fact.field));
			own = is_of_launch(merge, fact.source, fact.field[KEY], &launch, &rest);
			if (launch && !strcmp(rest, "option.seed"))
				merge->launch[launch - merge->launch].seed = fact.field[VALUE];
			if (launch && !strcmp(rest, "option.launch-index"))
				merge->launch[launch - merge->launch].index = fact.field[VALUE];
			push(facts, &fact,
			     launch ? launch_key(launch, "", rest) : sheet->row[i].cell[KEY], own);
		}
	}
}

/* Compares the subjects of two facts: key, scope, host and rank (as a number). */
static int compare_subjects(const struct fact *x, const struct fact *y)
{
	static const int order[] = {KEY, SCOPE, HOST, RANK};
	long long left = atoll(x->field[RANK]), right = atoll(y->field[RANK]);
	int less = 0;

	for (size_t i = 0; i < FB_COUNT_OF(order) && !less; i++) {
		if (order[i] == RANK)
			less = (left > right) - (left < right);
		if (!less)
			less = strcmp(x->field[order[i]], y->field[order[i]]);
	}
	return less;
}

/* Sorts by subject, then by source. */
static int by_subject(const void *a, const void *b)
{
	const struct fact *x = a, *y = b;
	int less = compare_subjects(x, y);

	return less ? less : x->order < y->order ? -1 : x->order > y->order;
}

static size_t subject_length(const struct facts *facts, size_t first)
{
	size_t n = 1;

	while (first + n < facts->count &&
	       !compare_subjects(&facts->fact[first], &facts->fact[first + n]))
		n++;
	return n;
}

/* fact[0 .. n) have one subject. Whether every source has the value of fact[i]. */
static bool all_say(const struct fb_merge *merge, const struct fact *fact, size_t n, size_t i)
{
	size_t sources = 0, last = SIZE_MAX;

	for (size_t j = 0; j < n; j++) {
		if (strcmp(fact[j].field[VALUE], fact[i].field[VALUE]) || fact[j].source == last)
			continue;
		last = fact[j].source;
		sources++;
	}
	return sources == merge->nsources;
}

/* A fact that not all sources share becomes a fact of each launch of its source. */
static void spread(const struct fb_merge *merge, struct facts *joined, const struct fact *fact)
{
	for (size_t i = 0; i < merge->nlaunches; i++) {
		const struct fb_merge_launch *launch = &merge->launch[i];

		if (launch->source == fact->source)
			push(joined, fact, launch_key(launch, "env.", fact->field[KEY]), true);
	}
}

static void join(const struct fb_merge *merge, const struct facts *facts, struct facts *joined)
{
	size_t n;

	for (size_t i = 0; i < facts->count; i += n) {
		const struct fact *fact = &facts->fact[i];
		bool common = false;

		n = subject_length(facts, i);
		for (size_t j = 0; j < n; j++) {
			/* Most facts are equal in all sources, so one check is enough for them. */
			bool same =
				j > 0 && !strcmp(fact[j].field[VALUE], fact[j - 1].field[VALUE]);

			if (!fact[j].launch && !same)
				common = all_say(merge, fact, n, j);
			if (fact[j].launch || (common && fact[j].source == fact[0].source))
				push(joined, &fact[j], fact[j].key, fact[j].launch);
			else if (!common)
				spread(merge, joined, &fact[j]);
		}
	}
}

static void put(FILE *out, const struct fact *fact, const char *key)
{
	for (int i = 0; i < FIELDS; i++) {
		if (i)
			fputc(',', out);
		fb_csv_put_field(out, i == KEY ? key : fact->field[i]);
	}
	fputc('\n', out);
}

/* Behind program.NAME.LAUNCH. of a launch's key. */
static const char *rest_of(const struct fb_merge *merge, const struct fact *fact)
{
	for (size_t i = 0; i < merge->nlaunches; i++) {
		const struct fb_merge_launch *launch = &merge->launch[i];
		char begin[320];
		int n = snprintf(begin, sizeof(begin), FB_FACTS_KEPT "%s.%" PRIu64 ".",
				 launch->program, launch->after);

		if (launch->source == fact->source && !strncmp(fact->key, begin, (size_t)n))
			return fact->key + n;
	}
	return fact->key;
}

/* fact[0 .. n) have one subject. Writes each value once, and marks those of later sources. */
static void put_subject(const struct fb_merge *merge, FILE *out, const struct fact *fact, size_t n)
{
	put(out, &fact[0], fact[0].key);
	for (size_t i = 1; i < n; i++) {
		const char *rest = rest_of(merge, &fact[i]);
		bool said = false;

		for (size_t j = 0; j < i && !said; j++)
			said = !strcmp(fact[i].field[VALUE], fact[j].field[VALUE]);
		if (said)
			continue;
		if (fact[i].source == fact[0].source)
			put(out, &fact[i], fact[i].key);
		else
			put(out, &fact[i],
			    fb_new_text("%.*spart%zu.%s", (int)(rest - fact[i].key), fact[i].key,
					fact[i].source + 1, rest));
	}
}

/* Whether two launches of a program are different, but were started with the same options. */
static bool same_order(const struct fb_merge_launch *a, const struct fb_merge_launch *b)
{
	return !strcmp(a->program, b->program) && a->after != b->after && a->seed && b->seed &&
	       !strcmp(a->seed, b->seed) && a->index && b->index && !strcmp(a->index, b->index);
}

static void warn_order(const struct fb_merge *merge)
{
	for (size_t i = 0; i < merge->nlaunches * merge->nlaunches; i++) {
		const struct fb_merge_launch *a = &merge->launch[i / merge->nlaunches];
		const struct fb_merge_launch *b = &merge->launch[i % merge->nlaunches];

		if (a <= b || !same_order(a, b))
			continue;
		fb_warn("launches had the same --seed and --launch-index, such as %" PRIu64 " and "
			"%" PRIu64 " of %s: their rows have the same order, and serve's requests "
			"the same arrivals, so the launches are not independent",
			b->after, a->after, a->program);
		return;
	}
}

void fb_merge_put_facts(const struct fb_merge *merge, FILE *out)
{
	struct facts facts = {.count = 0}, joined = {.count = 0};
	size_t n;

	collect(merge, &facts);
	if (facts.count)
		qsort(facts.fact, facts.count, sizeof(*facts.fact), by_subject);
	join(merge, &facts, &joined);
	if (joined.count)
		qsort(joined.fact, joined.count, sizeof(*joined.fact), by_subject);
	fputs("scope,host,rank,key,value\n", out);
	for (size_t i = 0; i < joined.count; i += n) {
		n = subject_length(&joined, i);
		put_subject(merge, out, &joined.fact[i], n);
	}
	warn_order(merge);
}
