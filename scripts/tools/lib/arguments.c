/* SPDX-License-Identifier: BSD-3-Clause */
/* See arguments.h. */
#include "scripts/tools/lib/arguments.h"

#include <string.h>

/* Whether the word is an option whose value is the next word. */
static bool takes_next(const struct fb_option *table, const char *word)
{
	bool is_long = word[1] == '-';

	for (; table->type != FB_OPT_END; table++) {
		if (table->type == FB_OPT_GROUP || table->type == FB_OPT_FLAG)
			continue;
		if (is_long ? !strcmp(word + 2, table->name)
			    : table->short_name && word[1] == table->short_name && !word[2])
			return true;
	}
	return false;
}

/* Moves argv[from] to argv[to], to >= from. */
static void move_back(char **argv, int from, int to)
{
	char *word = argv[from];

	memmove(argv + from, argv + from + 1, (size_t)(to - from) * sizeof(*argv));
	argv[to] = word;
}

size_t fb_arguments_split(const struct fb_option *table, int argc, char **argv)
{
	size_t files = 0;
	int i = 1, end = argc; /* argv[end .. argc) are files already */

	while (i < end) {
		if (!strcmp(argv[i], "--"))
			return files + (size_t)(end - i - 1); /* all behind it; it stays */
		if (argv[i][0] == '-' && argv[i][1]) {
			i += takes_next(table, argv[i]) ? 2 : 1;
			continue;
		}
		move_back(argv, i, argc - 1);
		end--;
		files++;
	}
	return files;
}
