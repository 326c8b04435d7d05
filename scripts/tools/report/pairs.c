/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of pairs of ranks: a matrix for each operation, algorithm and size. */
#include "scripts/tools/plot/matrix.h"
#include "scripts/tools/report/page.h"

#include <jansson.h>

/* Beyond these a picture serves better (scripts/plot matrix). */
enum { RANKS_MAX = 64, MATRICES_MAX = 60 };

static void put_matrix(json_t *list, const struct fb_matrix *m, const char *slow)
{
	json_t *made = fb_json_object(list, NULL), *values;

	fb_json_set(made, "title", fb_json_string(m->title));
	fb_json_set(made, "unit", fb_json_string(m->unit));
	fb_json_set(made, "row_name", fb_json_string(m->row_name));
	fb_json_set(made, "column_name", fb_json_string(m->column_name));
	fb_json_set(made, "slow", fb_json_string(slow));
	fb_json_set(made, "more_is_better", json_boolean(m->more_is_better));
	values = fb_json_array(made, "values");
	for (size_t r = 0; r < m->rows; r++) {
		json_t *row = fb_json_array(values, NULL);

		for (size_t c = 0; c < m->columns; c++)
			fb_json_add(row, fb_json_real(m->value[r * m->columns + c]));
	}
}

void fb_page_pairs(const struct fb_page *page, json_t *data)
{
	json_t *list = fb_json_array(data, "pairs");
	struct fb_matrix none = {0};
	size_t count = 0, small = 0;

	fb_matrix_read_rows(&none, &page->set->cells, 0, &count);
	for (size_t i = 1; i <= count && small < MATRICES_MAX; i++) {
		char slow[FB_MATRIX_SLOW_CHARS];
		struct fb_matrix m = {0};
		size_t all;

		fb_matrix_read_rows(&m, &page->set->cells, i, &all);
		fb_matrix_name_slow(&m, &page->set->results, slow, sizeof(slow));
		if (m.rows <= RANKS_MAX) {
			put_matrix(list, &m, slow);
			small++;
		}
	}
	fb_json_set(data, "pairs_hidden", fb_json_real((double)(count - small)));
}
