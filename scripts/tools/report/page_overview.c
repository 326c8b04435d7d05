/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first screen: is all well, and how good is the best algorithm beside the library, over all,
 * per operation and per size.
 */
#include "common/base/sizes.h"
#include "scripts/tools/lib/doubts.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/plot/plot.h"
#include "scripts/tools/report/html.h"
#include "scripts/tools/report/page.h"

#include <math.h>
#include <string.h>

/* Ratios of the library's time by the best own one, over sizes. */
struct ratios {
	size_t n, slower, quicker; /* with intervals apart */
	double log_sum, least;
	const struct fb_cell *least_cell;
};

static void add(struct ratios *r, const struct fb_cell *cell, size_t n)
{
	const struct fb_cell *own = fb_cells_best(cell, n, false);
	struct fb_ratio ratio = fb_cell_ratio(fb_cells_best(cell, n, true), own);

	if (!isfinite(ratio.value))
		return;
	r->log_sum += log(ratio.value);
	r->slower += ratio.high < 1 ? 1 : 0;
	r->quicker += ratio.low > 1 ? 1 : 0;
	if (r->n++ == 0 || ratio.value < r->least) {
		r->least = ratio.value;
		r->least_cell = own;
	}
}

static struct ratios ratios_of(const struct fb_section *section)
{
	struct ratios r = {.n = 0};
	size_t n;

	for (size_t i = 0; i < section->count; i += n) {
		n = fb_section_same_place(section, i);
		add(&r, &section->cell[i], n);
	}
	return r;
}

static struct ratios ratios_of_all(const struct fb_cells *cells)
{
	struct ratios all = {.n = 0};

	for (size_t s = 0; s < cells->nsections; s++) {
		struct ratios r = ratios_of(&cells->section[s]);

		if (r.n && (all.n == 0 || r.least < all.least)) {
			all.least = r.least;
			all.least_cell = r.least_cell;
		}
		all.n += r.n;
		all.slower += r.slower;
		all.quicker += r.quicker;
		all.log_sum += r.log_sum;
	}
	return all;
}

static double geomean(const struct ratios *r)
{
	return r->n ? exp(r->log_sum / (double)r->n) : (double)NAN;
}

static void put_banner(const struct fb_page *page, const struct fb_tally *tally)
{
	size_t wrong = tally->status[FB_STATUS_WRONG], fault = tally->status[FB_STATUS_FAULT];
	size_t few = tally->status[FB_STATUS_FEW];
	char doubt[FB_DOUBTS][FB_DOUBT_CHARS];
	int doubts = fb_doubts(&page->set->cells, &page->set->results, doubt);
	FILE *out = page->out;

	for (int i = 0; i < doubts; i++)
		fb_html(out, "<p class=\"banner warn\" role=\"status\">%s</p>\n", doubt[i]);
	if (wrong || fault)
		fb_html(out,
			"<p class=\"banner bad\" role=\"status\">Not all is well: %zu "
			"rows had wrong "
			"data, %zu ended in a fault.</p>\n",
			wrong, fault);
	else if (few)
		fb_html(out,
			"<p class=\"banner warn\" role=\"status\">All data were right; "
			"%zu rows rest "
			"on fewer than 5 repetitions.</p>\n",
			few);
	else
		fb_html(out, "<p class=\"banner good\" role=\"status\">All data were right, and "
			     "no row ended in a fault.</p>\n");
}

static void put_tile(FILE *out, const char *class, const char *value, const char *text)
{
	fb_html(out, "<div class=\"tile %s\"><b>%s</b><span>%s</span></div>\n", class, value, text);
}

static void put_tiles(const struct fb_page *page, const struct fb_tally *tally,
		      const struct ratios *all)
{
	size_t bad = tally->status[FB_STATUS_WRONG] + tally->status[FB_STATUS_FAULT];
	char value[32], text[128], size[FB_SIZE_CHARS];
	FILE *out = page->out;

	fputs("<div class=\"tiles\">\n", out);
	snprintf(value, sizeof(value), "%zu",
		 tally->status[FB_STATUS_OK] + tally->status[FB_STATUS_FEW]);
	put_tile(out, "", value, "rows measured");
	snprintf(value, sizeof(value), "%zu", bad);
	put_tile(out, bad ? "bad" : "good", value, "wrong or faulty");
	snprintf(value, sizeof(value), "%zu", tally->status[FB_STATUS_SKIPPED]);
	put_tile(out, "", value, "skipped, with a reason");
	if (all->n) {
		snprintf(value, sizeof(value), "%.2f", geomean(all));
		snprintf(text, sizeof(text), "library / own time, geometric mean over %zu sizes",
			 all->n);
		put_tile(out, geomean(all) >= 1 ? "good" : "bad", value, text);
		snprintf(value, sizeof(value), "%.2f", all->least);
		snprintf(text, sizeof(text), "least: %s, %s bytes",
			 fb_cell_text(all->least_cell, "program"),
			 fb_size_text(all->least_cell->bytes, size));
		put_tile(out, all->least < 1 ? "bad" : "good", value, text);
		snprintf(value, sizeof(value), "%zu : %zu", all->quicker, all->slower);
		put_tile(out, "", value, "sizes at which own is quicker : slower, intervals apart");
	}
	fputs("</div>\n", out);
}

/* A ratio with a bar: half full is equal, full is eight times as quick. */
static void put_ratio(FILE *out, const struct fb_ratio *ratio)
{
	double share = isfinite(ratio->value) ? 50 + 50 * log2(ratio->value) / 3 : 0;

	if (!isfinite(ratio->value)) {
		fputs("<td class=\"n\"></td>", out);
		return;
	}
	share = share < 4 ? 4 : share > 100 ? 100 : share;
	fb_html(out,
		"<td class=\"n\">%.2f%s<span class=\"bar %s\" aria-hidden=\"true\"><i style=\""
		"width:%.0f%%\"></i></span></td>",
		ratio->value, ratio->low <= 1 && ratio->high >= 1 ? " ~" : "",
		ratio->value < 1 ? "slow" : "", share);
}

static void put_operations(const struct fb_page *page)
{
	const struct fb_cells *cells = &page->set->cells;
	char title[FB_TITLE_CHARS];
	FILE *out = page->out;

	fputs("<h3>Each operation beside the library</h3>\n<div class=\"card scroll\" "
	      "tabindex=\"0\" role=\"region\" aria-label=\"Each operation beside the library\">"
	      "<table>\n<caption class=\"hidden\">Library's time by the own best time"
	      "</caption>\n<thead><tr><th scope=\"col\">operation</th>"
	      "<th scope=\"col\" class=\"n\">sizes</th><th scope=\"col\" class=\"n\">geometric mean"
	      "</th><th scope=\"col\" class=\"n\">least</th><th scope=\"col\" class=\"n\">quicker"
	      "</th><th scope=\"col\" class=\"n\">slower</th></tr></thead>\n<tbody>\n",
	      out);
	for (size_t s = 0; s < cells->nsections; s++) {
		struct ratios r = ratios_of(&cells->section[s]);
		struct fb_ratio mean = {geomean(&r), geomean(&r), geomean(&r)};

		if (r.n == 0 || fb_plot_is_pair(&cells->section[s]))
			continue;
		fb_html(out,
			"<tr><td class=\"wrap\"><a href=\"#section-%zu\">%s</a></td><td "
			"class=\"n\">%zu</td>",
			s + 1, fb_section_title(&cells->section[s], title, sizeof(title)), r.n);
		put_ratio(out, &mean);
		fb_html(out,
			"<td class=\"n\">%.2f</td><td class=\"n\">%zu</td><td class=\"n\">%zu"
			"</td></tr>\n",
			r.least, r.quicker, r.slower);
	}
	fputs("</tbody></table></div>\n", out);
}

static void put_us(FILE *out, double us)
{
	if (isfinite(us))
		fb_html(out, us < 1000 ? "<td class=\"n\">%.4g</td>" : "<td class=\"n\">%.0f</td>",
			us);
	else
		fputs("<td class=\"n\"></td>", out);
}

/* The columns of a section's table that not every section has. */
struct layout {
	struct fb_report report; /* for names */
	const struct fb_section *section;
	unsigned axes; /* as bits */
	bool sizes;
	struct fb_own own;
};

static void put_place(FILE *out, const struct layout *layout, const struct fb_cell *cell)
{
	char size[FB_SIZE_CHARS];

	for (size_t a = 0; a < FB_AXES; a++)
		if (layout->axes & 1U << a)
			fb_html(out, "<td class=\"n\">%s</td>", cell->place->text[a]);
	if (layout->sizes)
		fb_html(out, "<td class=\"n\">%s</td>", fb_size_text(cell->bytes, size));
}

static void put_heads(FILE *out, const struct layout *layout)
{
	for (size_t a = 0; a < FB_AXES; a++)
		if (layout->axes & 1U << a)
			fb_html(out, "<th scope=\"col\" class=\"n\">%s</th>",
				layout->section->axes->name[a]);
	if (layout->sizes)
		fputs("<th scope=\"col\" class=\"n\">bytes</th>", out);
}

static void put_size(FILE *out, const struct layout *layout, const struct fb_cell *cell, size_t n)
{
	const struct fb_cell *library = fb_cells_best(cell, n, true);
	const struct fb_cell *own = fb_cells_best(cell, n, false);
	const struct fb_cell *best = own ? own : library;
	char label[FB_LABEL_CHARS], text[FB_NUMBER_CHARS];
	struct fb_ratio ratio;
	double half;

	if (!best)
		return;
	ratio = fb_cell_ratio(own ? library : NULL, own);
	half = fmax(best->high_us - best->us, best->us - best->low_us) / best->us;
	fputs("<tr>", out);
	put_place(out, layout, best);
	fb_html(out, "<td>%s</td>", fb_cell_label(best, label));
	put_us(out, best->us);
	if (isfinite(half))
		fb_html(out, "<td class=\"n\">%.1f%%</td>", 100 * half);
	else
		fputs("<td class=\"n\"></td>", out);
	if (isfinite(best->busbw_GBps) && best->busbw_GBps > 0)
		fb_html(out, "<td class=\"n\">%.3g</td>", best->busbw_GBps);
	else
		fputs("<td class=\"n\"></td>", out);
	if (isfinite(best->bound_us))
		fb_html(out, "<td class=\"n\">%.3g%%</td>", 100 * best->bound_us / best->us);
	else
		fputs("<td class=\"n\"></td>", out);
	put_us(out, library ? library->us : (double)NAN);
	put_ratio(out, &ratio);
	for (size_t i = 0; i < layout->own.count; i++)
		fb_html(out, "<td class=\"n\">%s</td>",
			fb_own_text(fb_cell_number(best, layout->own.column[i]), text));
	fputs("</tr>\n", out);
}

static void put_section(const struct fb_page *page, size_t s)
{
	const struct fb_section *section = &page->set->cells.section[s];
	struct ratios r = ratios_of(section);
	struct layout layout = {.report = {.results = &page->set->results}, .section = section};
	char title[FB_TITLE_CHARS];
	FILE *out = page->out;
	size_t n;

	layout.axes = fb_section_axes(section, &layout.sizes);
	fb_own_find(&layout.own, &layout.report, section);
	fb_section_title(section, title, sizeof(title));
	fb_html(out, "<details class=\"card\" %s><summary>%s", s == 0 ? "open" : "", title);
	if (r.n)
		fb_html(out, " <span class=\"soft\">library / own %.2f</span>", geomean(&r));
	fb_html(out,
		"</summary>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
		"aria-label=\"%s\">"
		"<table>\n<caption class=\"hidden\">%s: best algorithm per size</caption>\n"
		"<thead><tr>",
		title, title);
	put_heads(out, &layout);
	fb_html(out,
		"<th scope=\"col\">best of own"
		"</th><th scope=\"col\" class=\"n\">us</th><th scope=\"col\" "
		"class=\"n\">&#177;</th>"
		"<th scope=\"col\" class=\"n\">GB/s</th><th scope=\"col\" class=\"n\">of "
		"the bound</th>"
		"<th scope=\"col\" class=\"n\">library us</th><th scope=\"col\" "
		"class=\"n\">library / "
		"own</th>");
	for (size_t i = 0; i < layout.own.count; i++)
		fb_html(out, "<th scope=\"col\" class=\"n\">%s</th>",
			fb_own_name(&layout.report, layout.own.column[i]));
	fb_html(out, "</tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < section->count; i += n) {
		n = fb_section_same_place(section, i);
		put_size(out, &layout, &section->cell[i], n);
	}
	fputs("</tbody></table></div></details>\n", out);
}

void fb_page_overview(const struct fb_page *page)
{
	const struct fb_cells *cells = &page->set->cells;
	struct fb_tally tally = fb_report_tally(cells);
	struct ratios all = ratios_of_all(cells);
	size_t pairs = 0;
	FILE *out = page->out;

	fputs("<section id=\"summary\" aria-labelledby=\"summary-title\">\n"
	      "<h2 id=\"summary-title\" class=\"hidden\">Summary</h2>\n",
	      out);
	put_banner(page, &tally);
	put_tiles(page, &tally, &all);
	if (all.n)
		put_operations(page);
	fputs("<h3>Best algorithm per size</h3>\n<p class=\"soft\">Best: the one whose interval "
	      "ends first. Above 1 the own one is quicker; ~ means that the two intervals overlap, "
	      "so no difference was seen. The bound is the least possible time on this memory or "
	      "link.</p>\n",
	      out);
	for (size_t s = 0; s < cells->nsections; s++)
		if (!fb_plot_is_pair(&cells->section[s]))
			put_section(page, s);
		else
			pairs++;
	if (pairs)
		fb_html(out,
			"<p class=\"soft\">%zu tables of single pairs of ranks are <a href=\""
			"#pairs\">matrices</a> instead.</p>\n",
			pairs);
	fputs("</section>\n", out);
}
