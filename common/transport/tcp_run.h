/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run is one frame, which says how long its messages are, and then only the bytes of these
 * messages of a posted link, as over a plain socket. It lasts until the ends use the socket
 * otherwise. Where both ends know beforehand what comes, as in a ping-pong, a frame per message
 * says nothing new, but sending, reading and checking it adds to the latency, and in a stream a
 * credit goes back for each message. Frames also shift the messages in the kernel's buffers, so
 * that they cover more of them: with 64 bytes more before every tenth message a plain socket's 16
 * KiB take 1.04 to 1.08 times as long.
 *
 * Both ends know how many messages the run has until they synchronise by other means, and move
 * nothing else between each other until then: their threads do not call progress(), and commit and
 * free nothing on links to that peer; credits wait till then. Messages of a run have no places:
 * they are not posted, not released, and take none of the link's slots.
 */
#ifndef FB_COMMON_TRANSPORT_TCP_RUN_H
#define FB_COMMON_TRANSPORT_TCP_RUN_H

#include <sys/uio.h>

#include "common/transport/tcp.h"

/*
 * Whether messages of the link may come as runs: one socket for the pair, copies, and room for
 * frames in front of each. The same at both ends. Pure.
 */
bool fb_tcp_may_run(const struct fb_port *port);

/*
 * Called by both ends, when all messages committed earlier have arrived: what they move next on the
 * link is a run of messages of `bytes` bytes each.
 */
void fb_tcp_run_begin(struct fb_port *port, size_t bytes);

/*
 * Moves as much as can be moved now of the n `parts`, at least 1: the rest of the message under
 * way, and the next ones, as far as the caller knows them. At the begin of a run only the first
 * message is moved. `more`: others follow at once, so that the kernel may delay the last packet.
 * Returns the bytes moved, from the first on; 0: none now, or never again (fb_tcp_error). The
 * FB_TCP_LEAD bytes in front of a run's first message are overwritten at both ends.
 */
size_t fb_tcp_run_send(struct fb_port *port, struct iovec *parts, int n, bool more);
size_t fb_tcp_run_receive(struct fb_port *port, struct iovec *parts, int n);

#endif
