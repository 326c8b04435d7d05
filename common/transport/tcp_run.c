/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages without frames of their own; see tcp_run.h. */
#include "common/transport/tcp_run.h"

#include <string.h>
#include <sys/socket.h>

#include "common/base/error.h"
#include "common/transport/tcp_call.h"
#include "common/transport/tcp_receive.h"
#include "common/transport/tcp_send.h"

bool fb_tcp_may_run(const struct fb_port *port)
{
	const struct fb_tcp_link *link = (const struct fb_tcp_link *)port;

	return link->headroom && link->socket->tcp->width == 1 && !link->socket->flights;
}

/* Returns the frame of the link's run, as the end that receives it sees it. */
static struct fb_tcp_frame run_frame(const struct fb_tcp_link *link)
{
	return (struct fb_tcp_frame){
		.link = link->sends ? link->remote : link->index,
		.epoch = link->epoch,
		.kind = FB_TCP_RUN,
		.bytes = link->run.bytes & FB_TCP_LONGEST,
	};
}

void fb_tcp_run_begin(struct fb_port *port, size_t bytes)
{
	struct fb_tcp_link *link = fb_tcp_link(port);

	link->run.bytes = bytes;
	link->run.moved = 0;
	link->run.begun = false;
}

/* fb_tcp_run_send() until the run's frame has been sent, which comes after the socket's queue. */
static size_t send_first(struct fb_tcp_link *link, char *at, size_t bytes, int flags)
{
	struct fb_tcp_frame frame = run_frame(link);
	size_t lead = FB_TCP_LEAD - link->run.moved;
	ssize_t sent;

	if (link->socket->sending.head || link->socket->held)
		fb_tcp_flush(link->socket);
	if (link->socket->sending.head || link->socket->broken)
		return 0;
	memcpy(at - FB_TCP_LEAD, fb_tcp_pads, sizeof(fb_tcp_pads));
	memcpy(at - sizeof(frame), &frame, sizeof(frame));
	sent = fb_tcp_call_send(link->socket->fd, at - lead, lead + bytes, flags);
	if (sent <= 0)
		return fb_tcp_nothing(link->socket, sent);
	if ((size_t)sent < lead) {
		link->run.moved += (size_t)sent;
		return 0;
	}
	link->run.begun = true;
	return (size_t)sent - lead;
}

/* Not inlined, to keep the code that every message needs compact. */
static __attribute__((noinline)) size_t send_rarely(struct fb_tcp_link *link, struct iovec *parts,
						    int n, int flags)
{
	struct msghdr header = {.msg_iov = parts, .msg_iovlen = (size_t)n};
	ssize_t sent;

	if (!link->run.begun)
		return send_first(link, parts->iov_base, parts->iov_len,
				  n > 1 ? flags | MSG_MORE : flags);
	sent = sendmsg(link->socket->fd, &header, flags);
	return sent > 0 ? (size_t)sent : fb_tcp_nothing(link->socket, sent);
}

size_t fb_tcp_run_send(struct fb_port *port, struct iovec *parts, int n, bool more)
{
	struct fb_tcp_link *link = fb_tcp_link(port);
	int flags = more ? MSG_NOSIGNAL | MSG_MORE : MSG_NOSIGNAL;
	ssize_t sent;

	if (!link->run.begun || n > 1)
		return send_rarely(link, parts, n, flags);
	sent = fb_tcp_call_send(link->socket->fd, parts->iov_base, parts->iov_len, flags);
	return sent > 0 ? (size_t)sent : fb_tcp_nothing(link->socket, sent);
}

/*
 * Takes the frames among `have` bytes at `begin`, up to the run's, which sets run.begun. Returns
 * how many bytes they have. Fails the socket where a frame is neither a credit nor a pad, because
 * all messages have arrived before a run begins.
 */
static size_t take_frames(struct fb_tcp_link *link, const char *begin, size_t have)
{
	struct fb_tcp_frame frame, wanted = run_frame(link);
	size_t taken = 0;

	while (have - taken >= sizeof(frame) && !link->run.begun) {
		memcpy(&frame, begin + taken, sizeof(frame));
		taken += sizeof(frame);
		link->run.begun = !memcmp(&frame, &wanted, sizeof(frame));
		if (link->run.begun || frame.kind == FB_TCP_PAD)
			continue;
		if (frame.kind != FB_TCP_CREDIT || !fb_tcp_take_frame(link->socket, &frame)) {
			fb_tcp_nonsense(link->socket, &frame);
			break;
		}
	}
	return taken;
}

/*
 * fb_tcp_run_receive() until the run's frame has been received. It reads to FB_TCP_LEAD bytes in
 * front of `at`, so that usually the payload arrives in place; if credits came first, it is moved.
 */
static size_t receive_first(struct fb_tcp_link *link, char *at, size_t bytes)
{
	struct fb_tcp_socket *socket = link->socket;
	char *begin = at - FB_TCP_LEAD;
	size_t have = link->run.moved, taken;
	ssize_t got;

	/* An incomplete frame that was read ahead before. */
	if (socket->end) {
		memcpy(begin, socket->buffer, socket->end);
		have = socket->end;
		socket->end = 0;
	}
	got = fb_tcp_call_recv(socket->fd, begin + have, FB_TCP_LEAD + bytes - have);
	if (got <= 0) {
		link->run.moved = have;
		return fb_tcp_nothing(socket, got);
	}
	have += (size_t)got;
	taken = take_frames(link, begin, have);
	have -= taken;
	if (link->run.begun && have > bytes)
		fb_tcp_fail(socket, FB_EPEER, "sent more than a message");
	if (socket->broken)
		return 0;
	if (begin + taken != at || !link->run.begun)
		memmove(link->run.begun ? at : begin, begin + taken, have);
	link->run.moved = have;
	return link->run.begun ? have : 0;
}

static __attribute__((noinline)) size_t receive_rarely(struct fb_tcp_link *link,
						       struct iovec *parts, int n)
{
	struct msghdr header = {.msg_iov = parts, .msg_iovlen = (size_t)n};
	ssize_t got;

	if (!link->run.begun)
		return receive_first(link, parts->iov_base, parts->iov_len);
	got = recvmsg(link->socket->fd, &header, 0);
	return got > 0 ? (size_t)got : fb_tcp_nothing(link->socket, got);
}

size_t fb_tcp_run_receive(struct fb_port *port, struct iovec *parts, int n)
{
	struct fb_tcp_link *link = fb_tcp_link(port);
	ssize_t got;

	if (!link->run.begun || n > 1)
		return receive_rarely(link, parts, n);
	got = fb_tcp_call_recv(link->socket->fd, parts->iov_base, parts->iov_len);
	return got > 0 ? (size_t)got : fb_tcp_nothing(link->socket, got);
}
