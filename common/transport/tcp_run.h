/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs: messages of a posted link behind one frame, which says how long they are, and then nothing
 * but their bytes, as over a plain socket, until both ends do something else with the socket.
 * Between two ends who know beforehand what comes, as in a ping-pong, frames of messages say
 * nothing new, but are sent, read, looked at and accounted for between a message and its answer,
 * and in a stream news of places goes back for each. They also move what follows in the kernel's
 * buffers, so that messages lie on more of them: with 64 bytes more before every tenth message a
 * plain socket's 16 KiB take 1.04 to 1.08 times as long.
 *
 * Both ends know how many messages come before they meet by other means, and move nothing else
 * between each other until then: their threads call no progress(), and commit and free nothing on
 * links to that peer; what peers are owed waits till then. Messages of a run have no places: they
 * are not posted, not released, and take none of the link's slots.
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
 * Both ends, when all messages committed before are through: what they move next on the link is a
 * run of messages of `bytes` bytes each.
 */
void fb_tcp_run_begin(struct fb_port *port, size_t bytes);

/*
 * Moves what can be moved now of the n `parts`, at least 1: what is left of the message under way,
 * and the run's next ones, as far as the caller knows them; of a run that begins only the first.
 * `more`: others follow at once, so the kernel need not send a packet for the last one's end.
 * Returns how many bytes, from the first on; 0: none now, or never again (fb_tcp_error). The
 * FB_TCP_LEAD bytes in front of a run's first message are overwritten at both ends.
 */
size_t fb_tcp_run_send(struct fb_port *port, struct iovec *parts, int n, bool more);
size_t fb_tcp_run_receive(struct fb_port *port, struct iovec *parts, int n);

#endif
