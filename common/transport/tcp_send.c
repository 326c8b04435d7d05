/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sending half of a tcp link; see tcp.h.
 *
 * A small message leaves at once. The end of a large one rarely fills a packet, and a packet of
 * its own costs nearly as much as a full one: over loopback, whose packets hold just less than
 * 64 KiB, messages of 64 KiB took 1.4 times as long. So the kernel is told that more may come,
 * and the next progress() says that it did not: a caller that goes on committing fills the
 * packets. Larger messages have many packets for one end, and gain nothing by waiting.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "common/error.h"
#include "common/transport/tcp.h"

enum { GATHER = 16 }; /* messages given to the kernel by one call */

_Static_assert(sizeof(struct fb_tcp_frame) == 16, "padding would go over the wire");
_Static_assert(sizeof(struct fb_tcp_message) + 2 * sizeof(struct fb_tcp_frame) <= FB_TCP_HEAD,
	       "no room for a frame and a credit in front of the payload");

/* Writes the credit that the first link in the list is owed, and takes it off the list. */
static void take_credit(struct fb_tcp_socket *socket, struct fb_tcp_frame *frame)
{
	struct fb_tcp_link *link = socket->owed;

	socket->owed = link->next_owed;
	*frame = (struct fb_tcp_frame){
		.link = link->remote,
		.epoch = link->epoch,
		.kind = FB_TCP_CREDIT,
		.bytes = link->owed,
	};
	link->owed = 0;
	if (!socket->owed)
		socket->due = false;
}

/* Queues a message of its own for credits that are due, if its memory is free. */
static void queue_credits(struct fb_tcp_socket *socket)
{
	struct fb_tcp_message *message = &socket->control.message;
	size_t n = 0;

	if (message->left > 0 || !socket->owed)
		return;
	while (socket->owed && n < FB_TCP_FRAMES)
		take_credit(socket, &socket->control.frames[n++]);
	message->link = NULL;
	message->at = (const char *)socket->control.frames;
	message->left = n * sizeof(socket->control.frames[0]);
	fb_tcp_push(&socket->sending, message);
}

/* The kernel took `sent` bytes from the head of the queue. */
static void account(struct fb_tcp_socket *socket, size_t sent)
{
	while (socket->sending.head) {
		struct fb_tcp_message *message = socket->sending.head;

		if (sent < message->left) {
			message->at += sent;
			message->left -= sent;
			return;
		}
		sent -= message->left;
		message->left = 0;
		if (sent < message->user_left) {
			message->user += sent;
			message->user_left -= sent;
			return;
		}
		sent -= message->user_left;
		message->user_left = 0;
		fb_tcp_pop(&socket->sending);
		if (message->link)
			fb_tcp_recycle(message);
	}
}

/* What send() said is no failure: there is just no room now. */
static bool no_room(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static void lost(struct fb_tcp_socket *socket)
{
	fb_tcp_fail(socket, FB_EPEER, strerror(errno));
}

/* Setting the option again, though it is on, sends what the kernel holds back. */
static void push(struct fb_tcp_socket *socket)
{
	int on = 1;

	if (setsockopt(socket->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		lost(socket);
}

/* What of the message is left to be sent. Returns how many parts, at most 2. */
static size_t gather(const struct fb_tcp_message *message, struct iovec *parts)
{
	size_t n = 0;

	/* The kernel only reads, but struct iovec has no const. */
	if (message->left)
		parts[n++] = (struct iovec){.iov_base = (void *)(uintptr_t)message->at,
					    .iov_len = message->left};
	if (message->user_left)
		parts[n++] = (struct iovec){.iov_base = message->user,
					    .iov_len = message->user_left};
	return n;
}

void fb_tcp_flush(struct fb_tcp_socket *socket)
{
	if (socket->due && !socket->broken)
		queue_credits(socket);
	if (socket->held && !socket->sending.head && !socket->broken)
		push(socket);
	socket->held = false;
	while (socket->sending.head && !socket->broken) {
		struct iovec parts[GATHER];
		struct msghdr header = {.msg_iov = parts};
		size_t bytes = 0;
		ssize_t sent;

		for (struct fb_tcp_message *m = socket->sending.head;
		     m && header.msg_iovlen + 1 < GATHER; m = m->next) {
			header.msg_iovlen += gather(m, parts + header.msg_iovlen);
			bytes += m->left + m->user_left;
		}
		sent = sendmsg(socket->fd, &header, MSG_NOSIGNAL);
		if (sent < 0 && !no_room()) {
			lost(socket);
			return;
		}
		account(socket, sent < 0 ? 0 : (size_t)sent);
		if (sent < 0 || (size_t)sent < bytes)
			break;
	}
	fb_tcp_arm(socket, socket->sending.head != NULL && !socket->broken);
}

void *fb_tcp_acquire(struct fb_port *port, size_t bytes)
{
	struct fb_tcp_link *link = fb_tcp_link(port);

	(void)bytes;
	if (link->staged)
		return fb_tcp_body(link->staged);
	if (link->unreleased == link->slots) {
		link->socket->asked = true;
		fb_tcp_wake(link->socket);
		return NULL;
	}
	/*
	 * There is one: a buffer not in this list is being sent, hence unreleased, and of those
	 * there are fewer than slots.
	 */
	link->staged = link->unused;
	link->unused = link->unused->next;
	return fb_tcp_body(link->staged);
}

/* Sends the message now, as the first one in its queue. */
static void send_first(struct fb_tcp_socket *socket, const struct fb_tcp_message *message)
{
	int flags = socket->held ? MSG_NOSIGNAL | MSG_MORE : MSG_NOSIGNAL;
	struct iovec parts[2];
	struct msghdr header = {.msg_iov = parts};
	ssize_t sent;

	if (message->user_left) {
		header.msg_iovlen = gather(message, parts);
		sent = sendmsg(socket->fd, &header, flags);
	} else {
		sent = send(socket->fd, message->at, message->left, flags);
	}
	if (sent < 0 && !no_room()) {
		lost(socket);
		return;
	}
	account(socket, sent < 0 ? 0 : (size_t)sent);
	if (socket->sending.head)
		fb_tcp_arm(socket, true);
	if (socket->sending.head || socket->held)
		fb_tcp_wake(socket);
}

/* `data`: the payload, or NULL where it is in the message's own buffer. */
static void commit(struct fb_port *port, const void *data, size_t bytes)
{
	struct fb_tcp_link *link = fb_tcp_link(port);
	struct fb_tcp_socket *socket = link->socket;
	struct fb_tcp_message *message = link->staged;
	struct fb_tcp_frame *end = (struct fb_tcp_frame *)(void *)fb_tcp_body(message);
	struct fb_tcp_frame *frame = end - 1;

	link->staged = NULL;
	link->unreleased++;
	*frame = (struct fb_tcp_frame){
		.link = link->remote,
		.epoch = link->epoch,
		.kind = FB_TCP_DATA,
		.bytes = bytes,
	};
	while (socket->owed && (char *)(frame - 1) >= (char *)(message + 1))
		take_credit(socket, --frame);
	message->at = (const char *)frame;
	message->left = (size_t)((char *)end - (char *)frame) + (data ? 0 : bytes);
	message->bytes = bytes;
	message->user = (char *)(uintptr_t)data; /* only read */
	message->user_left = data ? bytes : 0;
	fb_tcp_push(&socket->sending, message);
	/* Behind others the kernel had no room a moment ago: progress() tries them all at once. */
	if (socket->sending.head != message || socket->broken) {
		fb_tcp_wake(socket);
		return;
	}
	socket->held = bytes >= FB_TCP_LARGE && bytes <= FB_TCP_HOLD;
	send_first(socket, message);
}

void fb_tcp_commit(struct fb_port *port, size_t bytes)
{
	commit(port, NULL, bytes);
}

void fb_tcp_commit_user(struct fb_port *port, const void *data, size_t bytes)
{
	commit(port, data, bytes);
}
