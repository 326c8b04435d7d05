/* SPDX-License-Identifier: BSD-3-Clause */
/* See env.h. */
#include "scripts/tools/lib/env.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/sheet.h"

#include <stdlib.h>
#include <string.h>

static const char *const columns[] = {"scope", "host", "rank", "key", "value", NULL};
enum { SCOPE, HOST, RANK, KEY, VALUE, COLUMNS };

void fb_env_add(struct fb_env *env, const char *key, const char *host, int rank, const char *value)
{
	*FB_ADD(env->fact, env->count) = (struct fb_env_fact){
		.key = key, .value = value, .host = host, .scope = "", .rank = rank};
}

int fb_env_read(struct fb_env *env, const char *path)
{
	struct fb_sheet sheet;
	int at[COLUMNS] = {0}, err = fb_sheet_read_kinds(&sheet, path, ~0U);

	env->files++;
	if (!err && sheet.column)
		err = fb_sheet_columns(&sheet, columns, at);
	for (size_t i = 0; i < sheet.nrows && !err; i++) {
		char *const *cell = sheet.row[i].cell;
		const char *rank = cell[at[RANK]];

		fb_env_add(env, cell[at[KEY]], cell[at[HOST]],
			   *rank ? (int)strtol(rank, NULL, 10) : -1, cell[at[VALUE]]);
		env->fact[env->count - 1].scope = cell[at[SCOPE]];
	}
	return err;
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
	for (size_t i = 0; i < env->count; i++)
		if (!n || compare(&env->fact[n - 1], &env->fact[i]))
			env->fact[n++] = env->fact[i];
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

size_t fb_env_program(const char *key, const char **rest)
{
	static const char before[] = "program.";
	const char *name = key + strlen(before), *end = NULL, *launch = NULL;

	if (!strncmp(key, before, strlen(before)))
		end = strchr(name, '.');
	if (end)
		launch = end + 1 + strspn(end + 1, "0123456789");
	if (!launch || *launch != '.')
		return 0;
	*rest = launch + 1;
	return (size_t)(end - name);
}
