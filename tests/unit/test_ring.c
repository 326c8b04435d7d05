/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring that is closed while the kernel still has a request: the memory that the request names may
 * be freed next, so the kernel must be through with it. The request is a read of a pipe, into which
 * another thread writes only once the ring is about to be closed.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/mover/store.h"
#include "tests/unit/check.h"

static void *write_late(void *fd)
{
	const struct timespec while_closing = {.tv_nsec = 300000000};

	nanosleep(&while_closing, NULL);
	CHECK_INT(write(*(int *)fd, "late", 4), 4);
	return NULL;
}

int main(void)
{
	char bytes[4] = "";
	struct iovec iov = {bytes, sizeof(bytes)};
	struct fb_ring ring;
	pthread_t thread;
	int fd[2], err = fb_ring_open(&ring, 2);

	if (err) {
		printf("SKIP ring: %s\n", strerror(err));
		return CHECK_SKIP;
	}
	CHECK_INT(pipe(fd), 0);
	fb_ring_add(&ring, fd[0], false, &iov, 1, (uint64_t)-1, NULL);
	CHECK_INT(fb_ring_submit(&ring), 0);
	/* Not given to the kernel, so nobody waits for it. */
	fb_ring_add(&ring, fd[0], false, &iov, 1, (uint64_t)-1, NULL);
	CHECK_INT(pthread_create(&thread, NULL, write_late, &fd[1]), 0);
	fb_ring_close(&ring);
	CHECK(!memcmp(bytes, "late", sizeof(bytes)));
	fb_ring_close(&ring);
	pthread_join(thread, NULL);
	return check_done("ring");
}
