/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of tcp_receive.c that tcp_run.c uses too. Internal to the tcp transport. */
#ifndef FB_COMMON_TRANSPORT_TCP_RECEIVE_H
#define FB_COMMON_TRANSPORT_TCP_RECEIVE_H

#include "common/transport/tcp.h"

/* Does what a frame says. Returns whether it makes sense. */
bool fb_tcp_take_frame(struct fb_tcp_socket *socket, const struct fb_tcp_frame *frame);

/* For a frame that makes no sense: prints it and fails the socket, as later bytes mean nothing. */
void fb_tcp_nonsense(struct fb_tcp_socket *socket, const struct fb_tcp_frame *frame);

#endif
