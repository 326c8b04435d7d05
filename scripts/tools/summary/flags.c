/* SPDX-License-Identifier: BSD-3-Clause */
/* Explains the flags of rows; see summary.h. */
#include "scripts/tools/lib/symptoms.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/summary/summary.h"

void fb_summary_flags(const struct fb_report *report)
{
	const struct fb_cells *cells = report->cells;
	size_t said = 0;

	for (size_t s = 0; s < fb_symptoms_count; s++) {
		const struct fb_symptom *symptom = &fb_symptoms[s];
		const struct fb_cell *example = NULL;
		char label[FB_LABEL_CHARS];
		size_t count = 0;

		for (size_t i = 0; i < cells->count && symptom->flag; i++)
			if (fb_has_flag(cells->cell[i].flags, symptom->flag)) {
				example = example ? example : &cells->cell[i];
				count++;
			}
		if (!count)
			continue;
		said++;
		fprintf(report->out, "%s: %zu of %zu rows: %s\n", symptom->flag, count,
			cells->count, symptom->sign);
		fprintf(report->out, "  first   %s, %s, %llu bytes\n",
			fb_cell_text(example, "program"), fb_cell_label(example, label),
			(unsigned long long)example->bytes);
		fprintf(report->out, "  causes  %s\n  look at %s\n  remedy  %s\n", symptom->causes,
			symptom->look, symptom->remedy);
	}
	if (!said)
		fprintf(report->out, "no row has a flag, of %zu\n", cells->count);
}
