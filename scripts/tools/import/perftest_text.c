/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the output of perftest: a title and the settings between rules, a line of column names, and
 * a row for each size. Names hold blanks, so that the columns follow from which names there are.
 */
#include "common/base/error.h"
#include "scripts/tools/import/perftest.h"
#include "scripts/tools/lib/text.h"

#include <math.h>
#include <string.h>

struct state {
	struct fb_import *import;
	const struct fb_text *text;
	struct fb_perftest_run run;
	bool in_table;
	bool latency, duration, by_level, cpu; /* what the line of names holds */
	double unit_GBps;
};

bool fb_perftest_text_detect(const struct fb_text *text)
{
	return fb_text_holds(text, " #bytes") &&
	       (fb_text_holds(text, "BW peak[") || fb_text_holds(text, "t_typical[usec]") ||
		fb_text_holds(text, "tps average"));
}

/* "                    RDMA_Write BW Test" */
static bool take_title(struct state *s, const char *line)
{
	size_t n = strlen(line);

	while (n && line[n - 1] == ' ')
		n--;
	if (n < 8 || strncmp(line + n - 5, " Test", 5) ||
	    (!strstr(line, " BW ") && !strstr(line, " Latency ")))
		return false;
	s->run = (struct fb_perftest_run){
		.qps = (double)NAN,
		.post_list = (double)NAN,
		.mtu = (double)NAN,
		.on_gpu = fb_text_holds(s->text, "CUDA device") ||
			  fb_text_holds(s->text, "Use ROCm memory : ON") ||
			  fb_text_holds(s->text, "Use CUDA memory : ON"),
	};
	fb_text_copy(line, "", s->run.test, sizeof(s->run.test));
	s->in_table = false;
	return true;
}

/* " Connection type : RC		Using SRQ      : OFF" */
static void take_setting(struct state *s, const char *line)
{
	const struct {
		const char *name;
		char *to;
		size_t n;
	} names[] = {
		{"Device         :", s->run.device, sizeof(s->run.device)},
		{"Connection type :", s->run.connection, sizeof(s->run.connection)},
		{"Link type       :", s->run.link, sizeof(s->run.link)},
		{"Transport type :", s->run.transport, sizeof(s->run.transport)},
	};

	for (size_t i = 0; i < FB_COUNT_OF(names); i++) {
		const char *at = fb_text_find(line, names[i].name);

		if (at)
			fb_text_copy(at, "\t", names[i].to, names[i].n);
	}
	s->run.qps = fb_text_number(line, "Number of qps   :", s->run.qps);
	if (!fb_text_find(line, "Recv Post List"))
		s->run.post_list = fb_text_number(line, "Post List       :", s->run.post_list);
	s->run.mtu = fb_text_number(line, "Mtu             :", s->run.mtu);
}

static int begin_table(struct state *s, size_t at)
{
	const char *line = s->text->line[at];

	if (!*s->run.test)
		return fb_error(FB_EINPUT,
				"%s:%zu: a table without the title of its test: which "
				"of perftest's programs was it?",
				s->text->path, at + 1);
	s->latency = strstr(line, "t_typical") != NULL;
	s->duration = strstr(line, "tps average") != NULL;
	s->by_level = strstr(line, "#sl") != NULL;
	s->cpu = strstr(line, "CPU_Util") != NULL;
	s->unit_GBps = fb_perftest_unit(line);
	s->in_table = true;
	return fb_perftest_begin(s->import, s->text, at + 1, &s->run);
}

/* Stores the numbers of a row, in their order, in its fields. False: one is missing. */
static bool take_numbers(const struct state *s, const struct fb_words *words,
			 struct fb_perftest_row *row)
{
	double level = 0, *const bandwidth[] = {&row->iterations, &row->peak_GBps,
						&row->average_GBps, &row->rate_Mps};
	double *const levels[] = {&level, &row->iterations, &row->peak_GBps, &row->average_GBps,
				  &row->rate_Mps};
	double *const latency[] = {&row->iterations, &row->min_us,   &row->max_us, &row->typical_us,
				   &row->average_us, &row->stdev_us, &row->p99_us, &row->p999_us};
	double *const duration[] = {&row->iterations, &row->average_us, &level};
	double *const *to = s->latency	  ? latency
			    : s->duration ? duration
			    : s->by_level ? levels
					  : bandwidth;
	size_t n = s->latency ? 8 : s->duration ? 3 : s->by_level ? 5 : 4;

	if (words->count < 1 + n + (s->cpu ? 1 : 0) || !fb_word_u64(words->word[0], &row->bytes))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!fb_word_number(words->word[i + 1], to[i]))
			return false;
	if (s->cpu && !fb_word_number(words->word[words->count - 1], &row->cpu_percent))
		return false;
	row->peak_GBps *= s->unit_GBps;
	row->average_GBps *= s->unit_GBps;
	if (!(row->peak_GBps > 0)) /* --noPeak */
		row->peak_GBps = (double)NAN;
	return true;
}

static int take_row(struct state *s, size_t at, const struct fb_words *words)
{
	struct fb_perftest_row row = fb_perftest_row_empty();

	if (fb_text_is_torn(s->text, at))
		return FB_OK;
	if (!take_numbers(s, words, &row))
		return fb_error(FB_EINPUT,
				"%s:%zu: the row is cut short or holds what is no number",
				s->text->path, at + 1);
	return fb_perftest_add(s->import, s->text, at + 1, &s->run, &row);
}

static int take_line(struct state *s, size_t at)
{
	const char *line = s->text->line[at];
	struct fb_words words;
	double number;

	if (take_title(s, line))
		return FB_OK;
	take_setting(s, line);
	if (fb_text_after(line, "#bytes"))
		return begin_table(s, at);
	if (fb_text_after(line, "-----"))
		s->in_table = false;
	if (!s->in_table)
		return FB_OK;
	fb_words_split(&words, line);
	if (words.count > 1 && fb_word_number(words.word[0], &number))
		return take_row(s, at, &words);
	return FB_OK;
}

int fb_perftest_text_read(struct fb_import *import, const struct fb_text *text)
{
	struct state s = {.import = import, .text = text};
	int err = FB_OK;

	for (size_t at = 0; at < text->count && !err; at++)
		err = take_line(&s, at);
	return err;
}
