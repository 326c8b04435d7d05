/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls of the tcp transport; see tcp_call.h. */
#include "common/transport/tcp_call.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t fb_tcp_call_send(int fd, const void *memory, size_t bytes, int flags)
{
#ifdef SYS_sendto
	return syscall(SYS_sendto, fd, memory, bytes, flags, NULL, 0);
#else
	return send(fd, memory, bytes, flags);
#endif
}

ssize_t fb_tcp_call_recv(int fd, void *memory, size_t bytes)
{
#ifdef SYS_recvfrom
	return syscall(SYS_recvfrom, fd, memory, bytes, 0, NULL, NULL);
#else
	return recv(fd, memory, bytes, 0);
#endif
}
