/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a table once for all ranks; see table_file.h. */
#include "common/run/table_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum { MOST_TABLE = 16 << 20 };

/* Rank 0: the file's text, to be freed; NULL with the error. */
static char *read_file(const char *path, const char *writer, int *err)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t length = 0, room = 0;
	ssize_t n;

	if (!file) {
		*err = fb_error(FB_EINPUT, "--tuning %s: %s: expected auto, none or a table that "
				"%s wrote", path, strerror(errno), writer);
		return NULL;
	}
	n = getdelim(&text, &room, '\0', file);
	length = n > 0 ? (size_t)n : 0;
	*err = FB_OK;
	if (!length || length > MOST_TABLE || length != strlen(text))
		*err = fb_error(FB_EINPUT, "--tuning %s: no tuning table", path);
	fclose(file);
	if (!*err)
		return text;
	free(text);
	return NULL;
}

int fb_table_file_share(const struct fb_group *w, const char *path, const char *writer,
			char **result)
{
	char *text = NULL;
	int err = FB_OK, length = 0;

	if (w->rank == 0)
		text = read_file(path, writer, &err);
	err = fb_group_agree(w, err);
	if (err)
		return err;
	length = text ? (int)strlen(text) + 1 : 0;
	MPI_Bcast(&length, 1, MPI_INT, 0, w->comm);
	if (!text)
		text = malloc((size_t)length);
	err = fb_group_agree(w, text ? FB_OK : FB_ENOMEM);
	if (err || !text) {
		free(text);
		return fb_error(err, "out of memory for --tuning %s", path);
	}
	MPI_Bcast(text, length, MPI_CHAR, 0, w->comm);
	*result = text;
	return FB_OK;
}
