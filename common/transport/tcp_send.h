/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between tcp_commit.c, which makes pieces of messages, and tcp_send.c, which sends pieces.
 * Internal to the tcp transport.
 */
#ifndef FB_COMMON_TRANSPORT_TCP_SEND_H
#define FB_COMMON_TRANSPORT_TCP_SEND_H

#include <sys/types.h>

#include "common/transport/tcp.h"

/* Writes the credit that the first link in the list is owed, and takes it off the list. */
void fb_tcp_take_credit(struct fb_tcp_socket *socket, struct fb_tcp_frame *frame);

/*
 * Puts the piece, with so many bytes of payload, into its socket's queue, and sends it if it is
 * the first one.
 */
void fb_tcp_send_piece(struct fb_tcp_socket *socket, struct fb_tcp_piece *piece, size_t payload);

/* The kernel was given what is in the socket's queue; `sent`: what it said, with errno. */
void fb_tcp_sent(struct fb_tcp_socket *socket, ssize_t sent);

#endif
