/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows that took another path; see path_changes.h. */
#include "scripts/tools/compare/path_changes.h"

#include <string.h>

bool fb_path_differs(const char *before, const char *after)
{
	return *before && *after && strcmp(before, after) != 0;
}

void fb_path_changes_add(struct fb_path_changes *changes, uint32_t key, const char *before,
			 const char *after)
{
	size_t k = 0;

	if (!fb_path_differs(before, after))
		return;
	changes->rows++;
	while (k < changes->kinds && (strcmp(changes->kind[k].before, before) != 0 ||
				      strcmp(changes->kind[k].after, after) != 0))
		k++;
	if (k == FB_PATH_CHANGES)
		return;
	if (k == changes->kinds) {
		changes->kind[k].before = before;
		changes->kind[k].after = after;
		changes->kind[k].first = key;
		changes->kind[k].count = 0;
		changes->kinds++;
	}
	changes->kind[k].count++;
}

void fb_path_changes_print(const struct fb_path_changes *changes, const struct fb_labels *labels,
			   const char *title, FILE *out)
{
	if (changes->rows)
		fprintf(out, "\n%s\n", title);
	for (size_t k = 0; k < changes->kinds; k++) {
		char label[FB_ROW_LABEL_CHARS];

		fprintf(out, "  %.42s -> %.42s: %zu\n    %.90s\n", changes->kind[k].before,
			changes->kind[k].after, changes->kind[k].count,
			fb_row_label(labels, changes->kind[k].first, label));
	}
}
