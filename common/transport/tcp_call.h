/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two system calls that move a message, made directly: with several threads, which MPI starts,
 * the C library's functions also prepare for a cancellation of the thread, and nobody cancels it.
 * They are in a file of their own so that tests can replace them. Internal to the tcp transport.
 */
#ifndef FB_COMMON_TRANSPORT_TCP_CALL_H
#define FB_COMMON_TRANSPORT_TCP_CALL_H

#include <sys/types.h>

/* send(), and recv() without flags, errno included. */
ssize_t fb_tcp_call_send(int fd, const void *memory, size_t bytes, int flags);
ssize_t fb_tcp_call_recv(int fd, void *memory, size_t bytes);

#endif
