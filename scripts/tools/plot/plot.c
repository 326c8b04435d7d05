/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by all kinds of figures; see plot.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/gnuplot.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/plot/plot.h"

#include <string.h>

void fb_plot_item(FILE *out, const char *array, size_t i, const char *text)
{
	fprintf(out, "%s[%zu] = ", array, i);
	fb_gnuplot_quote(out, text);
	fputc('\n', out);
}

/* The last two parts of a path: a result's folder says more than the file's name. */
static const char *last_parts(const char *path)
{
	int slashes = 0;

	for (const char *c = path + strlen(path); c > path; c--)
		if (*c == '/' && ++slashes == 2)
			return c + 1;
	return path;
}

void fb_plot_texts(const struct fb_plot *plot, const char *title, const char *note)
{
	char machine[FB_MACHINE_CHARS];
	struct fb_results facts = {0};
	const char *text = fb_results_machine(plot->results, machine);

	if (!*text && !fb_results_read_facts(&facts, plot->path[0]))
		text = fb_results_machine(&facts, machine);
	if (!*text)
		text = last_parts(plot->path[0]);
	fb_gnuplot_text(plot->out, "TITLE", title);
	fb_gnuplot_text(plot->out, "SUBTITLE", text);
	fb_gnuplot_text(plot->out, "NOTE", note);
}

static bool is_loose(const char *column, const char *const *loose)
{
	static const char *const inside[] = {"engine",	  "algorithm", "protocol",
					     "transport", "bytes",     NULL};

	for (size_t i = 0; inside[i]; i++)
		if (!strcmp(column, inside[i]))
			return true;
	for (size_t i = 0; loose[i]; i++)
		if (!strcmp(column, loose[i]))
			return true;
	return false;
}

static bool same_group(const struct fb_result *a, const struct fb_result *b,
		       const char *const *loose)
{
	for (size_t i = 0; i < fb_columns_count; i++)
		if (fb_columns[i].kind == FB_COLUMN_KEY && !is_loose(fb_columns[i].name, loose) &&
		    strcmp(a->field[i], b->field[i]))
			return false;
	return true;
}

size_t fb_plot_groups(const struct fb_cells *cells, const char *const *loose, size_t *group)
{
	size_t groups = 0;

	for (size_t s = 0; s < cells->nsections; s++) {
		size_t t = 0;

		while (t < s &&
		       !same_group(cells->section[s].cell->row, cells->section[t].cell->row, loose))
			t++;
		group[s] = t < s ? group[t] : groups++;
	}
	return groups;
}

const char *fb_plot_algorithm(const struct fb_cell *cell, char name[FB_PLOT_NAME_CHARS])
{
	const char *engine = fb_cell_text(cell, "engine");
	const char *transport = fb_cell_text(cell, "transport");
	bool usual = !strcmp(engine, "host") || !strcmp(engine, "none");
	bool no_transport = !strcmp(transport, "shm") || !strcmp(transport, "-");

	if (fb_cell_is_library(cell))
		snprintf(name, FB_PLOT_NAME_CHARS, "%s library",
			 strcmp(engine, "mpi") ? engine : "MPI");
	else
		snprintf(name, FB_PLOT_NAME_CHARS, "%s%s%s%s%s", usual ? "" : engine,
			 usual ? "" : " ", fb_cell_text(cell, "algorithm"),
			 no_transport ? "" : " ", no_transport ? "" : transport);
	return name;
}

bool fb_plot_same_algorithm(const struct fb_cell *a, const struct fb_cell *b)
{
	static const char *const columns[] = {"engine", "algorithm", "transport"};

	for (size_t i = 0; i < FB_COUNT_OF(columns); i++)
		if (strcmp(fb_cell_text(a, columns[i]), fb_cell_text(b, columns[i])))
			return false;
	return true;
}

const char *fb_plot_cut_ranks(const struct fb_section *section, char *buf, size_t n)
{
	char pattern[48], *ranks, *after;

	fb_section_title(section, buf, n);
	snprintf(pattern, sizeof(pattern), ", %s ranks on ", fb_cell_text(section->cell, "ranks"));
	ranks = strstr(buf, pattern);
	if (!ranks)
		return buf;
	after = strchr(ranks + 1, ',');
	memmove(ranks, after ? after : "", after ? strlen(after) + 1 : 1);
	return buf;
}

bool fb_plot_wanted(const struct fb_plot *plot, int *err, size_t count, const char *none)
{
	if (*err)
		return false;
	if (plot->count)
		fprintf(plot->out, "%zu\n", count);
	else if (count == 0)
		*err = fb_error(FB_EINPUT, "%s: %s", plot->npaths ? plot->path[0] : "input", none);
	else if (plot->figure > count)
		*err = fb_error(FB_EINPUT, "--figure %llu: there are %zu figures of this kind",
				(unsigned long long)plot->figure, count);
	return !plot->count && !*err;
}

const struct fb_section *fb_plot_section(const struct fb_plot *plot, fb_plot_shows shows,
					 int *err, const char *none)
{
	const struct fb_section *section = NULL;
	size_t count = 0;

	*err = FB_OK;
	for (size_t s = 0; s < plot->cells->nsections; s++)
		if (shows(plot, &plot->cells->section[s]) && ++count == plot->figure)
			section = &plot->cells->section[s];
	return fb_plot_wanted(plot, err, count, none) ? section : NULL;
}
