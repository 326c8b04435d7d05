/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing and sorting rows; see query.h. */
#include "common/base/error.h"
#include "common/base/sizes.h"
#include "scripts/tools/lib/axis.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/query/query.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_CHARS = 256 };

/* Longer ones first, because each begins with a shorter one. */
static const char *const operators[] = {"!=", "<=", ">=", "=", "<", ">"};
enum { NOT_EQUAL, AT_MOST, AT_LEAST, EQUAL, LESS, GREATER, OPERATORS };

struct filter {
	size_t column;
	int operator_;
	const char *value;
	double number; /* of the comparisons by size */
};

bool fb_query_number(const char *text, double *value)
{
	uint64_t bytes;
	char *end;

	if (!fb_size_parse(text, &bytes)) {
		*value = (double)bytes;
		return true;
	}
	if (!*text || isspace((unsigned char)*text))
		return false;
	*value = strtod(text, &end);
	return !*end && isfinite(*value);
}

static size_t name_length(const char *argument)
{
	size_t n = 0;

	while (isalnum((unsigned char)argument[n]) || argument[n] == '_')
		n++;
	return n;
}

static int find_operator(const char *text)
{
	int i = 0;

	while (i < OPERATORS && strncmp(text, operators[i], strlen(operators[i])))
		i++;
	return i;
}

bool fb_query_is_filter(const char *argument)
{
	size_t n = name_length(argument);

	return n > 0 && find_operator(argument + n) < OPERATORS;
}

size_t fb_query_split(char **words, size_t count)
{
	size_t paths = 0;

	for (size_t i = 0; i < count; i++) {
		char *word = words[i];

		if (fb_query_is_filter(word) && access(word, F_OK))
			continue;
		memmove(words + paths + 1, words + paths, (i - paths) * sizeof(*words));
		words[paths++] = word;
	}
	return paths;
}

/* One item of a list: sets whether it is a range, and its ends. */
static bool as_range(const char *item, double *low, double *high)
{
	const char *colon = strchr(item, ':');
	char begin[TEXT_CHARS];

	if (!colon)
		return false;
	snprintf(begin, sizeof(begin), "%.*s", (int)(colon - item), item);
	*low = -INFINITY;
	*high = INFINITY;
	return (!*begin || fb_query_number(begin, low)) &&
	       (!colon[1] || fb_query_number(colon + 1, high));
}

static bool matches_item(const char *cell, const char *item)
{
	double number, low, high;
	bool numeric = fb_query_number(cell, &number);

	if (numeric && fb_query_number(item, &low))
		return !(number < low) && !(number > low);
	if (numeric && as_range(item, &low, &high))
		return number >= low && number <= high;
	return fnmatch(item, cell, 0) == 0;
}

static bool matches_list(const char *cell, const char *list)
{
	char item[TEXT_CHARS];

	while (fb_list_next(&list, item, sizeof(item)))
		if (matches_item(cell, item))
			return true;
	return false;
}

static bool matches(const struct filter *filter, const char *cell)
{
	/* Columns: the cell is less than the number, equal to it, greater. */
	static const bool accepted[OPERATORS][3] = {
		[LESS] = {true, false, false},
		[AT_MOST] = {true, true, false},
		[AT_LEAST] = {false, true, true},
		[GREATER] = {false, false, true},
	};
	double number;

	if (filter->operator_ == EQUAL || filter->operator_ == NOT_EQUAL)
		return matches_list(cell, filter->value) == (filter->operator_ == EQUAL);
	if (!fb_query_number(cell, &number))
		return false;
	return accepted[filter->operator_][(number >= filter->number) + (number > filter->number)];
}

/* Columns of numbers take numbers, ranges, patterns and nothing; no item may be cut. */
static int check_list(const char *argument, const char *list, bool number)
{
	char item[TEXT_CHARS];
	double low, high;

	for (const char *text = list; fb_list_next(&list, item, sizeof(item)); text = list) {
		if (strcspn(text, ",") >= sizeof(item))
			return fb_error(FB_EINPUT, "'%.40s': a value is too long", argument);
		if (number && *item && !strpbrk(item, "*?[") && !fb_query_number(item, &low) &&
		    !as_range(item, &low, &high))
			return fb_error(FB_EINPUT,
					"'%.80s': '%.40s' is not accepted: expected numbers, as "
					"64K or 1.5, and ranges, as 1K:1M",
					argument, item);
	}
	return FB_OK;
}

int fb_query_filter(struct fb_query_table *table, const char *argument)
{
	size_t n = name_length(argument), kept = 0;
	struct filter filter = {.operator_ = find_operator(argument + n)};
	char name[TEXT_CHARS];
	int err;

	snprintf(name, sizeof(name), "%.*s", (int)n, argument);
	err = fb_query_find(table, name, &filter.column);
	if (err)
		return err;
	filter.value = argument + n + strlen(operators[filter.operator_]);
	if (filter.operator_ != EQUAL && filter.operator_ != NOT_EQUAL) {
		if (!fb_query_number(filter.value, &filter.number))
			return fb_error(FB_EINPUT, "'%.80s': expected a number behind '%s'",
					argument, operators[filter.operator_]);
	} else {
		err = check_list(argument, filter.value, table->number[filter.column]);
	}
	for (size_t i = 0; i < table->nrows && !err; i++)
		if (matches(&filter, table->row[i][filter.column]))
			table->row[kept++] = table->row[i];
	if (!err)
		table->nrows = kept;
	return err;
}

struct order {
	size_t column;
	bool descending;
};

/* A row with its place, so that the sort is stable. */
struct placed {
	const char **row;
	size_t place;
};

static int by_column(const void *a, const void *b, void *arg)
{
	const struct order *order = arg;
	const struct placed *x = a, *y = b;
	int less = fb_axis_compare(x->row[order->column], y->row[order->column]);

	if (less)
		return order->descending ? -less : less;
	return x->place < y->place ? -1 : x->place > y->place;
}

void fb_query_sort(struct fb_query_table *table, size_t column, bool descending)
{
	struct order order = {column, descending};
	struct placed *list = fb_new(table->nrows + 1, sizeof(*list));

	for (size_t i = 0; i < table->nrows; i++)
		list[i] = (struct placed){table->row[i], i};
	qsort_r(list, table->nrows, sizeof(*list), by_column, &order);
	for (size_t i = 0; i < table->nrows; i++)
		table->row[i] = list[i].row;
}
