/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small charts of a section as inline SVG, drawn here and not by gnuplot: so they follow the
 * reader's light or dark setting, every point says its numbers, and the page needs no gnuplot.
 */
#include "common/base/sizes.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/lib/series.h"
#include "scripts/tools/report/html.h"
#include "scripts/tools/report/page.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 420, HEIGHT = 280, LEFT = 58, RIGHT = 10, TOP = 12, BOTTOM = 38 };

/* Which value of a cell a chart shows, and how. */
struct chart {
	FILE *out;
	const struct fb_section *section;
	enum fb_chart kind;
	double x_min, x_max, y_min, y_max; /* as drawn: log2 of bytes; log10, plain, log2 of y */
};

struct value {
	double mid, low, high;
};

static double scale_y(enum fb_chart kind, double y)
{
	return kind == FB_CHART_TIME ? log10(y) : kind == FB_CHART_RATIO ? log2(y) : y;
}

static struct value value_of(const struct chart *c, const struct fb_cell *cell,
			     const struct fb_cell *library)
{
	double bytes = cell->busbw_GBps * cell->us;
	struct fb_ratio ratio;

	switch (c->kind) {
	case FB_CHART_TIME:
		return (struct value){cell->us, cell->low_us, cell->high_us};
	case FB_CHART_BANDWIDTH:
		return (struct value){cell->busbw_GBps, bytes / cell->high_us,
				      bytes / cell->low_us};
	default:
		ratio = fb_cell_ratio(library, cell);
		return (struct value){ratio.value, ratio.low, ratio.high};
	}
}

static double x_of(const struct chart *c, uint64_t bytes)
{
	double span = c->x_max - c->x_min;

	if (!(span > 0))
		return LEFT + (WIDTH - LEFT - RIGHT) / 2.0;
	return LEFT + 8 + (WIDTH - LEFT - RIGHT - 16) * (log2((double)bytes) - c->x_min) / span;
}

static double y_of(const struct chart *c, double value)
{
	double at = (scale_y(c->kind, value) - c->y_min) / (c->y_max - c->y_min);

	at = at < 0 ? 0 : at > 1 ? 1 : at;
	return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * at;
}

/* The cell of a curve at the size that begins at cell[0]: own for i < count, then the library. */
static const struct fb_cell *cell_of(const struct fb_cell *cell, size_t n,
				     const struct fb_series *series, size_t i, size_t count)
{
	return i < count ? fb_series_quickest(cell, n, series[i].first)
			 : fb_cells_best(cell, n, true);
}

/* The ranges that all curves need. False: there is nothing to draw. */
static bool find_ranges(struct chart *c, const struct fb_series *series, size_t count)
{
	size_t n, found = 0;

	c->x_min = c->y_min = INFINITY;
	c->x_max = c->y_max = -INFINITY;
	for (size_t k = 0; k < c->section->count; k += n) {
		const struct fb_cell *cell = &c->section->cell[k];

		n = fb_section_same_place(c->section, k);
		for (size_t i = 0; i <= count; i++) {
			const struct fb_cell *at = cell_of(cell, n, series, i, count);
			struct value v;

			if (!at || at->bytes == 0)
				continue;
			v = value_of(c, at, fb_cells_best(cell, n, true));
			if (!(v.mid > 0) || !isfinite(v.mid))
				continue;
			c->x_min = fmin(c->x_min, log2((double)at->bytes));
			c->x_max = fmax(c->x_max, log2((double)at->bytes));
			c->y_min = fmin(c->y_min, scale_y(c->kind, v.mid));
			c->y_max = fmax(c->y_max, scale_y(c->kind, v.mid));
			found++;
		}
	}
	return found > 0;
}

static void round_ranges(struct chart *c)
{
	double room = (c->y_max - c->y_min) * 0.06;

	if (c->kind == FB_CHART_BANDWIDTH) {
		c->y_min = 0;
		c->y_max = c->y_max > 0 ? c->y_max * 1.1 : 1;
	} else if (c->kind == FB_CHART_RATIO) {
		c->y_min = fmin(c->y_min - room, -0.5);
		c->y_max = fmax(c->y_max + room, 0.5);
	} else {
		c->y_min = c->y_min - fmax(room, 0.1);
		c->y_max = c->y_max + fmax(room, 0.1);
	}
}

static void put_y_tick(const struct chart *c, double value, const char *text)
{
	double y = y_of(c, value);

	fb_html(c->out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT,
		WIDTH - RIGHT, y, y);
	fb_html(c->out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 6,
		y + 4, text);
}

/* 10 ns, 1 us, 200 ms */
static const char *time_text(double us, char buf[24])
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	int unit = us < 0.9995 ? 0 : us < 999.5 ? 1 : us < 999500 ? 2 : 3;

	snprintf(buf, 24, "%.3g %s", us * pow(1000, 1 - unit), units[unit]);
	return buf;
}

static void put_time_ticks(const struct chart *c)
{
	/* With two decades or less, steps of 1, 2, 5; with many, every second decade. */
	double span = c->y_max - c->y_min;
	int step = span > 6 ? 2 : 1;
	char text[24];

	for (int d = (int)floor(c->y_min); d <= (int)ceil(c->y_max); d++)
		for (int k = 0; k < 3; k++) {
			static const double of[] = {1, 2, 5};
			double value = of[k] * pow(10, d);

			if ((k > 0 && span > 2) || (k == 0 && d % step) ||
			    log10(value) < c->y_min || log10(value) > c->y_max)
				continue;
			put_y_tick(c, value, time_text(value, text));
		}
}

static void put_ticks(const struct chart *c)
{
	char text[32];

	if (c->kind == FB_CHART_TIME) {
		put_time_ticks(c);
	} else if (c->kind == FB_CHART_RATIO) {
		int step = c->y_max - c->y_min > 6 ? 2 : 1;

		for (int d = (int)ceil(c->y_min); d <= (int)floor(c->y_max); d++)
			if (d % step == 0) {
				snprintf(text, sizeof(text), "%gx", pow(2, d));
				put_y_tick(c, pow(2, d), text);
			}
	} else {
		double raw = c->y_max / 5, unit = pow(10, floor(log10(raw)));
		double step = raw / unit > 5   ? 10 * unit
			      : raw / unit > 2 ? 5 * unit
			      : raw / unit > 1 ? 2 * unit
					       : unit;

		for (int i = 0; i * step <= c->y_max; i++) {
			snprintf(text, sizeof(text), "%.3g", i * step);
			put_y_tick(c, i * step, text);
		}
	}
}

static void put_x_axis(const struct chart *c)
{
	int first = (int)ceil(c->x_min - 1e-9), last = (int)floor(c->x_max + 1e-9);
	int step = (last - first) / 7 + 1;
	char size[FB_SIZE_CHARS];

	fb_html(c->out, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", LEFT,
		WIDTH - RIGHT, HEIGHT - BOTTOM, HEIGHT - BOTTOM);
	for (int d = first; d <= last; d += step) {
		uint64_t bytes = (uint64_t)1 << d;

		fb_html(c->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
			x_of(c, bytes), HEIGHT - BOTTOM + 16, fb_size_text(bytes, size));
	}
	fb_html(c->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">bytes</text>\n",
		LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - 4);
}

/* Marks of the series, around (0, 0), so that they differ without their colours. */
static const char *const marks[] = {
	"M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
	"M-3.6 -3.6h7.2v7.2h-7.2z",
	"M0 -5l4.8 8.4h-9.6z",
	"M0 5l4.8 -8.4h-9.6z",
	"M0 -5.2l4.6 5.2l-4.6 5.2l-4.6 -5.2z",
	"M-1.6 -5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z",
	"M-3.8 -3.8h7.6v7.6h-7.6z",
};

void fb_page_mark(FILE *out, size_t i)
{
	fb_html(out,
		"<svg viewBox=\"0 0 26 12\" aria-hidden=\"true\"><path class=\"curve\" "
		"d=\"M0 6h26\"/>"
		"<path class=\"mark\" transform=\"translate(13 6)\" d=\"%s\"/></svg>",
		marks[i < FB_PLOT_SERIES ? i : FB_PLOT_SERIES]);
}

static void put_point(const struct chart *c, const struct fb_cell *cell, const struct value *v,
		      size_t mark)
{
	static const char *const units[] = {"us", "GB/s", "times as quick as the library"};
	double x = x_of(c, cell->bytes), y = y_of(c, v->mid);
	char label[FB_LABEL_CHARS], size[FB_SIZE_CHARS];

	if (isfinite(v->low) && isfinite(v->high))
		fb_html(c->out,
			"<line class=\"error\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
			x, x, y_of(c, v->low), y_of(c, v->high));
	fb_html(c->out,
		"<g class=\"point\" transform=\"translate(%.1f %.1f)\"><title>%s, %s bytes: "
		"%.4g %s",
		x, y, fb_cell_label(cell, label), fb_size_text(cell->bytes, size), v->mid,
		units[c->kind]);
	if (isfinite(v->low) && isfinite(v->high))
		fb_html(c->out, " (%.4g to %.4g)", v->low, v->high);
	fb_html(c->out,
		"</title><circle class=\"hit\" r=\"10\"/><path class=\"mark\" d=\"%s\"/></g>\n",
		marks[mark]);
}

static void put_curve(const struct chart *c, const struct fb_series *series, size_t i, size_t count)
{
	const char *command = "M";
	size_t n;

	/* Under the marks, hence in a pass of its own. */
	fb_html(c->out,
		i < count ? "<g class=\"s%zu\"><path class=\"curve\" d=\""
			  : "<g class=\"lib\"><path class=\"curve\" d=\"",
		i + 1);
	for (int pass = 0; pass < 2; pass++) {
		for (size_t k = 0; k < c->section->count; k += n) {
			const struct fb_cell *cell = &c->section->cell[k], *at;
			struct value v;

			n = fb_section_same_place(c->section, k);
			at = cell_of(cell, n, series, i, count);
			if (!at || at->bytes == 0)
				continue;
			v = value_of(c, at, fb_cells_best(cell, n, true));
			if (!(v.mid > 0) || !isfinite(v.mid))
				continue;
			if (pass == 0)
				fb_html(c->out, "%s%.1f %.1f", command, x_of(c, at->bytes),
					y_of(c, v.mid));
			else
				put_point(c, at, &v, i < count ? i : FB_PLOT_SERIES);
			command = "L";
		}
		fputs(pass ? "</g>\n" : "\"/>\n", c->out);
	}
}

/* The least possible time, or the bandwidth that follows, as the best cell knows it. */
static void put_bound(const struct chart *c)
{
	const char *command = "M";
	size_t n;

	fputs("<g class=\"bound\"><path class=\"curve\" d=\"", c->out);
	for (size_t k = 0; k < c->section->count; k += n) {
		const struct fb_cell *best;
		double y;

		n = fb_section_same_place(c->section, k);
		best = fb_cells_best(&c->section->cell[k], n, false);
		if (!best || best->bytes == 0 || !(best->bound_us > 0))
			continue;
		y = c->kind == FB_CHART_TIME ? best->bound_us
					     : best->busbw_GBps * best->us / best->bound_us;
		if (scale_y(c->kind, y) > c->y_max || scale_y(c->kind, y) < c->y_min) {
			command = "M"; /* beyond the frame: the curve is interrupted */
			continue;
		}
		fb_html(c->out, "%s%.1f %.1f", command, x_of(c, best->bytes), y_of(c, y));
		command = "L";
	}
	fputs("\"><title>bound</title></path></g>\n", c->out);
}

void fb_page_chart(FILE *out, const struct fb_section *section, const struct fb_series *series,
		   size_t count, enum fb_chart kind)
{
	static const char *const names[] = {"Median time", "Bus bandwidth in GB/s",
					    "Library's time / own time"};
	struct chart c = {.out = out, .section = section, .kind = kind};
	char title[FB_TITLE_CHARS];

	if (!find_ranges(&c, series, count))
		return;
	/* Room for the bound below the quickest curve, but not for any distance. */
	if (kind == FB_CHART_TIME)
		c.y_min -= 0.7;
	round_ranges(&c);
	fb_html(out,
		"<figure><figcaption>%s</figcaption><svg class=\"chart\" viewBox=\"0 0 %d %d\" "
		"role=\"img\" aria-label=\"%s against size: %s\">\n",
		names[kind], WIDTH, HEIGHT, names[kind],
		fb_section_title(section, title, sizeof(title)));
	put_ticks(&c);
	put_x_axis(&c);
	if (kind == FB_CHART_RATIO)
		fb_html(out, "<line class=\"one\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
			LEFT, WIDTH - RIGHT, y_of(&c, 1), y_of(&c, 1));
	else
		put_bound(&c);
	if (kind != FB_CHART_RATIO)
		put_curve(&c, series, count, count);
	for (size_t i = count; i-- > 0;)
		put_curve(&c, series, i, count);
	fputs("</svg></figure>\n", out);
}
