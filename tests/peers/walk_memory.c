/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests/peers/fio_store, loaded into fio before its libraries: every request has the next bytes
 * of 256 MiB, as a cache's pages are, instead of one of few buffers. At depth 1 fio has one buffer
 * of a request's size, which stays in the processor's cache, so that neither the kernel's copy nor
 * the device reads or writes memory for it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/aio_abi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { MEMORY = 256 << 20, PAGE = 4096 };

static char *memory;

/* Before fio's clock runs. With --thread fio does not fork, so pages are not copied later. */
__attribute__((constructor)) static void get_memory(void)
{
	memory = aligned_alloc(PAGE, MEMORY);
	if (!memory)
		abort();
	memset(memory, 1, MEMORY);
}

/* fio has one thread that reads and writes. */
static char *next_bytes(size_t bytes)
{
	static size_t at;

	if (at + bytes > MEMORY)
		at = 0;
	at += bytes;
	return memory + at - bytes;
}

ssize_t pread64(int fd, void *buffer, size_t bytes, off64_t at)
{
	(void)buffer;
	return syscall(SYS_pread64, fd, next_bytes(bytes), bytes, at);
}

ssize_t pwrite64(int fd, const void *buffer, size_t bytes, off64_t at)
{
	(void)buffer;
	return syscall(SYS_pwrite64, fd, next_bytes(bytes), bytes, at);
}

/* libaio's requests are the kernel's; it returns errors as negative numbers. */
int io_submit(aio_context_t context, long n, struct iocb **request)
{
	long got;

	for (long i = 0; i < n; i++)
		request[i]->aio_buf = (uintptr_t)next_bytes(request[i]->aio_nbytes);
	got = syscall(SYS_io_submit, context, n, request);
	return got < 0 ? -errno : (int)got;
}
