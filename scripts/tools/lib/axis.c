/* SPDX-License-Identifier: BSD-3-Clause */
/* See axis.h. */
#include "common/base/error.h"
#include "common/base/sizes.h"
#include "common/record/case.h"
#include "scripts/tools/lib/axis.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char of_environment[] = "env.";

static bool is_name(const struct fb_span_text *name, const char *text)
{
	return strlen(text) == name->length && !strncmp(text, name->text, name->length);
}

bool fb_variant_value(const char *variant, const char *key, char *buf, size_t n)
{
	struct fb_span_text name, value;

	while (fb_variant_next(&variant, &name, &value))
		if (is_name(&name, key)) {
			snprintf(buf, n, "%.*s", (int)value.length, value.text);
			return true;
		}
	return false;
}

/* Whether the key of a variant is the axis `name`, which may be a variable of the environment. */
static bool is_axis(const struct fb_span_text *key, const char *name)
{
	size_t before = sizeof(of_environment) - 1;
	struct fb_span_text variable = {key->text + before, key->length - before};

	return is_name(key, name) ||
	       (key->length > before && !strncmp(key->text, of_environment, before) &&
		is_name(&variable, name));
}

/* A variable of the row's launch, which merged folders and studies have, or of the whole run. */
static const char *find_variable(const struct fb_results *results, const struct fb_result *row,
				 const char *name)
{
	const char *value;
	char key[256];

	snprintf(key, sizeof(key), "program.%s.%s.env.variable.%s", fb_result_text(row, "program"),
		 fb_result_text(row, "launch_index"), name);
	value = fb_results_fact(results, key);
	if (value)
		return value;
	snprintf(key, sizeof(key), "variable.%s", name);
	value = fb_results_fact(results, key);
	return value ? value : "";
}

/* Replaces the codes by which studies write blanks, tabs, '#', ';' and '%' in a value. */
static void decode(char *text)
{
	char *to = text;

	for (const char *at = text; *at; to++) {
		static const char *const codes[] = {"%20", "%09", "%23", "%3B", "%25"};
		size_t c = 0;

		while (c < 5 && strncmp(at, codes[c], 3))
			c++;
		*to = c < 5 ? " \t#;%"[c] : *at;
		at += c < 5 ? 3 : 1;
	}
	*to = '\0';
}

/* What a row has of that name, in buf or borrowed; "" for nothing. */
static const char *find_value(const struct fb_results *results, const struct fb_result *row,
			      const char *name, char *buf, size_t n)
{
	const char *variant = fb_result_text(row, "variant");
	int column = fb_results_column(results, name);
	struct fb_span_text key, value;

	if (fb_column_find(name) >= 0)
		return fb_result_text(row, name);
	/*
	 * A key precedes a column of that name: the key is an input, the column is a result.
	 */
	while (fb_variant_next(&variant, &key, &value))
		if (is_axis(&key, name)) {
			snprintf(buf, n, "%.*s", (int)value.length, value.text);
			decode(buf);
			return buf;
		}
	return column >= 0 ? fb_result_field(row, (size_t)column)
			   : find_variable(results, row, name);
}

/* Adds a name to a list for people, unless it is there or has no room. */
static void add_name(char *list, size_t n, const char *name, size_t length)
{
	if (!fb_list_has(list, ", ", name, length) && strlen(list) + length + 4 < n)
		fb_append(list, n, "%s%.*s", *list ? ", " : "", (int)length, name);
}

static int refuse(const char *name, const struct fb_results *results)
{
	struct fb_span_text key, value;
	char list[512] = "";

	for (size_t i = 0; i < results->count; i++) {
		const char *variant = fb_result_text(&results->row[i], "variant");

		while (fb_variant_next(&variant, &key, &value))
			add_name(list, sizeof(list), key.text, key.length);
	}
	for (size_t i = 0; i < results->nown; i++)
		add_name(list, sizeof(list), results->own[i], strlen(results->own[i]));
	return fb_error(FB_EINPUT, "--axis '%.60s': no row has it; these rows have %s%s",
			name, list, *list ? ", and all fixed columns" : "all fixed columns");
}

/* What the search for keys that follow from the axes works on. */
struct followers {
	struct fb_axes *axes;
	const struct fb_results *results;
	struct fb_axis_place *place; /* [count of rows] */
	size_t *order;		     /* rows by program and place */
};

static int compare_order(const void *x, const void *y, void *arg)
{
	const struct followers *f = arg;
	size_t a = *(const size_t *)x, b = *(const size_t *)y;
	int order = strcmp(fb_result_text(&f->results->row[a], "program"),
			   fb_result_text(&f->results->row[b], "program"));

	for (size_t i = 0; i < f->axes->count && !order; i++)
		order = strcmp(f->place[a].text[i], f->place[b].text[i]);
	return order;
}

/* Whether a key of `variant` differs between rows, but not between rows of one place. */
static bool follows(const struct followers *f, const char *name)
{
	char first[FB_VARIANT_CHARS] = "", last[FB_VARIANT_CHARS] = "", value[FB_VARIANT_CHARS];
	bool varies = false;

	for (size_t i = 0; i < f->results->count; i++) {
		const struct fb_result *row = &f->results->row[f->order[i]];

		*value = '\0';
		fb_variant_value(fb_result_text(row, "variant"), name, value, sizeof(value));
		if (i && !compare_order(&f->order[i - 1], &f->order[i], (void *)(uintptr_t)f) &&
		    strcmp(value, last))
			return false;
		memcpy(last, value, sizeof(last));
		if (i == 0)
			memcpy(first, value, sizeof(first));
		varies |= strcmp(value, first) != 0;
	}
	return varies;
}

static void find_followers(struct fb_axes *axes, const struct fb_results *results)
{
	struct followers f = {
		.axes = axes,
		.results = results,
		.place = fb_new(results->count + 1, sizeof(*f.place)),
		.order = fb_new(results->count + 1, sizeof(*f.order)),
	};
	size_t given = axes->count, most = given;
	char names[FB_AXES][FB_AXIS_CHARS];
	char seen[4096] = "";

	for (size_t i = 0; i < results->count; i++) {
		fb_axis_place_make(&f.place[i], axes, results, &results->row[i]);
		f.order[i] = i;
	}
	qsort_r(f.order, results->count, sizeof(*f.order), compare_order, &f);
	for (size_t i = 0; i < results->count; i++) {
		const char *rest = f.place[i].rest;
		struct fb_span_text key, value;

		while (fb_variant_next(&rest, &key, &value)) {
			size_t before = strlen(seen);
			char name[FB_AXIS_CHARS];

			add_name(seen, sizeof(seen), key.text, key.length);
			if (strlen(seen) == before || key.length >= sizeof(name))
				continue;
			snprintf(name, sizeof(name), "%.*s", (int)key.length, key.text);
			if (most < FB_AXES && follows(&f, name))
				memcpy(names[most++], name, sizeof(name));
		}
	}
	memcpy(axes->name + given, names + given, (most - given) * sizeof(*names));
	axes->count = most;
}

int fb_axes_parse(struct fb_axes *axes, const char *list, const struct fb_results *results)
{
	const char *rest = list;
	char name[FB_AXIS_CHARS], buf[FB_VARIANT_CHARS];

	axes->count = 0;
	while (fb_list_next(&rest, name, sizeof(name))) {
		size_t i = 0;

		if (axes->count == FB_AXES)
			return fb_error(FB_EINPUT, "--axis %.80s: at most %d names", list, FB_AXES);
		while (i < results->count &&
		       !*find_value(results, &results->row[i], name, buf, sizeof(buf)))
			i++;
		if (i == results->count && results->count)
			return refuse(name, results);
		memcpy(axes->name[axes->count++], name, sizeof(name));
	}
	if (axes->count)
		find_followers(axes, results);
	return FB_OK;
}

bool fb_axes_have(const struct fb_axes *axes, const char *name)
{
	for (size_t i = 0; i < axes->count; i++)
		if (!strcmp(axes->name[i], name))
			return true;
	return false;
}

/* Writes the variant without the keys that are axes. */
static void put_rest(char *to, const struct fb_axes *axes, const char *variant)
{
	struct fb_span_text key, value;
	char *begin = to;

	*to = '\0';
	while (fb_variant_next(&variant, &key, &value)) {
		bool axis = false;

		for (size_t i = 0; i < axes->count; i++)
			axis |= is_axis(&key, axes->name[i]);
		if (axis)
			continue;
		if (to > begin)
			*to++ = ';';
		to = stpncpy(to, key.text, key.length + 1 + value.length);
		*to = '\0';
	}
}

void fb_axis_place_make(struct fb_axis_place *place, const struct fb_axes *axes,
			const struct fb_results *results, const struct fb_result *row)
{
	const char *variant = fb_result_text(row, "variant"), *value[FB_AXES];
	char buf[FB_AXES][FB_VARIANT_CHARS], *to;
	size_t bytes = strlen(variant) + 1;

	for (size_t i = 0; i < axes->count; i++) {
		value[i] = find_value(results, row, axes->name[i], buf[i], sizeof(buf[i]));
		bytes += strlen(value[i]) + 1;
	}
	place->rest = fb_new(bytes, 1);
	put_rest(place->rest, axes, variant);
	to = place->rest + strlen(place->rest) + 1;
	for (size_t i = 0; i < axes->count; i++) {
		place->text[i] = to;
		to = stpcpy(to, value[i]) + 1;
	}
}

bool fb_axis_number(const char *text, double *value)
{
	static const struct {
		const char *unit;
		double factor;
	} units[] = {{"", 1},	   {"K", 0x1p10}, {"M", 0x1p20}, {"G", 0x1p30}, {"T", 0x1p40},
		     {"ns", 1e-9}, {"us", 1e-6},  {"ms", 1e-3},	 {"s", 1},	{"%", 1e-2},
		     {"bit", 1},   {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}};
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '-' && *text != '.')
		return false;
	*value = strtod(text, &end);
	for (size_t i = 0; end != text && i < FB_COUNT_OF(units); i++)
		if (!strcmp(end, units[i].unit)) {
			*value *= units[i].factor;
			return isfinite(*value);
		}
	return false;
}

int fb_axis_compare(const char *a, const char *b)
{
	double x = 0, y = 0;
	bool first = fb_axis_number(a, &x), second = fb_axis_number(b, &y);

	if (first != second)
		return first ? -1 : 1;
	if (first)
		return (x > y) - (x < y);
	if (!*a != !*b)
		return *a ? -1 : 1;
	return strcmp(a, b);
}
