/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines and words; see text.h. */
#include "common/base/error.h"
#include "common/base/rng.h"
#include "scripts/tools/import/text.h"
#include "scripts/tools/lib/memory.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { BYTES_MAX = 1 << 30 };

static int read_bytes(struct fb_text *text, FILE *file, size_t size)
{
	text->bytes = fb_new(size + 1, 1);
	text->copy = fb_new(size + 1, 1);
	text->length = fread(text->bytes, 1, size, file);
	if (ferror(file))
		return fb_error(FB_EINPUT, "%s: %s", text->path, strerror(errno));
	memcpy(text->copy, text->bytes, text->length + 1);
	return FB_OK;
}

/* Digits from `at` on; NULL where there are none. */
static char *past_digits(char *at)
{
	char *start = at;

	while (isdigit((unsigned char)*at))
		at++;
	return at > start ? at : NULL;
}

/* The prefix that mpirun and srun put before a rank's line, if an option asks for it. */
static char *without_prefix(char *line)
{
	char *at;

	/* "[1,0]<stdout>:" of Open MPI 4, "[prterun-node1-77@1,0]<stdout>: " of its successors */
	if (*line == '[' && (at = strstr(line, "]<std")) && at - line < 256 &&
	    (at = strchr(at, ':')))
		return at[1] == ' ' && strchr(line, '@') < at ? at + 2 : at + 1;
	at = line;
	while (*at == ' ')
		at++;
	at = past_digits(at);
	if (at && at[0] == ':' && at[1] == ' ')
		return at + 2;
	return line;
}

static void split_lines(struct fb_text *text)
{
	size_t count = 1, i = 0;
	char *line = text->copy;

	for (char *c = line; (c = strchr(c, '\n')); c++)
		count++;
	text->line = fb_new(count, sizeof(*text->line));
	while (line && *line) {
		char *end = strchr(line, '\n');

		text->torn = !end;
		if (end)
			*end = '\0';
		line[strcspn(line, "\r")] = '\0';
		text->line[i++] = without_prefix(line);
		line = end ? end + 1 : NULL;
	}
	text->count = i;
}

bool fb_text_is_torn(const struct fb_text *text, size_t line)
{
	if (line + 1 < text->count || !text->torn)
		return false;
	fb_warn("%s:%zu: the last line has no end and is left out", text->path, line + 1);
	return true;
}

static int check_bytes(const struct fb_text *text)
{
	size_t line = 1, nul = strlen(text->bytes);

	if (text->length == 0)
		return fb_error(FB_EINPUT, "%s: is empty", text->path);
	if (nul == text->length)
		return FB_OK;
	for (size_t i = 0; i < nul; i++)
		line += text->bytes[i] == '\n' ? 1 : 0;
	return fb_error(FB_EINPUT, "%s:%zu: has a NUL byte: this is no text", text->path, line);
}

int fb_text_read(struct fb_text *text, const char *path)
{
	FILE *file = fopen(path, "re");
	struct tm parts;
	struct stat st;
	int err;

	*text = (struct fb_text){.path = path};
	if (!file)
		return fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	if (fstat(fileno(file), &st))
		err = fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode) || st.st_size > BYTES_MAX)
		err = fb_error(FB_EINPUT, "%s: expected a file of at most 1 GiB", path);
	else
		err = read_bytes(text, file, (size_t)st.st_size);
	fclose(file);
	if (!err)
		err = check_bytes(text);
	if (err)
		return err;
	split_lines(text);
	text->hash = fb_hash64(text->bytes, text->length, 0);
	if (!gmtime_r(&st.st_mtime, &parts) ||
	    !strftime(text->utc, sizeof(text->utc), "%Y-%m-%dT%H:%M:%SZ", &parts))
		snprintf(text->utc, sizeof(text->utc), "1970-01-01T00:00:00Z");
	return FB_OK;
}

int fb_text_fail(const struct fb_text *text, size_t at, const char *what)
{
	return fb_error(FB_EINPUT, "%s:%zu: %s", text->path, at + 1, what);
}

void fb_words_split(struct fb_words *words, const char *line)
{
	char *state = NULL;

	*words = (struct fb_words){.copy = fb_new_copy(line)};
	for (char *word = strtok_r(words->copy, " \t", &state); word && words->count < FB_WORDS_MAX;
	     word = strtok_r(NULL, " \t", &state))
		words->word[words->count++] = word;
}

bool fb_word_number(const char *word, double *value)
{
	char *end;
	double number;

	if (!isdigit((unsigned char)*word) && *word != '.')
		return false;
	if (strspn(word, "0123456789.eE+-") != strlen(word))
		return false;
	number = strtod(word, &end);
	if (*end || !isfinite(number) || number < 0)
		return false;
	*value = number;
	return true;
}

bool fb_word_u64(const char *word, uint64_t *value)
{
	size_t n = strlen(word);

	if (n == 0 || n > 18 || strspn(word, "0123456789") != n)
		return false;
	*value = strtoull(word, NULL, 10);
	return true;
}

const char *fb_text_after(const char *line, const char *prefix)
{
	size_t n = strlen(prefix);

	while (*line == ' ' || *line == '\t')
		line++;
	return strncmp(line, prefix, n) ? NULL : line + n;
}

const char *fb_text_find(const char *line, const char *what)
{
	const char *at = strstr(line, what);

	return at ? at + strlen(what) : NULL;
}

bool fb_text_holds(const struct fb_text *text, const char *what)
{
	return strstr(text->bytes, what) != NULL;
}

double fb_text_number(const char *line, const char *what, double otherwise)
{
	const char *at = fb_text_find(line, what);
	char *end;
	double value;

	if (!at)
		return otherwise;
	value = strtod(at, &end);
	return end == at || !isfinite(value) || value < 0 ? otherwise : value;
}

const char *fb_text_copy(const char *text, const char *end, char *buf, size_t n)
{
	size_t length;

	text += strspn(text, " \t");
	length = strcspn(text, end);
	while (length && (text[length - 1] == ' ' || text[length - 1] == '\t'))
		length--;
	snprintf(buf, n, "%.*s", (int)(length < n ? length : n - 1), text);
	return buf;
}
