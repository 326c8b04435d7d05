/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends without a copy, from the first one to the kernel's report; see tcp.h and tcp_zerocopy.c. */
#ifndef FB_COMMON_TRANSPORT_TCP_ZEROCOPY_H
#define FB_COMMON_TRANSPORT_TCP_ZEROCOPY_H

#include "common/transport/tcp.h"

/* Whether this many bytes should be sent, and can be now, without a copy. */
bool fb_tcp_may_fly(const struct fb_tcp_socket *socket, size_t bytes);

/* The kernel has taken bytes of the piece by a send without a copy. */
void fb_tcp_fly(struct fb_tcp_socket *socket, struct fb_tcp_piece *piece);

/* Takes the kernel's reports, as many as there are. */
void fb_tcp_reap(struct fb_tcp_socket *socket);

/* The link's memory is about to be freed: its pieces are not waited for any more. */
void fb_tcp_ground(struct fb_tcp_socket *socket, const struct fb_tcp_link *link);

#endif
