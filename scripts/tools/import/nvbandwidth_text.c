/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads what nvbandwidth prints: "Running TESTCASE.", a line that describes the matrix, the labels
 * of its columns, and a line for each of its rows. N/A, as on the diagonal, is no value.
 */
#include "common/base/error.h"
#include "scripts/tools/import/nvbandwidth.h"

#include <string.h>

struct state {
	struct fb_import *import;
	const struct fb_text *text;
	struct fb_nvbandwidth_run run;
	char testcase[96], description[160], last_host[64];
	struct fb_words labels; /* of the columns */
	enum { OUTSIDE, AT_LABELS, IN_ROWS } place;
	bool begun;
};

bool fb_nvbandwidth_text_detect(const struct fb_text *text)
{
	return fb_text_holds(text, "nvbandwidth Version:") &&
	       !fb_text_holds(text, "\"nvbandwidth\"");
}

/* "Process  0 (host1): device 0: NVIDIA GB200 (00000008:01:00)" */
static void take_process(struct state *s, const char *line)
{
	char host[64];
	const char *at = strchr(line, '(');

	s->run.processes++;
	if (!at)
		return;
	fb_text_copy(at + 1, ")", host, sizeof(host));
	if (strcmp(host, s->last_host))
		s->run.hosts++;
	memcpy(s->last_host, host, sizeof(host));
}

static void take_head(struct state *s, const char *line)
{
	const char *at;

	if ((at = fb_text_after(line, "nvbandwidth Version:"))) {
		struct fb_nvbandwidth_run run = {.processes = 0};

		s->run = run;
		s->begun = false;
		s->place = OUTSIDE;
		fb_text_copy(at + strspn(at, " "), " ", s->run.version, sizeof(s->run.version));
	} else if ((at = fb_text_after(line, "CUDA Driver Version:"))) {
		fb_text_copy(at, "", s->run.cuda, sizeof(s->run.cuda));
	} else if ((at = fb_text_after(line, "Driver Version:"))) {
		fb_text_copy(at, "", s->run.driver, sizeof(s->run.driver));
	} else if ((at = fb_text_after(line, "Device 0:"))) {
		fb_text_copy(at, "(", s->run.gpu, sizeof(s->run.gpu));
	} else if (fb_text_after(line, "Process ") && fb_text_find(line, ": device ")) {
		take_process(s, line);
	}
}

static int begin(struct state *s)
{
	int err = s->begun ? FB_OK : fb_nvbandwidth_begin(s->import, s->text, &s->run);

	s->begun = true;
	return err;
}

/* "Running device_local_copy.", "Waived: ", "Waiving device_local_copy.", "ERROR: why" */
static int take_testcase(struct state *s, size_t at, bool *taken)
{
	const char *line = s->text->line[at], *name;
	int err = FB_OK;

	*taken = true;
	if ((name = fb_text_after(line, "Running ")) || (name = fb_text_after(line, "Waiving "))) {
		fb_text_copy(name, ".", s->testcase, sizeof(s->testcase));
		s->place = OUTSIDE;
		if (fb_text_after(line, "Running "))
			return FB_OK;
		err = begin(s);
		return err ? err
			   : fb_nvbandwidth_add_none(s->import, at + 1, s->testcase, false,
						     "waived");
	}
	name = fb_text_after(line, "ERROR:");
	if (!name)
		name = fb_text_after(line, "Error:");
	if (name && *s->testcase) {
		err = begin(s);
		if (!err)
			err = fb_nvbandwidth_add_none(s->import, at + 1, s->testcase, true,
						      name + strspn(name, " "));
		s->testcase[0] = '\0';
		return err;
	}
	*taken = false;
	return FB_OK;
}

static int take_row(struct state *s, size_t at, const struct fb_words *words)
{
	struct fb_nvbandwidth_cell cell = {.testcase = s->testcase, .description = s->description};
	int err = begin(s);

	if (!err && words->count < s->labels.count + 1)
		err = fb_error(FB_EINPUT, "%s:%zu: the row is cut short", s->text->path, at + 1);
	fb_nvbandwidth_matrix(s->description, cell.matrix, sizeof(cell.matrix));
	snprintf(cell.row, sizeof(cell.row), "%s", words->word[0]);
	for (size_t i = 0; i < s->labels.count && !err; i++) {
		const char *word = words->word[i + 1];
		double value;

		snprintf(cell.column, sizeof(cell.column), "%s", s->labels.word[i]);
		if (!strcmp(word, "N/A"))
			continue;
		if (!fb_word_number(word, &value))
			return fb_error(FB_EINPUT, "%s:%zu: '%.40s' is no number", s->text->path,
					at + 1, word);
		err = fb_nvbandwidth_add(s->import, at + 1, &s->run, &cell, value);
	}
	return err;
}

/* Lines of a matrix. A blank line ends it. */
static int take_matrix(struct state *s, size_t at)
{
	struct fb_words words;
	int err = FB_OK;

	fb_words_split(&words, s->text->line[at]);
	if (words.count == 0 || !strcmp(words.word[0], "SUM")) {
		s->place = words.count == 0 && s->place == AT_LABELS ? AT_LABELS : OUTSIDE;
	} else if (s->place == AT_LABELS) {
		s->labels = words;
		s->place = IN_ROWS;
	} else if (!fb_text_is_torn(s->text, at)) {
		err = take_row(s, at, &words);
	}
	return err;
}

static int take_line(struct state *s, size_t at)
{
	const char *line = s->text->line[at];
	bool taken;
	int err;

	take_head(s, line);
	err = take_testcase(s, at, &taken);
	if (err || taken)
		return err;
	if (*s->testcase && (fb_text_find(line, "(GB/s)") || fb_text_find(line, "(ns)"))) {
		fb_text_copy(line, "", s->description, sizeof(s->description));
		s->place = AT_LABELS;
		return FB_OK;
	}
	return s->place == OUTSIDE ? FB_OK : take_matrix(s, at);
}

int fb_nvbandwidth_text_read(struct fb_import *import, const struct fb_text *text)
{
	struct state s = {.import = import, .text = text};
	int err = FB_OK;

	for (size_t at = 0; at < text->count && !err; at++)
		err = take_line(&s, at);
	return err;
}
