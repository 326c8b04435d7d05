/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts of environment.csv, of the run and of the base: host, rank, key and value of each. */
#include "scripts/tools/lib/text.h"
#include "scripts/tools/report/page.h"

#include <jansson.h>

static void put_facts(json_t *data, const char *name, const struct fb_sheet *table)
{
	static const char *const names[] = {"host", "rank", "key", "value"};
	json_t *list = fb_json_array(data, name);

	for (size_t i = 0; table->ncolumns && i < table->nrows; i++) {
		json_t *fact = fb_json_array(list, NULL);

		for (size_t c = 0; c < FB_COUNT_OF(names); c++) {
			int column = fb_sheet_column(table, names[c]);

			fb_json_add(fact, fb_json_string(column < 0 ? ""
							 : fb_sheet_text(table, i, column)));
		}
	}
}

void fb_page_facts(const struct fb_page *page, json_t *data)
{
	put_facts(data, "facts", &page->set->environment);
	if (page->base)
		put_facts(data, "base_facts", &page->base->environment);
}
