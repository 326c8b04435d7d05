/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between tcp_commit.c, which makes pieces of messages, and tcp_send.c, which sends pieces.
 * Internal to the tcp transport.
 */
#ifndef FB_COMMON_TRANSPORT_TCP_SEND_H
#define FB_COMMON_TRANSPORT_TCP_SEND_H

#include <sys/types.h>

#include "common/transport/tcp.h"

enum { FB_TCP_PADS = FB_TCP_LEAD / sizeof(struct fb_tcp_frame) - 1 };

/* Frames without meaning, which fill up to FB_TCP_LEAD bytes in front of the last frame. */
extern const struct fb_tcp_frame fb_tcp_pads[FB_TCP_PADS];

/* Writes the credit frame of the first link in the socket's list, and removes it from the list. */
void fb_tcp_take_credit(struct fb_tcp_socket *socket, struct fb_tcp_frame *frame);

/*
 * Puts the piece, with this many bytes of payload, into its socket's queue, and sends it if it is
 * the first one.
 */
void fb_tcp_send_piece(struct fb_tcp_socket *socket, struct fb_tcp_piece *piece, size_t payload);

/* The first piece of the queue was given to the kernel; `sent`: the call's result, with errno. */
void fb_tcp_sent(struct fb_tcp_socket *socket, ssize_t sent);

#endif
