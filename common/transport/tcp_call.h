/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message's two system calls, without what the C library puts around them in a process of several
 * threads, as MPI makes it: nobody cancels the thread that measures. Functions in a file of their
 * own, since tests count calls by others in their place. Internal to the tcp transport.
 */
#ifndef FB_COMMON_TRANSPORT_TCP_CALL_H
#define FB_COMMON_TRANSPORT_TCP_CALL_H

#include <sys/types.h>

/* send(), and recv() without flags, errno included. */
ssize_t fb_tcp_call_send(int fd, const void *memory, size_t bytes, int flags);
ssize_t fb_tcp_call_recv(int fd, void *memory, size_t bytes);

#endif
