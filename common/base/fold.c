/* SPDX-License-Identifier: BSD-3-Clause */
/* See fold.h. */
#include "common/base/fold.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum { INDENT = 4 };

int fb_fold_open(struct fb_fold *fold)
{
	*fold = (struct fb_fold){.text = NULL};
	fold->stream = open_memstream(&fold->text, &fold->bytes);
	return fold->stream ? FB_OK : fb_error(FB_ENOMEM, "out of memory for a table");
}

/* Letters begin at all bytes but those that continue one. */
static bool begins_letter(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

/*
 * How many of the first n bytes of a line are written at once, at most `most` letters: `least`
 * bytes are its indentation, at which it is not broken.
 */
static size_t first_part(const char *line, size_t n, size_t least, size_t most)
{
	size_t letters = 0, end, space = 0, mark = 0;

	for (end = 0; end < n; end++) {
		if (begins_letter(line[end]) && letters++ == most)
			break;
		if (end > least && line[end] == ' ')
			space = end;
		if (end > least && strchr(",;", line[end]))
			mark = end + 1;
	}
	if (end == n)
		return n;
	/* The letter that has no room may be the space to break at. */
	if (line[end] == ' ')
		return end;
	return space ? space : mark ? mark : end;
}

static void fold_line(const char *line, size_t n, FILE *out)
{
	size_t indent = strspn(line, " "), most = FB_LINE_MOST, part;

	while (n && line[n - 1] == ' ')
		n--;
	/* A row with much space in front would have none left. */
	indent = indent < FB_LINE_MOST / 2 ? indent : 0;
	for (size_t at = 0; at < n; at += part) {
		size_t end;

		if (at) {
			at += strspn(line + at, " ");
			if (at >= n)
				return;
			fprintf(out, "\n%*s", (int)(indent + INDENT), "");
			most = FB_LINE_MOST - indent - INDENT;
		}
		part = first_part(line + at, n - at, at ? 0 : indent, most);
		end = part;
		while (end && part < n - at && line[at + end - 1] == ' ')
			end--;
		fwrite(line + at, 1, end, out);
	}
}

int fb_fold_close(struct fb_fold *fold, FILE *out)
{
	int err = fclose(fold->stream) ? fb_error(FB_ENOMEM, "out of memory for a table") : FB_OK;
	const char *at = fold->text;

	while (!err && at && *at) {
		size_t n = strcspn(at, "\n");

		fold_line(at, n, out);
		at += n;
		if (*at == '\n')
			fputc(*at++, out);
	}
	free(fold->text);
	*fold = (struct fb_fold){.text = NULL};
	return err;
}
