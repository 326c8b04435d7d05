/* SPDX-License-Identifier: BSD-3-Clause */
/* Words of study files; see words.h. */
#include "common/base/error.h"
#include "common/option/users.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/study/words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char blanks[] = " \t\r\n";

void fb_word_list_add(struct fb_word_list *words, const char *text, size_t length)
{
	*FB_ADD(words->word, words->count) = fb_new_text("%.*s", (int)length, text);
}

void fb_word_list_split(struct fb_word_list *words, const char *text)
{
	for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
		size_t length = strcspn(text, blanks);

		fb_word_list_add(words, text, length);
		text += length;
	}
}

void fb_word_list_append(struct fb_word_list *words, const struct fb_word_list *more)
{
	for (size_t i = 0; i < more->count; i++)
		*FB_ADD(words->word, words->count) = more->word[i];
}

void fb_word_list_append_used(struct fb_word_list *words, const struct fb_word_list *more,
			      const char *program)
{
	for (size_t i = 0; i < more->count; i++) {
		const char *name = more->word[i] + 2; /* behind "--" */
		char option[64];

		snprintf(option, sizeof(option), "%.*s", (int)strcspn(name, "="), name);
		if (fb_option_used(option, program))
			*FB_ADD(words->word, words->count) = more->word[i];
	}
}

char *fb_word_list_join(const struct fb_word_list *words, const char *separator)
{
	size_t bytes = 1;
	char *text, *to;

	for (size_t i = 0; i < words->count; i++)
		bytes += strlen(separator) + strlen(words->word[i]);
	to = text = fb_new(bytes, 1);
	for (size_t i = 0; i < words->count; i++)
		to = stpcpy(stpcpy(to, i ? separator : ""), words->word[i]);
	return text;
}

bool fb_word_list_have(const struct fb_word_list *words, const char *word)
{
	for (size_t i = 0; i < words->count; i++)
		if (!strcmp(words->word[i], word))
			return true;
	return false;
}

/* The length of "--name". */
static size_t name_length(const char *option)
{
	return strcspn(option, "=");
}

bool fb_word_is_option(const char *word)
{
	size_t end;

	if (strncmp(word, "--", 2) || !islower((unsigned char)word[2]))
		return false;
	end = 2 + strspn(word + 2, "abcdefghijklmnopqrstuvwxyz-");
	return word[end] == '\0' || word[end] == '=';
}

bool fb_word_is_program(const char *word)
{
	return islower((unsigned char)*word) &&
	       word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* The length of a variable's name at the start of the text; 0: there is none. */
static size_t variable_length(const char *text)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) || text[n] == '_')
		n++;
	return isdigit((unsigned char)*text) ? 0 : n;
}

/* Where name[0 .. length) is set in the assignments; NULL: nowhere. */
static const char *find_variable(const char *assignments, const char *name, size_t length)
{
	struct fb_span_text other, value;

	while (fb_variant_next(&assignments, &other, &value))
		if (other.length == length && !strncmp(other.text, name, length))
			return other.text;
	return NULL;
}

bool fb_word_is_assignments(const char *word)
{
	const char *at = word;

	do {
		size_t n = variable_length(at);

		if (n == 0 || at[n] != '=' || find_variable(word, at, n) != at)
			return false;
		at += strcspn(at, ";");
	} while (*at++ == ';');
	return true;
}

/* Whether word[0 .. n) begins an assignment, so that a quote is no letter of an option. */
static bool begins_assignment(const char *word, size_t n)
{
	size_t name = variable_length(word);

	return name > 0 && name < n && word[name] == '=';
}

int fb_word_list_split_line(struct fb_word_list *words, const char *line)
{
	/* A letter becomes three at most. */
	char *word = fb_new(3 * strlen(line) + 4, 1);
	const char *begin = line;
	bool quoted = false;
	size_t n = 0;

	for (const char *at = line;; at++) {
		bool end = !*at || (!quoted && (strchr(blanks, *at) || *at == '#'));

		if (*at && quoted && *at != '"' && strchr("%; #\t", *at)) {
			n += (size_t)sprintf(word + n, "%%%02X", (unsigned)*at);
		} else if (*at == '"' &&
			   (quoted || begins_assignment(begin, (size_t)(at - begin)))) {
			quoted = !quoted;
		} else if (!end) {
			word[n++] = *at;
		}
		if (!end)
			continue;
		if (n)
			fb_word_list_add(words, word, n);
		n = 0;
		begin = at + 1;
		if (!*at || (!quoted && *at == '#'))
			break;
	}
	return quoted ? FB_EINPUT : FB_OK;
}

bool fb_assignments_clash(const char *a, const char *b, char *name, size_t n)
{
	struct fb_span_text set, value;

	while (fb_variant_next(&a, &set, &value))
		if (find_variable(b, set.text, set.length)) {
			snprintf(name, n, "%.*s", (int)set.length, set.text);
			return true;
		}
	return false;
}

void fb_word_list_merge_options(struct fb_word_list *options)
{
	size_t kept = 0;

	for (size_t i = 0; i < options->count; i++) {
		char *word = options->word[i];
		size_t length = name_length(word), j = 0;

		while (j < kept && (name_length(options->word[j]) != length ||
				    strncmp(options->word[j], word, length)))
			j++;
		kept += j == kept;
		options->word[j] = word;
	}
	options->count = kept;
}
