/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Charts of every table, and the figures that were drawn by scripts/plot (maps, distributions,
 * matrices), as pictures inside of the page. A picture cannot run scripts nor load anything.
 */
#include "common/base/error.h"
#include "scripts/tools/lib/gnuplot.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/lib/series.h"
#include "scripts/tools/plot/plot.h"
#include "scripts/tools/report/html.h"
#include "scripts/tools/report/page.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool has_sizes(const struct fb_section *section)
{
	for (size_t i = 0; i < section->count; i++)
		if (section->cell[i].bytes > 0 && fb_cell_has_time(&section->cell[i]))
			return true;
	return false;
}

static bool has_library(const struct fb_section *section)
{
	for (size_t i = 0; i < section->count; i++)
		if (fb_cell_is_library(&section->cell[i]) && fb_cell_has_time(&section->cell[i]))
			return true;
	return false;
}

static bool has_bound(const struct fb_section *section)
{
	for (size_t i = 0; i < section->count; i++)
		if (!fb_cell_is_library(&section->cell[i]) && isfinite(section->cell[i].bound_us))
			return true;
	return false;
}

static void put_legend(FILE *out, const struct fb_section *section, const struct fb_series *series,
		       size_t count, size_t hidden)
{
	fputs("<ul class=\"legend\">\n", out);
	for (size_t i = 0; i < count; i++) {
		const char *engine = fb_cell_text(series[i].first, "engine");
		const char *transport = fb_cell_text(series[i].first, "transport");
		bool host = !strcmp(engine, "host"), shm = !strcmp(transport, "shm");

		fb_html(out, "<li class=\"s%zu\">", i + 1);
		fb_page_mark(out, i);
		fb_html(out, "<span>%s%s%s%s%s</span></li>\n", host ? "" : engine, host ? "" : " ",
			fb_cell_text(series[i].first, "algorithm"), shm ? "" : " ",
			shm ? "" : transport);
	}
	if (has_library(section)) {
		fputs("<li class=\"lib\">", out);
		fb_page_mark(out, FB_PLOT_SERIES);
		fputs("<span>library</span></li>\n", out);
	}
	if (has_bound(section))
		fputs("<li class=\"bound\"><svg viewBox=\"0 0 26 12\" aria-hidden=\"true\"><path "
		      "class=\"curve\" d=\"M0 6h26\"/></svg><span>bound</span></li>\n",
		      out);
	if (hidden)
		fb_html(out, "<li class=\"soft\">%zu more algorithms are not drawn</li>\n", hidden);
	fputs("</ul>\n", out);
}

static void put_section(const struct fb_page *page, size_t s, struct fb_series *series)
{
	const struct fb_section *section = &page->set->cells.section[s];
	size_t all, count;
	char title[FB_TITLE_CHARS];
	FILE *out = page->out;

	memset(series, 0, FB_SERIES_MAX * sizeof(*series));
	all = fb_series_make(section, series);
	count = all < FB_PLOT_SERIES ? all : FB_PLOT_SERIES;
	fb_html(out, "<div class=\"card\" id=\"section-%zu\"><h3>%s</h3>\n", s + 1,
		fb_section_title(section, title, sizeof(title)));
	if (!has_sizes(section)) {
		fputs("<p class=\"soft\">Moves nothing: its times are in the summary.</p></div>\n",
		      out);
		return;
	}
	put_legend(out, section, series, count, all - count);
	fputs("<div class=\"figures\">\n", out);
	fb_page_chart(out, section, series, count, FB_CHART_TIME);
	fb_page_chart(out, section, series, count, FB_CHART_BANDWIDTH);
	if (has_library(section) && count)
		fb_page_chart(out, section, series, count, FB_CHART_RATIO);
	fputs("</div></div>\n", out);
}

static void put_base64(FILE *out, const unsigned char *data, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		unsigned bits = (unsigned)data[i] << 16;

		bits |= i + 1 < n ? (unsigned)data[i + 1] << 8 : 0;
		bits |= i + 2 < n ? data[i + 2] : 0;
		fputc(digits[bits >> 18], out);
		fputc(digits[bits >> 12 & 63], out);
		fputc(i + 1 < n ? digits[bits >> 6 & 63] : '=', out);
		fputc(i + 2 < n ? digits[bits & 63] : '=', out);
	}
}

static int put_picture(const struct fb_page *page, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	FILE *file = fopen(path, "r");
	unsigned char *data = NULL;
	char block[65536];
	size_t n = 0, got;
	int err = FB_OK;

	if (!file)
		return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	while (!err && (got = fread(block, 1, sizeof(block), file)) > 0) {
		unsigned char *grown = realloc(data, n + got);

		if (grown) {
			memcpy(grown + n, block, got);
			data = grown;
			n += got;
		} else {
			err = fb_error(FB_ENOMEM, "%s: out of memory", path);
		}
	}
	if (!err && ferror(file))
		err = fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	fclose(file);
	if (!err) {
		fb_html(page->out,
			"<figure class=\"card\"><img alt=\"Figure %s\" loading=\"lazy\" "
			"src=\"data:image/svg+xml;base64,",
			name);
		put_base64(page->out, data, n);
		fb_html(page->out, "\"><figcaption>%s</figcaption></figure>\n", name);
	}
	free(data);
	return err;
}

int fb_page_figures(const struct fb_page *page)
{
	struct fb_series *series = calloc(FB_SERIES_MAX, sizeof(*series));
	int err = FB_OK;

	if (!series)
		return fb_error(FB_ENOMEM, "out of memory for figures");
	fputs("<section id=\"figures\" aria-labelledby=\"figures-title\">\n<h2 "
	      "id=\"figures-title\">"
	      "Figures</h2>\n<p class=\"soft\">Each algorithm with its quickest protocol at each "
	      "size. Bars are 95% intervals; points say their numbers when pointed at.</p>\n",
	      page->out);
	for (size_t s = 0; s < page->set->cells.nsections; s++)
		if (!fb_plot_is_pair(&page->set->cells.section[s]))
			put_section(page, s, series);
	err = fb_page_pairs(page);
	for (size_t i = 0; i < page->nfigures && !err; i++)
		err = put_picture(page, page->figure[i]);
	fputs("</section>\n", page->out);
	free(series);
	return err;
}
