/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame of the page, and what its parts share; see page.h. */
#include "common/base/error.h"
#include "common/base/version.h"
#include "scripts/tools/report/assets.h"
#include "scripts/tools/report/html.h"
#include "scripts/tools/report/page.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_environment(struct fb_page_set *set, const char *path)
{
	char *file = fb_beside(path, "environment.csv");
	int err = FB_OK;

	if (!file)
		return FB_ENOMEM;
	if (access(file, R_OK) == 0)
		err = fb_sheet_read_any(&set->environment, file);
	free(file);
	return err;
}

int fb_page_set_read(struct fb_page_set *set, char *const *path, size_t npaths, const char *axis)
{
	int err = FB_OK;

	*set = (struct fb_page_set){.path = path, .npaths = npaths};
	for (size_t i = 0; i < npaths && !err; i++)
		err = fb_results_read(&set->results, path[i]);
	if (!err)
		err = fb_axes_parse(&set->axes, axis, &set->results);
	if (!err)
		err = fb_cells_make(&set->cells, &set->results, &set->axes);
	return err ? err : read_environment(set, path[0]);
}

void fb_page_set_free(struct fb_page_set *set)
{
	fb_sheet_free(&set->environment);
	fb_cells_free(&set->cells);
	fb_results_free(&set->results);
}

const char *fb_page_set_name(const struct fb_page_set *set)
{
	if (set->results.count)
		return fb_result_text(&set->results.row[0], "run");
	return set->path[0];
}

const char *fb_page_fact(const struct fb_page_set *set, const char *key)
{
	const char *value = fb_results_fact(&set->results, key);

	return value ? value : "";
}

/* The first and the last moment at which a row was written. */
static void times_of(const struct fb_results *results, const char **first, const char **last)
{
	*first = *last = "";
	for (size_t i = 0; i < results->count; i++) {
		const char *utc = fb_result_text(&results->row[i], "utc");

		if (!**first || strcmp(utc, *first) < 0)
			*first = utc;
		if (strcmp(utc, *last) > 0)
			*last = utc;
	}
}

static void put_head(const struct fb_page *page)
{
	FILE *out = page->out;

	fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n", out);
	fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n", out);
	fb_html(out,
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"img-src data:; style-src 'unsafe-inline'; script-src 'nonce-%s'; "
		"base-uri 'none'; form-action 'none'\">\n",
		page->nonce);
	fb_html(out, "<title>%s, fabricbench</title>\n", fb_page_set_name(page->set));
	/* An empty picture: no browser asks for one elsewhere. */
	fputs("<link rel=\"icon\" href=\"data:,\">\n<style>\n", out);
	fputs(fb_page_css, out);
	fputs("</style>\n</head>\n", out);
}

static void put_fact(FILE *out, const char *name, const char *value)
{
	if (*value)
		fb_html(out, "<div><dt>%s</dt><dd>%s</dd></div>\n", name, value);
}

static void put_machine(const struct fb_page *page)
{
	static const struct {
		const char *name, *key;
	} facts[] = {
		{"Host", "hostname"},
		{"Processor", "cpu.model"},
		{"Processors", "cpu.count"},
		{"Ranks", "run.ranks"},
		{"Nodes", "run.nodes"},
		{"MPI", "mpi.library"},
		{"Kernel", "os.kernel"},
		{"System", "os.name"},
		{"fabricbench", "build.version"},
	};
	const char *first, *last;
	FILE *out = page->out;

	fputs("<dl class=\"facts\">\n", out);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		const char *value = fb_page_fact(page->set, facts[i].key);

		/* What follows a library's name is its packager's. */
		if (!strcmp(facts[i].key, "mpi.library") && strchr(value, ',')) {
			char *cut = strndup(value, strcspn(value, ","));

			put_fact(out, facts[i].name, cut ? cut : value);
			free(cut);
		} else {
			put_fact(out, facts[i].name, value);
		}
	}
	times_of(&page->set->results, &first, &last);
	if (*first)
		fb_html(out, "<div><dt>Measured</dt><dd>%s to %s</dd></div>\n", first, last);
	fputs("</dl>\n", out);
}

static void put_top(const struct fb_page *page)
{
	static const struct {
		const char *id, *name;
	} parts[] = {
		{"summary", "Summary"}, {"findings", "Findings"}, {"comparison", "Comparison"},
		{"figures", "Figures"}, {"rows", "Rows"},	  {"environment", "Environment"},
	};
	FILE *out = page->out;

	fputs("<body>\n<a class=\"skip\" href=\"#summary\">To the summary</a>\n", out);
	fputs("<header class=\"top\">\n<p class=\"kicker\">fabricbench report</p>\n", out);
	fb_html(out, "<h1>%s</h1>\n", fb_page_set_name(page->set));
	if (page->base)
		fb_html(out, "<p class=\"soft\">compared with the base <b>%s</b></p>\n",
			fb_page_set_name(page->base));
	put_machine(page);
	fputs("</header>\n<nav aria-label=\"Parts of the report\"><ul>\n", out);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (page->base || strcmp(parts[i].id, "comparison"))
			fb_html(out, "<li><a href=\"#%s\">%s</a></li>\n", parts[i].id,
				parts[i].name);
	fputs("</ul></nav>\n<main>\n", out);
}

static void put_bottom(const struct fb_page *page)
{
	FILE *out = page->out;

	fputs("</main>\n<footer>\n", out);
	fb_html(out, "<p>Made by fabricbench %s (%s) from", fb_version_text(),
		fb_version_revision());
	for (size_t i = 0; i < page->set->npaths; i++)
		fb_html(out, " <code>%s</code>", page->set->path[i]);
	fputs(". Times are medians over repetitions of the time until the last rank is through; "
	      "intervals are 95%; rates are in 1e9 bytes per second.</p>\n</footer>\n"
	      "<div id=\"tip\"></div>\n",
	      out);
	fb_html(out, "<script nonce=\"%s\">\n", page->nonce);
	fputs(fb_page_js, out);
	fputs("</script>\n</body>\n</html>\n", out);
}

void fb_page_table_begin(const struct fb_page *page, const char *name, const char *caption,
			 const struct fb_page_column *column, size_t count)
{
	FILE *out = page->out;

	fb_html(out,
		"<div class=\"datatable\" data-name=\"%s\" data-source=\"%s-data\" "
		"data-caption=\"%s\"><p class=\"soft\">This table needs scripts to be allowed; the "
		"CSV files hold the same.</p></div>\n",
		name, name, caption);
	fb_html(out, "<script type=\"application/json\" nonce=\"%s\" id=\"%s-data\">{\"columns\":[",
		page->nonce, name);
	for (size_t i = 0; i < count; i++) {
		const struct fb_page_column *c = &column[i];
		const char *const texts[][2] = {{"name", c->name},
						{"label", c->label},
						{"type", c->type},
						{"help", c->help}};

		fputs(i ? ",\n{" : "\n{", out);
		for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
			fprintf(out, "\"%s\":", texts[t][0]);
			fb_page_json_text(out, texts[t][1] ? texts[t][1] : "");
			fputc(',', out);
		}
		fprintf(out, "\"filter\":%s,\"tag\":%s,\"wrap\":%s}", c->filter ? "true" : "false",
			c->tag ? "true" : "false", c->wrap ? "true" : "false");
	}
	fputs("],\n\"rows\":[\n", out);
}

void fb_page_table_end(const struct fb_page *page)
{
	fputs("]}</script>\n", page->out);
}

int fb_page_write(const struct fb_page *page)
{
	int err = FB_OK;

	put_head(page);
	put_top(page);
	fb_page_overview(page);
	fb_page_findings(page);
	if (page->base)
		err = fb_page_comparison(page);
	if (!err)
		err = fb_page_figures(page);
	if (!err)
		err = fb_page_rows(page);
	fb_page_facts(page);
	put_bottom(page);
	return err;
}
