/* SPDX-License-Identifier: BSD-3-Clause */
/* Choosing the cells that a table is made of; see tune.h. */
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/tune/tune.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/option/option.h"
#include "common/plan/collective.h"

/* Engines whose choices a table can make, and whose machine they are of. */
static const struct {
	const char *name;
	enum fb_machine kind;
} engines[] = {
	{"cuda", FB_MACHINE_GPU}, {"copy", FB_MACHINE_GPU}, {"auto", FB_MACHINE_GPU},
	{"nccl", FB_MACHINE_GPU}, {"host", FB_MACHINE_CPU}};

enum { ENGINES = FB_COUNT_OF(engines), ITEM_CHARS = 128 };

/* Columns that are the same for all of a family. */
static const char *const common_columns[] = {"ranks", "nodes", "transport"};

static size_t engine_of(const char *name)
{
	size_t i = 0;

	while (i < ENGINES && strcmp(engines[i].name, name))
		i++;
	return i;
}

enum fb_machine fb_tune_kind(const struct fb_tune_sample *sample)
{
	return engines[engine_of(sample->engine)].kind;
}

/* Whether the comma-separated list has the text. */
static bool has(const char *list, const char *text)
{
	char item[ITEM_CHARS];

	while (list && fb_option_next_item(&list, item, sizeof(item)) > 0)
		if (!strcmp(item, text))
			return true;
	return false;
}

/* "COLUMN=VALUE,...": FB_EINPUT (printed) for a column that there is not. */
static int filter_column(const char *filter, const char **values, const char **column)
{
	size_t n = strcspn(filter, "=");

	for (size_t i = 0; i < fb_columns_count; i++)
		if (strlen(fb_columns[i].name) == n && !strncmp(fb_columns[i].name, filter, n)) {
			*column = fb_columns[i].name;
			*values = filter + n + 1;
			return FB_OK;
		}
	return fb_error(FB_EINPUT, "%s: no column '%.*s'; expected one of docs/csv.md", filter,
			(int)n, filter);
}

/* A step with collectives of one kind beside products: buckets of ddp, or contention's. */
static bool is_step(const struct fb_cell *cell)
{
	const char *program = fb_cell_text(cell, "program");
	const char *schedule = fb_cell_text(cell, "operation");

	return (!strcmp(program, "ddp") && !strcmp(schedule, "overlap")) ||
	       (!strcmp(program, "contention") && !strcmp(schedule, "gemm"));
}

/* The name of a collective that lasts; NULL: there is none of that name. */
static const char *collective_name(const char *name)
{
	for (int i = 0; i < FB_COLLECTIVES; i++)
		if (!strcmp(fb_collective_info((enum fb_collective)i)->name, name))
			return fb_collective_info((enum fb_collective)i)->name;
	return NULL;
}

/* Whether the cell has an engine and choices that a table of the wanted kind can name. */
static bool can_name(const struct fb_cell *cell, const struct fb_tune_settings *s)
{
	if (s->nccl_table)
		return fb_tune_nccl_takes(cell);
	return engine_of(fb_cell_text(cell, "engine")) < ENGINES &&
	       strcmp(fb_cell_text(cell, "algorithm"), "auto") &&
	       strcmp(fb_cell_text(cell, "protocol"), "auto") && !fb_cell_is_library(cell);
}

int fb_tune_wants(const struct fb_cell *cell, const struct fb_tune_settings *settings,
		  bool *wanted)
{
	const struct fb_tune_settings *s = settings;

	*wanted = !has(s->without, fb_cell_text(cell, "algorithm")) &&
		  !has(s->without, fb_cell_text(cell, "protocol")) &&
		  is_step(cell) == (s->objective == FB_OVERLAPPED);
	for (size_t i = 0; i < s->nfilters; i++) {
		const char *values = NULL, *column = NULL;
		int err = filter_column(s->filter[i], &values, &column);

		if (err)
			return err;
		*wanted = *wanted && has(values, fb_cell_text(cell, column));
	}
	return FB_OK;
}

/* Whether a key of `variant` is one that a rule can set. */
static bool is_shape(const char *key)
{
	static const char *const keys[] = {"channels", "copy_streams", "threads", "slot_bytes"};

	return FB_AMONG(key, keys);
}

/*
 * Splits `variant` into the shape and the context; false: it has keys that a rule cannot have. Keys
 * of unequal blocks are their sizes; those of a step are how much it computes, and the size of its
 * collectives.
 */
static bool read_variant(struct fb_tune_sample *sample, bool step)
{
	const char *at = fb_cell_text(sample->cell, "variant");
	int collective = fb_collective_parse(sample->operation);
	bool has_traffic = collective >= 0 &&
			   fb_collective_info((enum fb_collective)collective)->unequal;
	struct fb_tuned *tuned = &sample->tuned;
	char key[ITEM_CHARS];
	size_t used = 0;

	*tuned = (struct fb_tuned){.channels = 0};
	for (; *at; at += strcspn(at, ";"), at += *at == ';') {
		uint64_t number;
		char *value;

		snprintf(key, sizeof(key), "%.*s", (int)strcspn(at, ";"), at);
		value = strchr(key, '=');
		if (!value)
			return false;
		*value++ = '\0';
		if (step && !strcmp(key, "bucket")) {
			if (strcmp(value, "whole") && fb_size_parse(value, &sample->bytes))
				return false;
			continue;
		}
		if (step && !strcmp(key, "collective")) {
			sample->operation = collective_name(value);
			if (!sample->operation)
				return false;
			continue;
		}
		/* A row without computing beside it cannot show what is best beside computing. */
		if (step && !strcmp(key, "streams") && !strcmp(value, "0"))
			return false;
		if (has_traffic ? !strcmp(key, "skew") || !strcmp(key, "matrix") ||
				  !strcmp(key, "weights")
				: step && !is_shape(key)) {
			used += (size_t)snprintf(sample->context + used,
						 sizeof(sample->context) - used, "%s=%s;", key,
						 value);
			if (used >= sizeof(sample->context))
				return false;
			continue;
		}
		if (fb_size_parse(value, &number))
			return false;
		if (!strcmp(key, "channels") || !strcmp(key, "copy_streams"))
			tuned->channels = (uint32_t)number;
		else if (!strcmp(key, "threads"))
			tuned->threads = (uint32_t)number;
		else if (!strcmp(key, "slot_bytes"))
			tuned->slot_bytes = number;
		else
			return false;
	}
	return true;
}

static bool is_many(enum fb_blocks blocks)
{
	return blocks == FB_BLOCK_PER_RANK || blocks == FB_PER_RANK_AT_ROOT;
}

/* Bytes of a block of the larger buffer, whose length is `bytes`. */
static uint64_t block_bytes(const struct fb_tune_sample *s)
{
	int collective = fb_collective_parse(s->operation);
	const struct fb_collective_info *info =
		collective < 0 ? NULL : fb_collective_info((enum fb_collective)collective);
	uint64_t ranks = strtoull(fb_cell_text(s->cell, "ranks"), NULL, 10);
	bool many = info && (is_many(info->in) || is_many(info->out));

	return many && ranks ? s->bytes / ranks : s->bytes;
}

/* No table is made from wrong or faulty rows, because other rows of the run may be wrong too. */
static int judge(const struct fb_cell *cell)
{
	bool wrong = cell->status == FB_STATUS_WRONG;

	if (!wrong && cell->status != FB_STATUS_FAULT)
		return FB_OK;
	return fb_error(wrong ? FB_EDATA : FB_EPEER,
			"%s %s %s %s, %llu bytes: %s: %s: no table is made of such rows; "
			"measure again, or leave them out by --without",
			fb_cell_text(cell, "operation"), fb_cell_text(cell, "engine"),
			fb_cell_text(cell, "algorithm"), fb_cell_text(cell, "protocol"),
			(unsigned long long)cell->bytes, fb_status_name(cell->status),
			cell->reason);
}

static int compare_families(const void *x, const void *y)
{
	const struct fb_tune_sample *a = x, *b = y;
	size_t ea = engine_of(a->engine), eb = engine_of(b->engine);
	int order = 0;

	/* GPUs' first: their table comes first. */
	if (ea != eb)
		return ea < eb ? -1 : 1;
	order = strcmp(a->operation, b->operation);
	for (size_t i = 0; !order && i < FB_COUNT_OF(common_columns); i++) {
		const char *ta = fb_cell_text(a->cell, common_columns[i]);
		const char *tb = fb_cell_text(b->cell, common_columns[i]);
		size_t la = strlen(ta), lb = strlen(tb);
		/* Numbers have no leading zeroes: a longer one is greater. */
		bool number = *ta >= '0' && *ta <= '9';

		order = number && la != lb ? (la < lb ? -1 : 1) : strcmp(ta, tb);
	}
	return order ? order : (int)a->unaligned - (int)b->unaligned;
}

static int compare_samples(const void *x, const void *y)
{
	const struct fb_tune_sample *a = x, *b = y;
	int order = compare_families(x, y);

	/* Equal samples keep their order, so that the same rows always make the same table. */
	return order ? order : (a->cell > b->cell) - (a->cell < b->cell);
}

/* The same sample for rules of engine auto; false: auto never chooses its engine. */
static bool make_automatic(const struct fb_tune_sample *own, struct fb_tune_sample *automatic)
{
	*automatic = *own;
	automatic->engine = "auto";
	if (!strcmp(own->engine, "copy"))
		automatic->algorithm = strcmp(own->algorithm, "pull") ? "copy/push" : "copy/pull";
	return !strcmp(own->engine, "copy") || !strcmp(own->engine, "cuda");
}

int fb_tune_samples(const struct fb_cells *cells, const struct fb_tune_settings *settings,
		    struct fb_tune_sample **samples, size_t *count)
{
	struct fb_tune_sample *list = fb_new(2 * cells->count + 1, sizeof(*list));
	size_t n = 0, foreign = 0, times = 0;
	int err = FB_OK;

	for (size_t i = 0; i < cells->count && !err; i++) {
		const struct fb_cell *cell = &cells->cell[i];
		bool wanted = false;

		err = fb_tune_wants(cell, settings, &wanted);
		if (err || !wanted || !can_name(cell, settings))
			continue;
		err = judge(cell);
		list[n].cell = cell;
		list[n].engine = fb_cell_text(cell, "engine");
		list[n].algorithm = fb_cell_text(cell, "algorithm");
		list[n].operation = is_step(cell) ? "all_reduce" : fb_cell_text(cell, "operation");
		list[n].bytes = cell->bytes;
		if (!read_variant(&list[n], is_step(cell))) {
			foreign++;
			continue;
		}
		list[n].unaligned = fb_tuning_unaligned(block_bytes(&list[n]));
		times += fb_cell_has_time(cell) ? 1 : 0;
		n += make_automatic(&list[n], &list[n + 1]) ? 2 : 1;
	}
	if (!err && foreign)
		fb_warn("%zu rows have keys in variant that no rule can have, and are left out",
			foreign);
	if (!err && !times)
		err = fb_error(FB_EINPUT, "no row of %s with a time is left to make a table of",
			       settings->nccl_table ? "engine nccl with --nccl-force"
						    : "engines cuda, copy or host");
	if (err)
		return err;
	qsort(list, n, sizeof(*list), compare_samples);
	*samples = list;
	*count = n;
	return FB_OK;
}

size_t fb_tune_family_length(const struct fb_tune_sample *sample, size_t n)
{
	size_t end = 1;

	while (end < n && !compare_families(&sample[0], &sample[end]))
		end++;
	return end;
}
