/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words of study files: program names, options, of which a later one replaces an earlier one, and
 * assignments of environment variables.
 */
#ifndef FB_SCRIPTS_TOOLS_STUDY_WORDS_H
#define FB_SCRIPTS_TOOLS_STUDY_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* A list of texts; {0} is empty. */
struct fb_word_list {
	char **word; /* [count] */
	size_t count;
};

/* Adds a copy of text[0..length). */
void fb_word_list_add(struct fb_word_list *words, const char *text, size_t length);

/* Adds the words of a text, which blanks separate. */
void fb_word_list_split(struct fb_word_list *words, const char *text);

/*
 * Adds the words of a line of a study, without its comment. Part of an assignment's value may stand
 * in double quotes, where blanks, # and ; belong to the value. In the word they become %20, %23 and
 * %3B, and % becomes %25, so that words can still be joined and split. scripts/studies/launch.sh
 * decodes them for the programs' environment. Returns 0 or FB_EINPUT (a quote without its end;
 * nothing printed).
 */
int fb_word_list_split_line(struct fb_word_list *words, const char *line);

/* Adds all words of `more`. */
void fb_word_list_append(struct fb_word_list *words, const struct fb_word_list *more);

/*
 * Adds those options of `more` that the program uses (common/option/users.h), because an option for
 * all programs of a study is meant for those that have it.
 */
void fb_word_list_append_used(struct fb_word_list *words, const struct fb_word_list *more,
			      const char *program);

/* The words with `separator` between them. */
char *fb_word_list_join(const struct fb_word_list *words, const char *separator);

bool fb_word_list_have(const struct fb_word_list *words, const char *word);

/* Whether a word is an option as studies write it: --name or --name=value. */
bool fb_word_is_option(const char *word);

/* Whether a word names a program: small letters, digits and _, beginning with a letter. */
bool fb_word_is_program(const char *word);

/*
 * Whether a word is NAME=VALUE, or several of them joined by ';', that the environment can take.
 * No name may occur twice. VALUE may be empty and holds no ';' but as %3B.
 */
bool fb_word_is_assignments(const char *word);

/*
 * Whether one of the assignments `a` sets a variable that `b` sets too; its name goes to
 * name[0..n).
 */
bool fb_assignments_clash(const char *a, const char *b, char *name, size_t n);

/*
 * Replaces an option by a later one of the same name and removes the later one. All words must be
 * options.
 */
void fb_word_list_merge_options(struct fb_word_list *options);

#endif
