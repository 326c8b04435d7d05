/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that grow by whole blocks; see append.h for the promise and how it is kept. */
#include "common/base/append.h"

#include "common/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 4096 };

static int make_one(const char *path, const char *option)
{
	struct stat st;

	if (!mkdir(path, 0777))
		return FB_OK;
	if (errno == EEXIST && !stat(path, &st) && S_ISDIR(st.st_mode))
		return FB_OK;
	if (errno == EEXIST)
		errno = ENOTDIR;
	return fb_error(FB_EINPUT, "%s%s%scannot create the folder '%s': %s",
			option ? "option --" : "", option ? option : "", option ? ": " : "", path,
			strerror(errno));
}

int fb_make_folder(const char *path, const char *option)
{
	char *copy = strdup(path);
	int ret = FB_OK;

	if (!copy)
		return fb_error(FB_ENOMEM, "no memory for a path");
	for (char *slash = copy + 1; *copy && !ret && (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		ret = make_one(copy, option);
		*slash = '/';
	}
	if (!ret)
		ret = make_one(copy, option);
	free(copy);
	return ret;
}

static int io_error(const struct fb_append *file, const char *what)
{
	return fb_error(FB_EIO, "cannot %s '%s': %s", what, file->path, strerror(errno));
}

/* Whether the file is still the one that was written: not removed, and of the same length. */
static int check_there(const struct fb_append *file)
{
	struct stat st, named;

	if (fstat(file->fd, &st))
		return io_error(file, "inspect");
	if (stat(file->path, &named))
		return fb_error(FB_EIO, "'%s' or its folder was deleted or moved while it was "
				"written: %s", file->path, strerror(errno));
	if (st.st_dev != named.st_dev || st.st_ino != named.st_ino)
		return fb_error(FB_EIO, "'%s' was replaced by another file while it was written",
				file->path);
	if (st.st_size != file->size)
		return fb_error(FB_EIO, "'%s' was changed while it was written: it has %lld bytes, "
				"not the %lld that were written",
				file->path, (long long)st.st_size, (long long)file->size);
	return FB_OK;
}

/* All of text at once, or an error with the file as long as before. */
static int write_whole(struct fb_append *file, const char *text, size_t bytes)
{
	off_t before = lseek(file->fd, 0, SEEK_END);
	ssize_t written;
	int why;

	if (before < 0)
		return io_error(file, "seek in");
	do
		written = write(file->fd, text, bytes);
	while (written < 0 && errno == EINTR);
	if (written >= 0 && (size_t)written == bytes) {
		file->size = before + written;
		return FB_OK;
	}
	/* A short write names no reason; the disk being full is the one that it has. */
	why = written < 0 ? errno : ENOSPC;
	file->broken = written > 0 && ftruncate(file->fd, before) != 0;
	return fb_error(
		FB_EIO, "cannot append %zu bytes to '%s': %s; %s", bytes, file->path, strerror(why),
		file->broken ? "its last line is torn" : "all that was written before is whole");
}

/* The offset at which the last whole line of the file ends, or -1. */
static off_t end_of_lines(int fd, off_t size)
{
	char block[BLOCK];

	while (size > 0) {
		off_t start = size > BLOCK ? size - BLOCK : 0;
		ssize_t got = pread(fd, block, (size_t)(size - start), start);
		const char *newline;

		if (got <= 0)
			return -1;
		newline = memrchr(block, '\n', (size_t)got);
		if (newline)
			return start + (newline - block) + 1;
		size = start;
	}
	return 0;
}

/* Cuts what a killed job left of a line. */
static int cut_torn_line(struct fb_append *file, off_t size)
{
	off_t end = end_of_lines(file->fd, size);

	if (end < 0)
		return io_error(file, "read");
	if (end == size)
		return FB_OK;
	if (ftruncate(file->fd, end))
		return io_error(file, "truncate");
	file->size = end;
	fb_warn("'%s' ended in a torn line of %lld bytes, which was cut off", file->path,
		(long long)(size - end));
	return FB_OK;
}

/* Makes a file of `size` bytes one that begins with the header and ends in a newline. */
static int check_header(struct fb_append *file, const char *header, off_t size)
{
	size_t length = strlen(header);
	size_t there = size < (off_t)length ? (size_t)size : length;
	char *begin = malloc(length);
	ssize_t got;
	bool same;
	int ret;

	if (!begin)
		return fb_error(FB_ENOMEM, "no memory for a header of %zu bytes", length);
	got = pread(file->fd, begin, there, 0);
	same = got == (ssize_t)there && !memcmp(begin, header, there);
	free(begin);
	if (got < 0)
		return io_error(file, "read");
	if (!same)
		return fb_error(FB_EINPUT,
				"'%s' has other columns than this program writes: "
				"expected a file of the same program and version, or none",
				file->path);
	file->size = size;
	ret = cut_torn_line(file, size);
	if (!ret && there < length)
		ret = write_whole(file, header, length);
	return ret;
}

static int prepare(struct fb_append *file, const char *header)
{
	struct stat st;

	if (fstat(file->fd, &st))
		return io_error(file, "inspect");
	if (!S_ISREG(st.st_mode))
		return fb_error(FB_EINPUT, "'%s' is not a regular file", file->path);
	/* File systems without locks exist; there the check is left out. */
	if (flock(file->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return fb_error(FB_EINPUT, "'%s' is being written by another job", file->path);
	/* The former owner may have appended between opening and locking. */
	if (fstat(file->fd, &st))
		return io_error(file, "inspect");
	return check_header(file, header, st.st_size);
}

int fb_append_open(struct fb_append *file, const char *dir, const char *name, const char *header,
		   bool sync)
{
	struct fb_append opened = {.fd = -1, .sync = sync};
	int ret = fb_make_folder(dir, "csv");

	if (ret)
		return ret;
	if (asprintf(&opened.path, "%s/%s", dir, name) < 0)
		return fb_error(FB_ENOMEM, "no memory for a path");
	opened.fd = open(opened.path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
	if (opened.fd < 0) {
		ret = fb_error(FB_EINPUT, "cannot open '%s' for writing: %s", opened.path,
			       strerror(errno));
		goto free_path;
	}
	ret = prepare(&opened, header);
	if (ret)
		goto close_file;
	*file = opened;
	return FB_OK;

close_file:
	close(opened.fd);
free_path:
	free(opened.path);
	return ret;
}

int fb_append_write(struct fb_append *file, const char *text, size_t bytes)
{
	int ret;

	if (file->broken)
		return fb_error(FB_EIO, "'%s' has a torn last line: nothing more is written to it",
				file->path);
	ret = check_there(file);
	if (!ret)
		ret = write_whole(file, text, bytes);
	if (!ret && file->sync && fdatasync(file->fd))
		ret = io_error(file, "flush");
	return ret;
}

int fb_append_close(struct fb_append *file)
{
	int ret = FB_OK;

	if (!file->path)
		return FB_OK;
	if (fdatasync(file->fd) && errno != EINVAL)
		ret = io_error(file, "flush");
	if (close(file->fd) && !ret)
		ret = io_error(file, "close");
	free(file->path);
	*file = (struct fb_append){.fd = -1};
	return ret;
}
