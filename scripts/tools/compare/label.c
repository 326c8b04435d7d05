/* SPDX-License-Identifier: BSD-3-Clause */
/* See label.h. Titles and labels are those of `summary`, so that rows are found again there. */
#include "scripts/tools/compare/label.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 128 };

/* A key as the cell that `summary` would make of it. */
struct view {
	char *field[COLUMNS_MAX];
	struct fb_result row;
	struct fb_cell cell;
	struct fb_section section;
};

static void look(struct view *view, const struct fb_labels *labels, uint32_t key)
{
	static char nothing[] = "";

	for (size_t i = 0, n = 0; i < fb_columns_count; i++)
		view->field[i] = fb_columns[i].kind == FB_COLUMN_KEY
					 ? labels->keys->key[key].field[n++]
					 : nothing;
	view->row = (struct fb_result){.field = view->field, .nfields = fb_columns_count};
	view->cell = (struct fb_cell){
		.row = &view->row,
		.bytes = strtoull(fb_result_text(&view->row, "bytes"), NULL, 10),
	};
	view->section = (struct fb_section){.cell = &view->cell, .count = 1};
}

struct fb_labels fb_labels_make(const struct fb_keys *keys)
{
	enum { OPERATIONS = 64 };
	char *const *first[OPERATIONS];
	struct fb_labels labels = {.keys = keys};
	size_t columns = fb_keys_columns(), operations = 0;

	/* Compares with the first key of the same program and operation, the first key columns. */
	for (size_t i = 0; i < keys->count; i++) {
		char *const *field = keys->key[i].field;
		size_t o = 0;

		while (o < operations &&
		       (strcmp(first[o][0], field[0]) != 0 || strcmp(first[o][1], field[1]) != 0))
			o++;
		if (o == operations && operations < OPERATIONS)
			first[operations++] = field;
		if (o == OPERATIONS)
			o = 0;
		for (size_t k = 2; k < columns; k++)
			labels.varies[k] |= strcmp(field[k], first[o][k]) != 0;
	}
	return labels;
}

const char *fb_row_who(const struct fb_labels *labels, uint32_t key, char buf[FB_ROW_LABEL_CHARS])
{
	char label[FB_LABEL_CHARS];
	struct view view;

	look(&view, labels, key);
	snprintf(buf, FB_ROW_LABEL_CHARS, "%s", fb_cell_label(&view.cell, label));
	return buf;
}

const char *fb_row_title(const struct fb_labels *labels, uint32_t key, char buf[FB_ROW_LABEL_CHARS])
{
	struct view view;

	look(&view, labels, key);
	return fb_section_title(&view.section, buf, FB_ROW_LABEL_CHARS);
}

const char *fb_row_bytes(const struct fb_labels *labels, uint32_t key, char buf[FB_SIZE_CHARS])
{
	const char *bytes = fb_key_text(&labels->keys->key[key], "bytes");

	if (!strcmp(bytes, "0"))
		snprintf(buf, FB_SIZE_CHARS, "-");
	else
		fb_size_text(strtoull(bytes, NULL, 10), buf);
	return buf;
}

const char *fb_row_label(const struct fb_labels *labels, uint32_t key, char buf[FB_ROW_LABEL_CHARS])
{
	/* These are in every label already. */
	static const char *const said[] = {"program",  "operation", "engine", "algorithm",
					   "protocol", "transport", "bytes"};
	char who[FB_ROW_LABEL_CHARS], bytes[FB_SIZE_CHARS];
	const struct fb_key *k = &labels->keys->key[key];
	size_t columns = fb_keys_columns();

	snprintf(buf, FB_ROW_LABEL_CHARS, "%.120s %.120s %s", fb_key_text(k, "operation"),
		 fb_row_who(labels, key, who), fb_row_bytes(labels, key, bytes));
	for (size_t i = 0; i < columns; i++) {
		const char *name = fb_key_column(i)->name, *text = k->field[i];

		if (labels->varies[i] && *text && strcmp(text, "-") && !FB_AMONG(name, said))
			fb_append(buf, FB_ROW_LABEL_CHARS, " %s=%s", name, text);
	}
	return buf;
}

bool fb_row_same_section(const struct fb_labels *labels, uint32_t a, uint32_t b)
{
	char *const *x = labels->keys->key[a].field, *const *y = labels->keys->key[b].field;
	size_t columns = fb_keys_columns();

	for (size_t i = 0; i < columns; i++)
		if (!fb_section_inner(fb_key_column(i)->name) && strcmp(x[i], y[i]) != 0)
			return false;
	return true;
}
