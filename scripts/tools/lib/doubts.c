/* SPDX-License-Identifier: BSD-3-Clause */
/* Doubts about a whole run; see doubts.h. */
#include "scripts/tools/lib/doubts.h"
#include "scripts/tools/lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The greatest load of the last minute before a launch, of those that are known; else 0. */
static double greatest_load(const struct fb_results *results)
{
	static const char name[] = "host.load_average";
	double most = 0;

	for (size_t i = 0; i < results->nfacts; i++) {
		size_t length = strlen(results->fact[i].key), at = length - strlen(name);
		double load;

		if (length < strlen(name) || strcmp(results->fact[i].key + at, name) != 0)
			continue;
		load = strtod(results->fact[i].value, NULL);
		most = load > most ? load : most;
	}
	return most;
}

int fb_doubts(const struct fb_cells *cells, const struct fb_results *results,
	      char text[FB_DOUBTS][FB_DOUBT_CHARS])
{
	const char *cpus = fb_results_fact(results, "cpu.count");
	double load = greatest_load(results), processors = cpus ? strtod(cpus, NULL) : 0;
	size_t timed = 0, skewed = 0, faster = 0;
	int n = 0;

	for (size_t i = 0; i < cells->count; i++) {
		const struct fb_cell *cell = &cells->cell[i];

		timed += fb_cell_has_time(cell) ? 1 : 0;
		skewed += fb_cell_has_time(cell) && fb_has_flag(cell->flags, "skew") ? 1 : 0;
		faster += cell->us < cell->bound_us ? 1 : 0; /* false for NAN */
	}
	if (2 * skewed > timed)
		snprintf(text[n++], FB_DOUBT_CHARS,
			 "%zu of %zu times carry `skew`: ranks began far apart, as where others "
			 "use the machine or ranks outnumber processors.", skewed, timed);
	if (faster)
		snprintf(text[n++], FB_DOUBT_CHARS,
			 "%zu of %zu times are below their bound, which was measured when the "
			 "machine was slower.", faster, timed);
	if (processors > 0 && load > processors)
		snprintf(text[n++], FB_DOUBT_CHARS,
			 "The load was %.1f on %.0f processors when a launch began: others were at "
			 "work.", load, processors);
	if (results->incomplete)
		snprintf(text[n++], FB_DOUBT_CHARS,
			 "Launches without their closing fact, which may lack rows: %zu (%s).",
			 results->incomplete, results->lacking);
	return n;
}
