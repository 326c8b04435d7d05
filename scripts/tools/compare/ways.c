/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows that ran another way; see ways.h. */
#include "scripts/tools/compare/ways.h"

#include <string.h>

bool fb_way_differs(const char *before, const char *after)
{
	return *before && *after && strcmp(before, after) != 0;
}

void fb_ways_add(struct fb_ways *ways, uint32_t key, const char *before, const char *after)
{
	size_t k = 0;

	if (!fb_way_differs(before, after))
		return;
	ways->rows++;
	while (k < ways->kinds && (strcmp(ways->kind[k].before, before) != 0 ||
				   strcmp(ways->kind[k].after, after) != 0))
		k++;
	if (k == FB_WAYS)
		return;
	if (k == ways->kinds) {
		ways->kind[k].before = before;
		ways->kind[k].after = after;
		ways->kind[k].first = key;
		ways->kind[k].count = 0;
		ways->kinds++;
	}
	ways->kind[k].count++;
}

void fb_ways_print(const struct fb_ways *ways, const struct fb_labels *labels, const char *title,
		   FILE *out)
{
	if (ways->rows)
		fprintf(out, "\n%s\n", title);
	for (size_t k = 0; k < ways->kinds; k++) {
		char label[FB_ROW_LABEL_CHARS];

		fprintf(out, "  %.42s -> %.42s: %zu\n    %.90s\n", ways->kind[k].before,
			ways->kind[k].after, ways->kind[k].count,
			fb_row_label(labels, ways->kind[k].first, label));
	}
}
