/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cuFile for emulated GPUs, whose memory is the host's: what the library does, by pread and
 * pwrite. A call moves 64 KiB at most, so that callers have to go on. With FB_FAKE_CUFILE=short
 * reads find nothing, with `refuse` no file is of a file system that it knows.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

struct cufile_error {
	int code, driver;
};

struct cufile_file {
	int type, ignored;
	int fd;
};

struct cufile_error cuFileDriverOpen(void);
struct cufile_error cuFileHandleRegister(void **handle, struct cufile_file *file);
void cuFileHandleDeregister(void *handle);
struct cufile_error cuFileBufRegister(const void *base, size_t bytes, int flags);
struct cufile_error cuFileBufDeregister(const void *base);
ssize_t cuFileRead(void *handle, void *base, size_t bytes, off_t file, off_t memory);
ssize_t cuFileWrite(void *handle, const void *base, size_t bytes, off_t file, off_t memory);

enum { MOST = 64 << 10 };

struct cufile_error cuFileDriverOpen(void)
{
	return (struct cufile_error){0, 0};
}

struct cufile_error cuFileHandleRegister(void **handle, struct cufile_file *file)
{
	int *fd;
	const char *how = getenv("FB_FAKE_CUFILE");
	struct stat s;

	if (file->type != 1)
		return (struct cufile_error){5000, 0};
	/* As the real library, which finds the file system by the file's name. */
	if ((how && !strcmp(how, "refuse")) || fstat(file->fd, &s) || !s.st_nlink)
		return (struct cufile_error){5027, 0};
	fd = malloc(sizeof(*fd));
	if (!fd)
		return (struct cufile_error){5000, 0};
	*fd = file->fd;
	*handle = fd;
	return (struct cufile_error){0, 0};
}

void cuFileHandleDeregister(void *handle)
{
	free(handle);
}

struct cufile_error cuFileBufRegister(const void *base, size_t bytes, int flags)
{
	(void)base;
	(void)bytes;
	(void)flags;
	return (struct cufile_error){0, 0};
}

struct cufile_error cuFileBufDeregister(const void *base)
{
	(void)base;
	return (struct cufile_error){0, 0};
}

/* O_DIRECT takes aligned memory only; what the real library then does is copy. */
static ssize_t move(int fd, char *memory, size_t bytes, off_t at, int writes)
{
	_Alignas(4096) static char between[MOST];
	ssize_t n;

	bytes = bytes < MOST ? bytes : MOST;
	if (writes)
		memcpy(between, memory, bytes);
	n = writes ? pwrite(fd, between, bytes, at) : pread(fd, between, bytes, at);
	if (!writes && n > 0)
		memcpy(memory, between, (size_t)n);
	return n;
}

ssize_t cuFileRead(void *handle, void *base, size_t bytes, off_t file, off_t memory)
{
	const char *how = getenv("FB_FAKE_CUFILE");

	if (how && !strcmp(how, "short"))
		return 0;
	return move(*(int *)handle, (char *)base + memory, bytes, file, 0);
}

ssize_t cuFileWrite(void *handle, const void *base, size_t bytes, off_t file, off_t memory)
{
	union {
		const void *read;
		char *any;
	} at = {.read = base};

	return move(*(int *)handle, at.any + memory, bytes, file, 1);
}
