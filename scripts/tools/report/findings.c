/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists findings for the reader: rows that failed, suspicious rows, ranks that lag. */
#include "common/base/sizes.h"
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/rank_times.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/lib/symptoms.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/report/page.h"

#include <jansson.h>
#include <unistd.h>

static void put_laggard(void *arg, const char *sentence)
{
	fb_json_add(arg, fb_json_string(sentence));
}

/* Lists the ranks that lag, by ranks.csv; without that file, or without memory, none. */
static void put_laggards(const struct fb_page *page, json_t *list)
{
	char *file = fb_beside(page->set->path[0], "ranks.csv");
	struct fb_rank_times times = {.groups = 0};

	if (access(file, R_OK) == 0 && !fb_rank_times_read(&times, file))
		fb_laggards(&times, &page->set->results, put_laggard, list);
}

/* What each flag means: name, sign, causes, where to look, remedy. */
static void put_symptoms(json_t *list)
{
	for (size_t i = 0; i < fb_symptoms_count; i++) {
		const struct fb_symptom *s = &fb_symptoms[i];
		const char *const texts[] = {s->flag, s->sign, s->causes, s->look, s->remedy};
		json_t *symptom = s->flag ? fb_json_array(list, NULL) : NULL;

		for (size_t t = 0; t < FB_COUNT_OF(texts) && symptom; t++)
			fb_json_add(symptom, fb_json_string(texts[t]));
	}
}

void fb_page_findings(const struct fb_page *page, json_t *data)
{
	const struct fb_cells *cells = &page->set->cells;
	struct fb_tally tally = fb_report_tally(cells);
	json_t *troubles = fb_json_array(data, "troubles"), *counts = fb_json_object(data, "tally");

	for (int s = 0; s < FB_STATUSES; s++)
		fb_json_set(counts, fb_status_name((enum fb_status)s),
			    fb_json_real((double)tally.status[s]));
	for (size_t i = 0; i < cells->count; i++) {
		const struct fb_cell *cell = &cells->cell[i];
		char size[FB_SIZE_CHARS], label[FB_LABEL_CHARS], text[FB_LABEL_CHARS + 256];
		json_t *trouble;

		if (cell->status == FB_STATUS_OK)
			continue;
		snprintf(text, sizeof(text), "%s, %s, %s bytes, %s ranks",
			 fb_cell_text(cell, "program"), fb_cell_label(cell, label),
			 fb_size_text(cell->bytes, size), fb_cell_text(cell, "ranks"));
		trouble = fb_json_array(troubles, NULL);
		fb_json_add(trouble, fb_json_string(fb_status_name(cell->status)));
		fb_json_add(trouble, fb_json_string(text));
		fb_json_add(trouble, fb_json_string(cell->reason));
	}
	put_laggards(page, fb_json_array(data, "laggards"));
	put_symptoms(fb_json_array(data, "symptoms"));
}
