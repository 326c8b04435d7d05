/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The system calls of the tcp transport, counted: these functions take the place of the library's
 * own (common/transport/tcp_call.c) and of the C library's. To be included once in a test.
 */
#ifndef FB_TESTS_UNIT_TCP_CALLS_H
#define FB_TESTS_UNIT_TCP_CALLS_H

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/transport/tcp_call.h"

static unsigned reads, sends;
static unsigned parts; /* of memory, in the last send */
static int sent_flags; /* of the last send */

/*
 * What the kernel shall do: take no more than so many bytes of a send(), if not 0; have no room for
 * so many of the next sendmsg().
 */
static size_t most_sent;
static unsigned refused;

ssize_t fb_tcp_call_recv(int fd, void *memory, size_t bytes)
{
	reads++;
	return recv(fd, memory, bytes, 0);
}

ssize_t recvmsg(int fd, struct msghdr *header, int flags)
{
	reads++;
	return syscall(SYS_recvmsg, fd, header, flags);
}

ssize_t fb_tcp_call_send(int fd, const void *memory, size_t bytes, int flags)
{
	sends++;
	parts = 1;
	sent_flags = flags;
	return send(fd, memory, most_sent && bytes > most_sent ? most_sent : bytes, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *header, int flags)
{
	sends++;
	parts = (unsigned)header->msg_iovlen;
	sent_flags = flags;
	if (refused) {
		refused--;
		errno = EAGAIN;
		return -1;
	}
	return syscall(SYS_sendmsg, fd, header, flags);
}

#endif
