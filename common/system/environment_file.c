/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading small files of /proc and /sys; see environment_file.h. */
#include "common/system/environment_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool fb_read_text(const char *root, const char *path, char *buf, size_t n)
{
	char full[PATH_MAX];
	size_t used = 0;
	ssize_t got = 0;
	int fd;

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
		return false;
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	/* Files of /proc may come in pieces. */
	while (used < n - 1 && (got = read(fd, buf + used, n - 1 - used)) > 0)
		used += (size_t)got;
	close(fd);
	buf[used] = '\0';
	return got >= 0;
}

bool fb_read_line(const char *root, const char *path, char *buf, size_t n)
{
	if (!fb_read_text(root, path, buf, n))
		return false;
	buf[strcspn(buf, "\n")] = '\0';
	return buf[0] != '\0';
}

/* The value behind the tag in a line, or NULL where the line has another tag. */
static char *value_of(char *line, const char *tag)
{
	size_t length = strlen(tag);

	if (strncmp(line, tag, length))
		return NULL;
	line += length;
	line += strspn(line, " \t");
	if (*line != ':' && *line != '=')
		return NULL;
	line += 1 + strspn(line + 1, " \t");
	line[strcspn(line, "\n")] = '\0';
	length = strlen(line);
	if (length >= 2 && line[0] == '"' && line[length - 1] == '"') {
		line[length - 1] = '\0';
		line++;
	}
	return line;
}

bool fb_read_tagged(const char *root, const char *path, const char *tag, char *buf, size_t n)
{
	char full[PATH_MAX], *line = NULL, *value;
	size_t capacity = 0;
	bool found = false;
	FILE *file;

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
		return false;
	file = fopen(full, "re");
	if (!file)
		return false;
	while (!found && getline(&line, &capacity, file) > 0) {
		value = value_of(line, tag);
		if (value) {
			snprintf(buf, n, "%s", value);
			found = true;
		}
	}
	free(line);
	fclose(file);
	return found;
}

bool fb_path_exists(const char *root, const char *path)
{
	char full[PATH_MAX];

	return snprintf(full, sizeof(full), "%s%s", root, path) < (int)sizeof(full) &&
	       access(full, F_OK) == 0;
}

void fb_facts_add_file(struct fb_facts *facts, const char *key, const char *root, const char *fmt,
		       ...)
{
	char path[PATH_MAX], line[FB_LINE_CHARS];
	va_list args;
	int length;

	va_start(args, fmt);
	length = vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	if (length < (int)sizeof(path) && fb_read_line(root, path, line, sizeof(line)))
		fb_facts_add(facts, key, "%s", line);
}

static int no_dot_files(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

void fb_visit_folder(struct fb_facts *facts, const char *root, const char *path, fb_visit_fn visit)
{
	char full[PATH_MAX];
	struct dirent **entries;
	int count;

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
		return;
	count = scandir(full, &entries, no_dot_files, versionsort);
	if (count < 0)
		return;
	for (int i = 0; i < count; i++) {
		visit(facts, root, path, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}
