/* SPDX-License-Identifier: BSD-3-Clause */
/* See files.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/memory.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int fb_folder_names(const char *folder, const char *end, struct fb_names *names)
{
	struct dirent **entry;
	int n = scandir(folder, &entry, NULL, alphasort);

	*names = (struct fb_names){.count = 0};
	if (n < 0)
		return fb_error(FB_EINPUT, "%s: %s", folder, strerror(errno));
	for (int i = 0; i < n; i++) {
		const char *name = entry[i]->d_name;
		size_t length = strlen(name);

		if (*name != '.' && length > strlen(end) &&
		    !strcmp(name + length - strlen(end), end))
			*FB_ADD(names->name, names->count) = fb_new_copy(name);
		free(entry[i]);
	}
	free(entry);
	return FB_OK;
}

bool fb_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *fb_beside(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	if (fb_is_folder(path))
		return fb_new_text("%s/%s", path, name);
	return fb_new_text("%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, name);
}

char *fb_file_text(const char *path, size_t *length)
{
	FILE *file = fopen(path, "r");
	size_t n = 0, room = 1 << 16;
	char *text = NULL;

	while (file && !ferror(file) && !feof(file)) {
		text = fb_resize(text, room *= 2, 1);
		n += fread(text + n, 1, room - 2 - n, file);
		text[n] = text[n + 1] = '\0';
	}
	*length = n;
	if (!file || ferror(file)) {
		fb_error(FB_EINPUT, "%s: %s", path, strerror(errno));
		text = NULL;
	}
	if (file)
		fclose(file);
	return text;
}

char *fb_file_line(FILE *file)
{
	char *line = NULL, *copy = NULL;
	size_t room = 0;
	ssize_t n = getline(&line, &room, file);

	if (n >= 0) {
		if (n && line[n - 1] == '\n')
			line[n - 1] = '\0';
		copy = fb_new_copy(line);
	}
	free(line);
	return copy;
}
