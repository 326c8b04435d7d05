/* SPDX-License-Identifier: BSD-3-Clause */
/* Making the tcp transport's connections: tcp_listen.c, tcp_join.c. Internal to the transport. */
#ifndef FB_COMMON_TRANSPORT_TCP_JOIN_H
#define FB_COMMON_TRANSPORT_TCP_JOIN_H

#include "common/transport/tcp.h"

/*
 * Opens the sockets that peers connect to, all with one port: on loopback if a peer shares this
 * network stack, on the rank's own addresses if one does not, and nowhere else, so that nobody
 * outside the job's networks can reach them. All identities are known. Fills tcp->listeners and
 * this rank's port, and drops addresses on which nobody can listen now. Local. 0, FB_ESYS, or
 * FB_EINPUT where an option is refused (printed).
 */
int fb_tcp_listen(struct fb_tcp *tcp);

/*
 * Sets what the user wants of a socket that is not connected yet; those accepted from a listening
 * one inherit it. Buffers must be known then, because the window's scale is agreed at the start.
 * Returns NULL, or the name of the option that was refused (errno).
 */
const char *fb_tcp_prepare(const struct fb_tcp_settings *settings, int fd);

/*
 * Sets the options of a connected socket and fills its `interface` and `address`. 0, FB_ESYS or
 * FB_ENOMEM (printed).
 */
int fb_tcp_configure(struct fb_tcp_socket *socket);

/* Appends to a path how the sockets differ from usual ones, by what the kernel says of this one. */
void fb_tcp_describe(const struct fb_tcp_socket *socket, char *text, size_t n);

/*
 * Connects the n sockets, all at once; every peer does the same at that time. The lower rank of
 * a pair connects and the higher one accepts. Takes at most timeout_ms and a second. 0, FB_ESYS or
 * FB_EPEER (printed); then some may be connected.
 */
int fb_tcp_join(struct fb_tcp *tcp, struct fb_tcp_socket **sockets, int n);

#endif
