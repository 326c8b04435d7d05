/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What really ran for each key: the column `path`; see launches.h and set.h.
 *
 * A library that takes another way (a ring where it had a tree) explains a change better than any
 * version does. There are few different texts, so keys hold numbers of them. What follows in
 * parentheses is counters, which always differ.
 */
#include "common/base/error.h"
#include "scripts/tools/compare/set.h"

#include <stdlib.h>
#include <string.h>

enum { TEXTS_MAX = 1000 };

/* The number of a text plus 1; 0: there are too many; -1: no memory. */
static int number_of(struct fb_set *set, const char *path)
{
	const char *end = strstr(path, " (");
	size_t n = end ? (size_t)(end - path) : strlen(path);
	char **more;

	for (size_t i = 0; i < set->npath_texts; i++)
		if (!strncmp(set->path_text[i], path, n) && !set->path_text[i][n])
			return (int)i + 1;
	if (set->npath_texts == TEXTS_MAX)
		return 0;
	more = realloc(set->path_text, (set->npath_texts + 1) * sizeof(*more));
	if (!more)
		return -1;
	set->path_text = more;
	more[set->npath_texts] = strndup(path, n);
	return more[set->npath_texts] ? (int)++set->npath_texts : -1;
}

int fb_set_keep_path(struct fb_set *set, uint32_t key, const char *path)
{
	int number;

	if (key >= set->nran) {
		size_t n = 2 * (size_t)key + 64;
		uint16_t *more = realloc(set->ran, n * sizeof(*more));

		if (!more)
			return fb_error(FB_ENOMEM, "out of memory for paths");
		memset(more + set->nran, 0, (n - set->nran) * sizeof(*more));
		set->ran = more;
		set->nran = n;
	}
	if (set->ran[key] || !*path)
		return FB_OK;
	number = number_of(set, path);
	if (number < 0)
		return fb_error(FB_ENOMEM, "out of memory for paths");
	set->ran[key] = (uint16_t)number;
	return FB_OK;
}

const char *fb_set_path(const struct fb_set *set, uint32_t key)
{
	return key < set->nran && set->ran[key] ? set->path_text[set->ran[key] - 1] : "";
}

void fb_set_free_paths(struct fb_set *set)
{
	for (size_t i = 0; i < set->npath_texts; i++)
		free(set->path_text[i]);
	free(set->path_text);
	free(set->ran);
}
