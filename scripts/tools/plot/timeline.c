/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spans on lanes over time, to see what overlaps with what and what waits. Lanes keep the order of
 * the file; spans of one lane that overlap each other are stacked. Lanes of each row that the spans
 * are of stand below a line that says which row it is. Names that differ in a number behind them
 * have one colour. Communication that no computing of its rank hides is marked.
 */
#include "common/base/error.h"
#include "scripts/tools/lib/gnuplot.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/plot/exposed.h"
#include "scripts/tools/plot/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LANES_MAX = 64, LEVELS_MAX = 8 };

struct name {
	const char *text;
	double total_us;
};

struct lane {
	const char *row, *text;
	double end_us[LEVELS_MAX]; /* of the last span of each level */
	size_t levels, y;	   /* y: of the first level */
};

struct timeline {
	struct fb_spans spans;
	struct name *name;
	size_t names;
	struct lane *lane; /* [LANES_MAX] */
	size_t lanes, hidden, rows; /* rows: lines that name one */
	double begin_us, end_us;
};

/* qsort is not stable, so equal begins are ordered by length: the outer span first. */
static int compare_spans(const void *x, const void *y)
{
	const struct fb_span *a = x, *b = y;

	if (a->begin_us != b->begin_us)
		return a->begin_us < b->begin_us ? -1 : 1;
	if (a->end_us != b->end_us)
		return a->end_us > b->end_us ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int compare_names(const void *x, const void *y)
{
	const struct name *a = x, *b = y;

	if (a->total_us != b->total_us)
		return a->total_us > b->total_us ? -1 : 1;
	return strcmp(a->text, b->text);
}

/* Characters of a name without a blank and a number at its end: 10 of "all_reduce 3". */
static int stem(const char *text)
{
	size_t all = strlen(text), n = all;

	while (n && text[n - 1] >= '0' && text[n - 1] <= '9')
		n--;
	return (int)(n > 1 && n < all && text[n - 1] == ' ' ? n - 1 : all);
}

static size_t find_name(const struct timeline *t, const char *text)
{
	size_t i = 0;

	while (i < t->names && (stem(t->name[i].text) != stem(text) ||
				strncmp(t->name[i].text, text, (size_t)stem(text)) != 0))
		i++;
	return i;
}

/* Index of the lane, or LANES_MAX for one of those that are not shown. */
static size_t find_lane(const struct timeline *t, const struct fb_span *span)
{
	for (size_t i = 0; i < t->lanes; i++)
		if (!strcmp(t->lane[i].text, span->lane) && !strcmp(t->lane[i].row, span->row))
			return i;
	return LANES_MAX;
}

/* Whether the lane is the first one of a row that has a name. */
static bool begins_row(const struct timeline *t, size_t lane)
{
	const char *row = t->lane[lane].row;

	return *row && (lane == 0 || strcmp(row, t->lane[lane - 1].row) != 0);
}

static void collect(struct timeline *t)
{
	t->names = t->lanes = t->hidden = 0;
	t->begin_us = INFINITY;
	t->end_us = -INFINITY;
	for (size_t i = 0; i < t->spans.count; i++) {
		const struct fb_span *s = &t->spans.span[i];
		size_t n = find_name(t, s->name);

		if (n == t->names) {
			t->name[n].text = s->name;
			t->name[n].total_us = 0;
			t->names = n + 1;
		}
		t->name[n].total_us += s->end_us - s->begin_us;
		if (find_lane(t, s) == LANES_MAX && t->lanes < LANES_MAX)
			t->lane[t->lanes++] = (struct lane){.row = s->row, .text = s->lane};
		t->hidden += find_lane(t, s) == LANES_MAX ? 1 : 0;
		t->begin_us = fmin(t->begin_us, s->begin_us);
		t->end_us = fmax(t->end_us, s->end_us);
	}
	qsort(t->name, t->names, sizeof(*t->name), compare_names);
}

/* The level of a lane that is free at the span's begin; the last one where none is. */
static size_t find_level(struct lane *lane, const struct fb_span *span)
{
	size_t level = 0;

	while (level < lane->levels && lane->end_us[level] > span->begin_us)
		level++;
	level = level < LEVELS_MAX ? level : LEVELS_MAX - 1;
	lane->levels = level >= lane->levels ? level + 1 : lane->levels;
	lane->end_us[level] = span->end_us;
	return level;
}

/* Places lanes, each row's behind a free line for its name. Returns the number of lines. */
static size_t stack(struct timeline *t)
{
	size_t y = 0;

	t->rows = 0;
	for (size_t i = 0; i < t->spans.count; i++) {
		size_t l = find_lane(t, &t->spans.span[i]);

		if (l < LANES_MAX)
			find_level(&t->lane[l], &t->spans.span[i]);
	}
	for (size_t l = 0; l < t->lanes; l++) {
		t->rows += begins_row(t, l);
		y += begins_row(t, l);
		t->lane[l].y = y;
		y += t->lane[l].levels;
		for (size_t level = 0; level < LEVELS_MAX; level++)
			t->lane[l].end_us[level] = 0;
		t->lane[l].levels = 0;
	}
	return y;
}

struct strip {
	FILE *out;
	double zero_us;
	size_t y;
};

static void put_strip(void *data, double begin_us, double end_us)
{
	const struct strip *s = data;

	fb_gnuplot_number(s->out, begin_us - s->zero_us);
	fb_gnuplot_number(s->out, end_us - s->zero_us);
	fprintf(s->out, " %zu 0 \"\"\n", s->y);
}

/*
 * begin, end (from the first begin), y, number of the name, name. Strips of exposed communication
 * have the number 0.
 */
static void put_spans(FILE *out, struct timeline *t)
{
	struct strip strip = {.out = out, .zero_us = t->begin_us};

	fputs("$DATA << EOD\n", out);
	for (size_t i = 0; i < t->spans.count; i++) {
		const struct fb_span *s = &t->spans.span[i];
		size_t l = find_lane(t, s);

		if (l == LANES_MAX)
			continue;
		fb_gnuplot_number(out, s->begin_us - t->begin_us);
		fb_gnuplot_number(out, s->end_us - t->begin_us);
		strip.y = t->lane[l].y + find_level(&t->lane[l], s);
		fprintf(out, " %zu %zu", strip.y, find_name(t, s->name) + 1);
		fb_gnuplot_field(out, s->name);
		fputc('\n', out);
		(void)fb_exposed_of(&t->spans, i, s->begin_us, put_strip, &strip);
	}
	fputs("EOD\n", out);
}

/* Word n of a row's text, which blanks and semicolons part; *chars is 0 behind the last one. */
static const char *find_word(const char *row, size_t n, size_t *chars)
{
	static const char parts[] = " ;";

	for (; n && *row; n--) {
		row += strcspn(row, parts);
		row += strspn(row, parts);
	}
	*chars = strcspn(row, parts);
	return row;
}

/* Whether all rows have this word there. */
static bool is_common(const struct timeline *t, const char *word, size_t chars, size_t n)
{
	for (size_t l = 0; l < t->lanes; l++) {
		size_t other_chars;
		const char *other = find_word(t->lane[l].row, n, &other_chars);

		if (chars != other_chars || memcmp(word, other, chars) != 0)
			return false;
	}
	return true;
}

/* The words of a row that all rows have, or those that they do not have. */
static void pick_words(const struct timeline *t, const char *row, bool common, char *text,
		       size_t room)
{
	const char *word;
	size_t chars;

	*text = '\0';
	for (size_t n = 0; word = find_word(row, n, &chars), chars; n++)
		if (is_common(t, word, chars, n) == common)
			fb_append(text, room, "%s%.*s", *text ? " " : "", (int)chars, word);
}

/* The line above lanes: their row, the end of its last span, and its exposed communication. */
static void put_panel(FILE *out, const struct timeline *t, size_t lane, size_t panel)
{
	const char *row = t->lane[lane].row;
	struct fb_exposed e = fb_exposed_most(&t->spans, row);
	char text[FB_PLOT_TITLE_CHARS];
	double end = 0;

	for (size_t i = 0; i < t->spans.count; i++)
		if (!strcmp(t->spans.span[i].row, row))
			end = fmax(end, t->spans.span[i].end_us);
	pick_words(t, row, t->rows == 1, text, sizeof(text));
	fb_plot_item(out, "PANEL", panel, text);
	fprintf(out, "PANEL_AT[%zu] = %zu\nPANEL_END[%zu] = %.9g\nPANEL_RANK[%zu] = %d\n", panel,
		t->lane[lane].y - 1, panel, end - t->begin_us,
		panel, e.rank);
	fprintf(out, "PANEL_SENT[%zu] = %.9g\nPANEL_EXPOSED[%zu] = %.9g\n", panel,
		e.communication_us, panel, e.exposed_us);
}

/* Lines of each lane and of each row's name; `lines` of them in all. */
static void put_lanes(FILE *out, const struct timeline *t, size_t lines)
{
	size_t panel = 0;

	for (size_t l = 0; l < t->lanes; l++) {
		size_t next = l + 1 == t->lanes ? lines : t->lane[l + 1].y - begins_row(t, l + 1);

		fprintf(out, "FIRST[%zu] = %zu\nLAST[%zu] = %zu\n", l + 1, t->lane[l].y, l + 1,
			next - 1);
		fb_plot_item(out, "LANE", l + 1, t->lane[l].text);
		if (begins_row(t, l))
			put_panel(out, t, l, ++panel);
	}
}

static void put_figure(const struct fb_plot *plot, struct timeline *t)
{
	char title[FB_PLOT_TITLE_CHARS], note[128] = "";
	char words[FB_PLOT_TITLE_CHARS - 16] = "";
	char name[FB_PLOT_NAME_CHARS];
	const char *slash = strrchr(plot->path[0], '/');
	FILE *out = plot->out;
	size_t rows;

	collect(t);
	qsort(t->spans.span, t->spans.count, sizeof(*t->spans.span), compare_spans);
	rows = stack(t);
	if (t->rows > 1)
		pick_words(t, t->lane[0].row, true, words, sizeof(words));
	snprintf(title, sizeof(title), "Timeline: %s",
		 *words ? words : slash ? slash + 1 : plot->path[0]);
	snprintf(note, sizeof(note), "%zu spans on %zu lanes; time from the first begin%s",
		 t->spans.count - t->hidden, t->lanes,
		 t->hidden ? "; further lanes are not shown" : "");
	fb_plot_texts(plot, title, note);
	fprintf(out, "ROWS = %zu\nLANES = %zu\nNAMES = %zu\nPANELS = %zu\nLENGTH = %.9g\n", rows,
		t->lanes, t->names, t->rows, t->end_us - t->begin_us);
	fprintf(out, "array NAME[%zu]\narray LANE[%zu]\narray FIRST[%zu]\narray LAST[%zu]\n",
		t->names + 1, t->lanes + 1, t->lanes + 1, t->lanes + 1);
	fprintf(out, "array PANEL[%zu]\narray PANEL_AT[%zu]\narray PANEL_END[%zu]\n", t->rows + 1,
		t->rows + 1, t->rows + 1);
	fprintf(out, "array PANEL_SENT[%zu]\narray PANEL_EXPOSED[%zu]\narray PANEL_RANK[%zu]\n",
		t->rows + 1, t->rows + 1, t->rows + 1);
	for (size_t i = 0; i < t->names; i++) {
		snprintf(name, sizeof(name), "%.*s", stem(t->name[i].text), t->name[i].text);
		fb_plot_item(out, "NAME", i + 1, name);
	}
	put_lanes(out, t, rows);
	put_spans(out, t);
}

int fb_plot_timeline(const struct fb_plot *plot)
{
	struct timeline t = {.lane = fb_new(LANES_MAX, sizeof(*t.lane))};
	int err = fb_spans_read(&t.spans, plot->path[0]);

	t.name = fb_new(t.spans.count + 1, sizeof(*t.name));
	if (fb_plot_wanted(plot, &err, t.spans.count > 0, "no spans"))
		put_figure(plot, &t);
	return err;
}
