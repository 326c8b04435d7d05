/* SPDX-License-Identifier: BSD-3-Clause */
/* See facts.h. */
#include "common/base/error.h"
#include "scripts/tools/compare/facts.h"
#include "scripts/tools/lib/records.h"

#include <stdlib.h>
#include <string.h>

/* The columns of environment.csv, in the order of `at` below. */
static const char *const columns[] = {"scope", "host", "rank", "key", "value"};
enum { SCOPE, HOST, RANK, KEY, VALUE, COLUMNS };

struct reader {
	struct fb_env *env;
	int at[COLUMNS];
};

static int read_header(struct reader *r, const struct fb_record *record)
{
	for (int i = 0; i < COLUMNS; i++) {
		r->at[i] = fb_record_find(record, columns[i]);
		if (r->at[i] < 0)
			return fb_error(FB_EINPUT, "%s: no column %s: expected an environment.csv",
					record->path, columns[i]);
	}
	return FB_OK;
}

static int more_facts(struct fb_env *env)
{
	size_t capacity = env->capacity ? 2 * env->capacity : 256;
	struct fb_env_fact *fact = realloc(env->fact, capacity * sizeof(*fact));

	if (!fact)
		return fb_error(FB_ENOMEM, "out of memory for facts");
	env->fact = fact;
	env->capacity = capacity;
	return FB_OK;
}

int fb_env_add(struct fb_env *env, const char *key, const char *host, int rank, const char *value)
{
	char *copy, *at_host, *at_value;

	if (env->count == env->capacity && more_facts(env))
		return FB_ENOMEM;
	copy = malloc(strlen(key) + strlen(host) + strlen(value) + 3);
	if (!copy)
		return fb_error(FB_ENOMEM, "out of memory for facts");
	at_host = stpcpy(copy, key) + 1;
	at_value = stpcpy(at_host, host) + 1;
	stpcpy(at_value, value);
	env->fact[env->count++] =
		(struct fb_env_fact){.key = copy, .host = at_host, .value = at_value, .rank = rank};
	return FB_OK;
}

static int use(void *arg, const struct fb_record *record)
{
	struct reader *r = arg;
	const char *rank;

	if (record->number == 1)
		return read_header(r, record);
	rank = record->field[r->at[RANK]];
	return fb_env_add(r->env, record->field[r->at[KEY]], record->field[r->at[HOST]],
			  *rank ? (int)strtol(rank, NULL, 10) : -1, record->field[r->at[VALUE]]);
}

int fb_env_read(struct fb_env *env, const char *path)
{
	struct reader r = {.env = env};

	env->files++;
	return fb_records_read(path, use, &r, NULL);
}

static int compare(const void *x, const void *y)
{
	const struct fb_env_fact *a = x, *b = y;
	int order = strcmp(a->key, b->key);

	if (!order)
		order = strcmp(a->host, b->host);
	if (!order)
		order = (a->rank > b->rank) - (a->rank < b->rank);
	return order ? order : strcmp(a->value, b->value);
}

void fb_env_sort(struct fb_env *env)
{
	size_t n = 0;

	if (env->count)
		qsort(env->fact, env->count, sizeof(*env->fact), compare);
	for (size_t i = 0; i < env->count; i++) {
		if (n && !compare(&env->fact[n - 1], &env->fact[i]))
			free(env->fact[i].key);
		else
			env->fact[n++] = env->fact[i];
	}
	env->count = n;
}

size_t fb_env_find(const struct fb_env *env, const char *key, size_t *first)
{
	size_t low = 0, high = env->count, n = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(env->fact[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*first = low;
	while (low + n < env->count && !strcmp(env->fact[low + n].key, key))
		n++;
	return n;
}

void fb_env_free(struct fb_env *env)
{
	for (size_t i = 0; i < env->count; i++)
		free(env->fact[i].key);
	free(env->fact);
	*env = (struct fb_env){0};
}
