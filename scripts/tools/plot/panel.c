/* SPDX-License-Identifier: BSD-3-Clause */
/* See panel.h. */
#include "scripts/tools/lib/text.h"
#include "scripts/tools/plot/panel.h"

#include <math.h>
#include <string.h>

/* Which columns are compared, and with what. A column that is NULL is the median time. */
static const struct {
	const char *column;
	const char *reference; /* another column */
	const char *axis;      /* linear over this key */
	double constant;
	const char *name;
} references[] = {
	{NULL, "recompute_us", NULL, NAN, "all computed again"},
	{NULL, "after_us", NULL, NAN, "not streamed"},
	{"bubble_share", "bubble_theory", NULL, NAN, "theory"},
	{"exposed_us", "exposed_model_us", NULL, NAN, "model"},
	{"tokens_per_s", NULL, "ranks", NAN, "linear"},
	{"gain", NULL, NULL, 1, "break-even"},
	{"saved_us", NULL, NULL, 0, "break-even"},
	{"compute_slowdown", NULL, NULL, 1, "not slowed"},
	{"communication_slowdown", NULL, NULL, 1, "not slowed"},
};

static bool has_values(const struct fb_section *section, int column)
{
	for (size_t i = 0; i < section->count && column >= 0; i++)
		if (isfinite(fb_cell_number(&section->cell[i], (size_t)column)))
			return true;
	return false;
}

static bool same_column(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

struct fb_panel fb_panel_of(const struct fb_plot *plot, const struct fb_section *section,
			    const char *axis, const char *column)
{
	struct fb_panel panel = {
		.column = fb_results_column(plot->results, column ? column : "median_us"),
		.reference = -1,
		.constant = (double)NAN,
		.name = "",
	};

	for (size_t i = 0; i < FB_COUNT_OF(references); i++) {
		const char *name = references[i].reference, *over = references[i].axis;
		int reference = name ? fb_results_column(plot->results, name) : -1;

		if (!same_column(column, references[i].column) || (over && strcmp(over, axis)) ||
		    (name && !has_values(section, reference)))
			continue;
		panel.reference = reference;
		panel.constant = references[i].constant;
		panel.linear = over != NULL;
		panel.name = references[i].name;
	}
	return panel;
}

struct fb_panel fb_panel_second(const struct fb_plot *plot, const struct fb_section *section,
				const char *axis)
{
	const char *const usual[] = {plot->columns, "bubble_share", "exposed_us", "saved_us",
				     "busbw_GBps"};

	for (size_t u = 0; u < FB_COUNT_OF(usual); u++)
		if (usual[u] && has_values(section, fb_results_column(plot->results, usual[u])))
			return fb_panel_of(plot, section, axis, usual[u]);
	return (struct fb_panel){
		.column = -1, .reference = -1, .constant = (double)NAN, .name = ""};
}

double fb_panel_reference(const struct fb_panel *panel, const struct fb_cell *cell)
{
	return panel->reference < 0 ? panel->constant
				    : fb_cell_number(cell, (size_t)panel->reference);
}
