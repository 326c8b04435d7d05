/* SPDX-License-Identifier: BSD-3-Clause */
/* The row of the case under way; see under_way.h. */
#include "common/record/under_way.h"

#include "common/base/error.h"
#include "common/record/traits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { LOOKS = 50, LOOK_US = 20 * 1000 };

/* No comma and no quote: it stands in the file as it is here, where it is looked for. */
static const char nobody[] = "rank 0 ended within this case and nobody was left to say why";

static char *path_of(const char *dir, const char *program, uint64_t launch, const char *suffix)
{
	char *path;
	int n = asprintf(&path, "%s/%s.%" PRIu64 ".under_way%s", dir, program, launch, suffix);

	return n < 0 ? NULL : path;
}

int fb_under_way_open(struct fb_under_way *file, const char *dir, const char *program,
		      uint64_t launch, bool sync)
{
	char *path = path_of(dir, program, launch, "");
	int fd;

	if (!path)
		return fb_error(FB_ENOMEM, "no memory for a path");
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		int ret = fb_error(FB_EIO, "cannot write '%s': %s", path, strerror(errno));

		free(path);
		return ret;
	}
	/* Held while this process lives. A process that checks for it holds it for a moment. */
	for (int i = 0; i < LOOKS && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK; i++)
		usleep(LOOK_US);
	*file = (struct fb_under_way){.fd = fd, .path = path, .sync = sync};
	return FB_OK;
}

static void write_fault(struct fb_under_way *file, const struct fb_csv *csv,
			const struct fb_row *row, const char *reason)
{
	struct fb_row fault = *row;
	size_t bytes = 0;
	char *text;

	fault.status = FB_STATUS_FAULT;
	fault.reason = reason;
	text = fb_csv_row_text(csv, &fault, &bytes);
	/* A row that is not whole has no newline, and is taken for none. */
	if (text && pwrite(file->fd, text, bytes, 0) == (ssize_t)bytes && file->sync)
		(void)fdatasync(file->fd);
	free(text);
}

void fb_under_way_set(struct fb_under_way *file, const struct fb_csv *csv,
		      const struct fb_row *row)
{
	if (file->path && !ftruncate(file->fd, 0) && row)
		write_fault(file, csv, row, nobody);
}

void fb_under_way_leave(struct fb_under_way *file, const struct fb_csv *csv,
			const struct fb_row *row, const char *asked)
{
	char reason[FB_REASON_CHARS];

	snprintf(reason, sizeof(reason), "%s, because another rank was lost", asked);
	if (file->path && !ftruncate(file->fd, 0))
		write_fault(file, csv, row, reason);
}

void fb_under_way_close(struct fb_under_way *file)
{
	if (!file->path)
		return;
	(void)unlink(file->path);
	close(file->fd);
	free(file->path);
	*file = (struct fb_under_way){.fd = -1};
}

/* The file's text, malloced, if its writer is dead and it is a whole row; else NULL. */
static char *read_row(const char *path)
{
	char *line = NULL;
	size_t space = 0;
	FILE *in = fopen(path, "re");
	bool dead = in && !flock(fileno(in), LOCK_SH | LOCK_NB);
	ssize_t got = dead ? getline(&line, &space, in) : -1;

	if (in)
		fclose(in);
	if (got > 0 && line[got - 1] == '\n')
		return line;
	free(line);
	return NULL;
}

/* The row with another reason, malloced; NULL: no memory. */
static char *with_reason(const char *row, const char *reason)
{
	const char *at = strstr(row, nobody);
	char *text = NULL;
	size_t bytes;
	FILE *out;

	if (!reason || !at)
		return strdup(row);
	out = open_memstream(&text, &bytes);
	if (!out)
		return NULL;
	fprintf(out, "%.*s", (int)(at - row), row);
	fb_csv_put_field(out, reason);
	fputs(at + strlen(nobody), out);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

static bool has_results(const char *dir, const char *program)
{
	char *path;
	bool has;

	if (asprintf(&path, "%s/%s.csv", dir, program) < 0)
		return false;
	has = !access(path, F_OK);
	free(path);
	return has;
}

int fb_under_way_move(const char *dir, const char *program, uint64_t launch,
		      const struct fb_column *extra, size_t nextra, const char *reason,
		      bool asked, bool *moved)
{
	struct fb_csv csv = {.extra = NULL};
	char *path = path_of(dir, program, launch, "");
	char *taken = path_of(dir, program, launch, ".taken");
	char *row = path ? read_row(path) : NULL;
	bool left = row && !strstr(row, nobody);
	/* Drop the row if no rank has named a fault, or if the row's results are gone. */
	bool drop = row && !reason && (left || !has_results(dir, program));
	bool moves = row && !drop && !(left && asked);
	char *text = moves ? with_reason(row, reason) : NULL;
	int ret = FB_OK, other;

	*moved = false;
	if (drop)
		(void)unlink(path);
	/* Its taker may have written the row before it ended: no row is better than two. */
	if (!reason && taken)
		(void)unlink(taken);
	if (!path || !taken || (moves && !text))
		ret = fb_error(FB_ENOMEM, "no memory for the row of a fault");
	/* Several may try; one alone succeeds, also where a lock does not hold between hosts. */
	if (!ret && text && !rename(path, taken)) {
		ret = fb_csv_open(&csv, dir, program, extra, nextra, false);
		if (!ret)
			ret = fb_append_write(&csv.file, text, strlen(text));
		*moved = !ret;
		(void)(ret ? rename(taken, path) : unlink(taken));
	}
	other = fb_csv_close(&csv);
	free(text);
	free(row);
	free(taken);
	free(path);
	return ret ? ret : other;
}
