/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ran for each key, from the column `path`; see launches.h and set.h.
 *
 * If a library chooses another algorithm (a ring instead of a tree), this explains a change better
 * than a version does. There are few different texts, so keys hold their numbers.
 */
#include "common/record/traits.h"
#include "scripts/tools/compare/set.h"
#include "scripts/tools/lib/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { TEXTS_MAX = 1000 };

/* Cuts the text in front of "; 12WORDS" or ", 12WORDS", whatever the number is. */
static void cut_count(char *way, const char *words)
{
	char *at = strstr(way, words);

	while (at && at > way && isdigit((unsigned char)at[-1]))
		at--;
	if (at && at > way + 2 && at[-1] == ' ' && (at[-2] == ';' || at[-2] == ','))
		at[-2] = '\0';
}

/*
 * The part of a path that is compared. Counters in parentheses, warnings of NCCL and the share of
 * payload in older rows of NIXL are left out, as they always differ. A library's version is left
 * out because it is a fact, and facts are compared by themselves.
 */
static void way_of(const char *path, char way[FB_PATH_CHARS])
{
	static const char *const versioned[] = {"NCCL ", "NVSHMEM ", "UCX ", "libfabric "};
	static const char *const mpis[] = {"Open MPI", "MPICH"};
	const char *end = strstr(path, " (");
	size_t n;

	snprintf(way, FB_PATH_CHARS, "%.*s", end ? (int)(end - path) : FB_PATH_CHARS, path);
	cut_count(way, " warnings: ");
	cut_count(way, "% of the payload");
	for (size_t i = 0; i < sizeof(versioned) / sizeof(versioned[0]); i++) {
		n = strlen(versioned[i]);
		if (strncmp(way, versioned[i], n) != 0 || !isdigit((unsigned char)way[n]))
			continue;
		end = way + n + strcspn(way + n, " ,");
		memmove(way + n - 1, end, strlen(end) + 1);
	}
	/* The rest of an MPI library's text is a version. */
	for (size_t i = 0; i < sizeof(mpis) / sizeof(mpis[0]); i++)
		if (!strncmp(way, mpis[i], strlen(mpis[i])))
			way[strlen(mpis[i])] = '\0';
}

/* The number of a text plus 1; 0: there are too many. */
static uint16_t number_of(struct fb_set *set, const char *path)
{
	char way[FB_PATH_CHARS];

	way_of(path, way);
	for (size_t i = 0; i < set->npath_texts; i++)
		if (!strcmp(set->path_text[i], way))
			return (uint16_t)(i + 1);
	if (set->npath_texts == TEXTS_MAX)
		return 0;
	*FB_ADD(set->path_text, set->npath_texts) = fb_new_copy(way);
	return (uint16_t)set->npath_texts;
}

void fb_set_note(struct fb_set *set, uint32_t key, const char *reason, const char *path)
{
	struct fb_key_note *note;

	while (set->nnotes <= key)
		FB_ADD(set->note, set->nnotes);
	note = &set->note[key];
	if (reason && !note->reason)
		note->reason = fb_new_copy(reason);
	if (*path && !note->path)
		note->path = number_of(set, path);
}

const char *fb_set_path(const struct fb_set *set, uint32_t key)
{
	return key < set->nnotes && set->note[key].path ? set->path_text[set->note[key].path - 1]
							: "";
}
