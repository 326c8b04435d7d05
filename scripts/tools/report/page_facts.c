/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the run was made on and with: the facts of environment.csv, beside those of the base where
 * there is one. Facts of single ranks and hosts are joined to one line for each key.
 */
#include "scripts/tools/report/html.h"
#include "scripts/tools/report/page.h"

#include <stdlib.h>
#include <string.h>

enum { SCOPE, HOST, RANK, KEY, VALUE, FACT_COLUMNS };

enum { LISTED = 8 };

/* The columns of an environment.csv; false where it is none. */
static bool find_columns(const struct fb_sheet *table, int *c)
{
	static const char *const names[] = {"scope", "host", "rank", "key", "value"};

	for (int i = 0; i < FACT_COLUMNS; i++) {
		c[i] = table->ncolumns ? fb_sheet_column(table, names[i]) : -1;
		if (c[i] < 0)
			return false;
	}
	return true;
}

/* The value of a key: of the run, or of hosts and ranks one after the other. Empty: not there. */
static void join_values(const struct fb_sheet *table, const char *key, char *buf, size_t n)
{
	int c[FACT_COLUMNS];
	size_t found = 0;

	buf[0] = '\0';
	if (!find_columns(table, c))
		return;
	for (size_t i = 0; i < table->nrows; i++) {
		const char *rank = fb_sheet_text(table, i, c[RANK]);
		const char *host = fb_sheet_text(table, i, c[HOST]);
		size_t used = strlen(buf);

		if (strcmp(fb_sheet_text(table, i, c[KEY]), key) || found++ >= LISTED)
			continue;
		if (*rank)
			snprintf(buf + used, n - used, "%srank %s: %s", used ? ", " : "", rank,
				 fb_sheet_text(table, i, c[VALUE]));
		else
			snprintf(buf + used, n - used, "%s%s%s%s", used ? ", " : "", host,
				 *host ? ": " : "", fb_sheet_text(table, i, c[VALUE]));
	}
	if (found > LISTED)
		snprintf(buf + strlen(buf), n - strlen(buf), ", and %zu more", found - LISTED);
}

static int compare_texts(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* All keys of both tables, sorted, each once; borrowed texts. NULL where memory is out. */
static const char **list_keys(const struct fb_sheet *a, const struct fb_sheet *b, size_t *count)
{
	const struct fb_sheet *const tables[] = {a, b};
	const char **key = calloc(a->nrows + (b ? b->nrows : 0) + 1, sizeof(*key));
	size_t n = 0;
	int c[FACT_COLUMNS];

	*count = 0;
	if (!key)
		return NULL;
	for (size_t t = 0; t < 2; t++)
		for (size_t i = 0; tables[t] && find_columns(tables[t], c) && i < tables[t]->nrows;
		     i++)
			key[n++] = fb_sheet_text(tables[t], i, c[KEY]);
	if (n)
		qsort(key, n, sizeof(*key), compare_texts);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || strcmp(key[i], key[i - 1]))
			key[(*count)++] = key[i];
	return key;
}

/* Facts that differ from one moment to the next say nothing about what changed. */
static bool is_lasting(const char *key)
{
	return strncmp(key, "host.", 5) && strncmp(key, "program.", 8);
}

static void put_row(const struct fb_page *page, const char *key)
{
	char value[2048], before[2048] = "";
	bool differs = false;
	FILE *out = page->out;

	join_values(&page->set->environment, key, value, sizeof(value));
	if (page->base) {
		join_values(&page->base->environment, key, before, sizeof(before));
		differs = strcmp(value, before) != 0;
	}
	fb_html(out, "<tr%s><th scope=\"row\" class=\"wrap\">%s</th>",
		differs ? " data-differs=1" : "", key);
	if (page->base)
		fb_html(out, "<td class=\"wrap\">%s</td>", before);
	fb_html(out, "<td class=\"wrap%s\">%s</td></tr>\n", differs ? " differs" : "", value);
}

static void put_table(const struct fb_page *page, const char *title, const char *const *key,
		      size_t count, bool lasting)
{
	size_t n = 0;
	FILE *out = page->out;

	for (size_t i = 0; i < count; i++)
		n += is_lasting(key[i]) == lasting ? 1 : 0;
	if (n == 0)
		return;
	fb_html(out, "<details %s><summary>%s <span class=\"soft\">%zu</span></summary>\n",
		lasting ? "open" : "", title, n);
	fb_html(out,
		"<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table>\n"
		"<caption class=\"hidden\">%s</caption><thead><tr><th scope=\"col\">fact</th>",
		title, title);
	if (page->base)
		fb_html(out, "<th scope=\"col\">base: %s</th>", fb_page_set_name(page->base));
	fb_html(out, "<th scope=\"col\">%s</th></tr></thead>\n<tbody>\n",
		page->base ? fb_page_set_name(page->set) : "value");
	for (size_t i = 0; i < count; i++)
		if (is_lasting(key[i]) == lasting)
			put_row(page, key[i]);
	fputs("</tbody></table></div></details>\n", out);
}

void fb_page_facts(const struct fb_page *page)
{
	size_t count = 0;
	const char **key = list_keys(&page->set->environment,
				     page->base ? &page->base->environment : NULL, &count);
	FILE *out = page->out;

	fputs("<section id=\"environment\" aria-labelledby=\"environment-title\">\n<h2 id=\""
	      "environment-title\">Environment</h2>\n<div class=\"card\" id=\"facts\">\n",
	      out);
	if (!key || count == 0) {
		fputs("<p>There is no environment.csv beside the rows.</p></div>\n</section>\n",
		      out);
		free(key);
		return;
	}
	fputs("<div class=\"tools\" role=\"search\"><label>Search<input type=\"search\" id=\""
	      "facts-search\" data-for=\"facts\" placeholder=\"words, all of them\"></label>\n",
	      out);
	if (page->base)
		fputs("<label><span><input type=\"checkbox\" id=\"facts-search-differs\"> "
		      "only what "
		      "differs</span></label>\n",
		      out);
	fputs("<span role=\"status\" class=\"soft\" id=\"facts-search-count\"></span></div>\n",
	      out);
	put_table(page, "Machine and software", key, count, true);
	put_table(page, "Settings, self-tests and the moment of the run", key, count, false);
	fputs("</div>\n</section>\n", out);
	free(key);
}
