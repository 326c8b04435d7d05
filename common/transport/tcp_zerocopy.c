/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending without a copy (MSG_ZEROCOPY); see tcp.h.
 *
 * The kernel numbers a socket's sends with that flag from 0 on, and reports ranges of numbers on
 * the socket's error queue when it no longer needs their memory: the peer has acknowledged all of
 * it, or it was copied after all, as it always is over loopback. Ranges may come out of order,
 * because a packet that is sent again keeps its memory longer. So every number has its own entry
 * here, and a piece is done when all of it was taken and each of its sends has been reported.
 *
 * Why memory cannot be reused too early: a piece that is not done keeps its message's `missing`
 * above zero; a message leaves `unsent` and goes to the list of unused buffers only at zero. The
 * owner of a posted message waits for settled(), which is unsent == 0. disconnect() waits for
 * fb_tcp_idle(), which is false while anything flies. An entry is found by its number alone, and
 * a number is used again by this rank only after the one FB_TCP_FLIGHTS before it has landed.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/errqueue.h>

#include "common/base/error.h"
#include "common/transport/tcp_part.h"
#include "common/transport/tcp_zerocopy.h"

enum { REPORTS = 64 }; /* taken at once: more would let other sockets wait */

bool fb_tcp_may_fly(const struct fb_tcp_socket *socket, size_t bytes)
{
	/* Below some 10 KiB pinning pages costs more than copying them. */
	return socket->flights && bytes >= FB_TCP_LARGE &&
	       socket->flown - socket->landed < FB_TCP_FLIGHTS;
}

void fb_tcp_fly(struct fb_tcp_socket *socket, struct fb_tcp_piece *piece)
{
	socket->flights[socket->flown++ % FB_TCP_FLIGHTS] = piece;
	socket->flights_made++;
	fb_tcp_pin(piece);
	fb_tcp_wake(socket); /* progress() has to take the report, even if all is sent */
}

/* The kernel reports the sends [low, high] complete, `copied` or not. */
static void land(struct fb_tcp_socket *socket, uint32_t low, uint32_t high, bool copied)
{
	/* Numbers wrap: only distances from `landed` mean anything. */
	for (uint32_t i = low; i - low <= high - low; i++) {
		struct fb_tcp_piece **flight = &socket->flights[i % FB_TCP_FLIGHTS];
		struct fb_tcp_piece *piece = *flight;

		if (i - socket->landed >= socket->flown - socket->landed)
			break;
		*flight = NULL;
		socket->flights_copied += copied;
		if (piece && fb_tcp_unpin(piece) && !piece->left && !piece->data_left)
			fb_tcp_piece_done(piece);
	}
	while (socket->landed != socket->flown && !socket->flights[socket->landed % FB_TCP_FLIGHTS])
		socket->landed++;
}

/* Reads one message of the error queue; anything else but a report is ignored. */
static void take_report(struct fb_tcp_socket *socket, struct msghdr *header)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		struct sock_extended_err report;

		if (!(c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR) &&
		    !(c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_RECVERR))
			continue;
		memcpy(&report, CMSG_DATA(c), sizeof(report));
		if (report.ee_origin == SO_EE_ORIGIN_ZEROCOPY && report.ee_errno == 0)
			land(socket, report.ee_info, report.ee_data,
				    report.ee_code & SO_EE_CODE_ZEROCOPY_COPIED);
	}
}

void fb_tcp_reap(struct fb_tcp_socket *socket)
{
	char control[256] __attribute__((aligned(8)));

	for (int i = 0; i < REPORTS && socket->landed != socket->flown; i++) {
		struct msghdr header = {.msg_control = control, .msg_controllen = sizeof(control)};

		if (recvmsg(socket->fd, &header, MSG_ERRQUEUE) < 0) {
			if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
				return;
			fb_tcp_fail(socket, FB_EPEER, strerror(errno));
			return;
		}
		take_report(socket, &header);
	}
}

void fb_tcp_ground(struct fb_tcp_socket *socket, const struct fb_tcp_link *link)
{
	for (int i = 0; socket->flights && i < FB_TCP_FLIGHTS; i++)
		if (socket->flights[i] && socket->flights[i]->message->link == link)
			socket->flights[i] = NULL;
}
