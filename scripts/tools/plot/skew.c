/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The skew of ranks against size: the time of the slowest rank (which is the row's value), the
 * mean, the time of the fastest rank, and the skew at the start. The figure has the fastest
 * algorithm at each size, and the library. The kind `ranks` has each single rank.
 */
#include "common/base/error.h"
#include "scripts/tools/lib/gnuplot.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/plot/plot.h"

#include <math.h>

static bool has_spread(const struct fb_plot *plot, const struct fb_section *section)
{
	(void)plot;
	for (size_t i = 0; i < section->count; i++)
		if (section->cell[i].bytes > 0 && fb_cell_has_time(&section->cell[i]) &&
		    isfinite(fb_result_number(section->cell[i].row, "rank_min_us")))
			return true;
	return false;
}

/* bytes, slowest, mean, quickest, skew of starts; of one launch, as ranks are not joined. */
static size_t put_block(FILE *out, const struct fb_section *section, bool library)
{
	static const char *const columns[] = {"median_us", "rank_mean_us", "rank_min_us",
					      "skew_us"};
	size_t n, lines = 0;

	for (size_t i = 0; i < section->count; i += n) {
		const struct fb_cell *best;

		n = fb_section_same_place(section, i);
		best = fb_cells_best(&section->cell[i], n, library);
		if (!best || best->bytes == 0)
			continue;
		fprintf(out, "%llu", (unsigned long long)best->bytes);
		for (size_t c = 0; c < FB_COUNT_OF(columns); c++)
			fb_gnuplot_number(out, fb_result_number(best->row, columns[c]));
		fputc('\n', out);
		lines++;
	}
	fputs(lines ? "\n\n" : "NaN NaN NaN NaN NaN\n\n\n", out);
	return lines;
}

int fb_plot_skew(const struct fb_plot *plot)
{
	char title[FB_TITLE_CHARS], whole[FB_TITLE_CHARS + 32];
	size_t library;
	int err;
	const struct fb_section *section = fb_plot_section(
		plot, has_spread, &err, "no rows with the times of single ranks");

	if (!section)
		return err;
	snprintf(whole, sizeof(whole), "%s: spread over ranks",
		 fb_section_title(section, title, sizeof(title)));
	fb_plot_texts(plot, whole,
		      "quickest algorithm at each size, one launch; medians over repetitions");
	fputs("$DATA << EOD\n", plot->out);
	put_block(plot->out, section, false);
	library = put_block(plot->out, section, true);
	fprintf(plot->out, "EOD\nLIBRARY = %d\n", library > 0);
	return FB_OK;
}
