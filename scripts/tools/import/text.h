/* SPDX-License-Identifier: BSD-3-Clause */
/* A text file as lines and words, for the parsers of import. */
#ifndef FB_SCRIPTS_TOOLS_IMPORT_TEXT_H
#define FB_SCRIPTS_TOOLS_IMPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FB_WORDS_MAX = 256 };

struct fb_text {
	const char *path; /* borrowed */
	char *bytes;	  /* as read, ended by NUL */
	size_t length;
	char **line; /* [count] without newline, return and the launcher's prefix */
	size_t count;
	bool torn;  /* the last line has no newline: its writer was stopped in it */
	char *copy; /* what the lines point into */
	uint64_t hash;
	char utc[24]; /* of the last change of the file */
};

/* Words of one line. */
struct fb_words {
	char *copy;
	char *word[FB_WORDS_MAX];
	size_t count; /* further words are not kept */
};

/*
 * Reads a file. Prefixes that mpirun --tag-output ("[1,0]<stdout>:") and srun --label ("0: ")
 * put before lines are taken off. Returns 0 or FB_EINPUT (not there, empty, above 1 GiB, or with a
 * NUL byte; printed).
 */
int fb_text_read(struct fb_text *text, const char *path);

/* Whether the line is torn and has to be left out; if so, it prints that. */
bool fb_text_is_torn(const struct fb_text *text, size_t line);

/* Says what is wrong with line `at` (from 0). Returns FB_EINPUT. */
int fb_text_fail(const struct fb_text *text, size_t at, const char *what);

/* Splits at blanks. */
void fb_words_split(struct fb_words *words, const char *line);

/* Whether the text is a finite number, 0 or above, and nothing else. */
bool fb_word_number(const char *word, double *value);
bool fb_word_u64(const char *word, uint64_t *value);

/* What follows `prefix` at the begin of the line (blanks before it do not count), or NULL. */
const char *fb_text_after(const char *line, const char *prefix);

/* What follows `what` anywhere in the line, or NULL. */
const char *fb_text_find(const char *line, const char *what);

/* Whether any line holds `what`. */
bool fb_text_holds(const struct fb_text *text, const char *what);

/* The number that follows `what` in the line; `otherwise` where there is none. */
double fb_text_number(const char *line, const char *what, double otherwise);

/* Copies the text up to blanks at its end, or up to a character of `end`. Returns buf. */
const char *fb_text_copy(const char *text, const char *end, char *buf, size_t n);

#endif
