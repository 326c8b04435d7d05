/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sending half of a tcp link; see tcp.h.
 *
 * A small message leaves at once. The end of a large one rarely fills a packet, and a packet for
 * the end costs nearly as much as a full one: over loopback, whose packets hold just less than 64
 * KiB, messages of 64 KiB took 1.4 times as long. So send() gets the hint that more may follow
 * (MSG_MORE), and a caller that goes on committing fills the packets; if nothing has followed, the
 * next progress() sends the end. The hint is given from the second message in a row on, because it
 * would delay a message whose sender waits for an answer. Messages above FB_TCP_HOLD have many
 * packets and one end, and gain nothing by waiting.
 *
 * Small messages in a row cost a system call each, and the receiver's kernel a packet each. So
 * those after the first one are only queued, and the next progress() sends all of them by one call.
 * If several were sent in a row the last time, this is expected again, and the first one waits as
 * well. At most FB_TCP_GATHER bytes are kept back.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "common/base/error.h"
#include "common/transport/tcp_call.h"
#include "common/transport/tcp_part.h"
#include "common/transport/tcp_send.h"
#include "common/transport/tcp_zerocopy.h"

enum { PARTS = 64 }; /* of memory, given to the kernel by one call */

_Static_assert(sizeof(struct fb_tcp_frame) == 16, "padding would go over the wire");

void fb_tcp_take_credit(struct fb_tcp_socket *socket, struct fb_tcp_frame *frame)
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
	link->listed = false;
	if (!socket->owed)
		socket->due = false;
}

/* Queues a separate message for credits that are due, if its memory is free. */
static void queue_credits(struct fb_tcp_socket *socket)
{
	struct fb_tcp_piece *piece = &socket->control.piece;
	size_t n = 0;

	if (piece->left > 0 || !socket->owed)
		return;
	while (socket->owed && n < FB_TCP_FRAMES)
		fb_tcp_take_credit(socket, &socket->control.frames[n++]);
	piece->at = (const char *)socket->control.frames;
	piece->left = n * sizeof(socket->control.frames[0]);
	fb_tcp_push(&socket->sending, piece);
}

void fb_tcp_piece_done(struct fb_tcp_piece *piece)
{
	struct fb_tcp_message *message = piece->message;

	if (!message || !fb_tcp_part_done(message))
		return;
	message->link->unsent--;
	fb_tcp_recycle(message);
}

/* The kernel took `sent` bytes from the head of the queue. */
static void account(struct fb_tcp_socket *socket, size_t sent)
{
	while (socket->sending.head) {
		struct fb_tcp_piece *piece = socket->sending.head;

		if (sent < piece->left) {
			piece->at += sent;
			piece->left -= sent;
			return;
		}
		sent -= piece->left;
		piece->left = 0;
		if (sent < piece->data_left) {
			piece->data += sent;
			piece->data_left -= sent;
			return;
		}
		sent -= piece->data_left;
		piece->data_left = 0;
		fb_tcp_pop(&socket->sending);
		if (!piece->pins)
			fb_tcp_piece_done(piece);
	}
}

/* Whether send() failed only because there is no room now. */
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

/* The unsent rest of the piece. Returns its number of parts, at most 2. */
static size_t gather(const struct fb_tcp_piece *piece, struct iovec *parts)
{
	size_t n = 0;

	/* The kernel only reads, but struct iovec has no const. */
	if (piece->left)
		parts[n++] = (struct iovec){.iov_base = (void *)(uintptr_t)piece->at,
					    .iov_len = piece->left};
	if (piece->data_left)
		parts[n++] = (struct iovec){.iov_base = (void *)(uintptr_t)piece->data,
					    .iov_len = piece->data_left};
	return n;
}

/* Whether the kernel is to send the piece without a copy. */
static bool flies(const struct fb_tcp_socket *socket, const struct fb_tcp_piece *piece)
{
	return socket->flights && fb_tcp_may_fly(socket, piece->left + piece->data_left);
}

/* Sends from the head of the queue by one call. Returns its result. */
static ssize_t give(struct fb_tcp_socket *socket, struct msghdr *header, int flags)
{
	struct fb_tcp_piece *piece = socket->sending.head;
	ssize_t sent = -1;

	/* One piece only, as a send has one number. Control frames are too short. */
	if (header->msg_iovlen <= 2 && flies(socket, piece)) {
		sent = sendmsg(socket->fd, header, flags | MSG_ZEROCOPY);
		if (sent > 0)
			fb_tcp_fly(socket, piece);
		/* ENOBUFS: the limit of pinned memory is reached, so this send copies. */
		if (sent >= 0 || errno != ENOBUFS)
			return sent;
	}
	return sendmsg(socket->fd, header, flags);
}

void fb_tcp_flush(struct fb_tcp_socket *socket)
{
	if (socket->due && !socket->broken)
		queue_credits(socket);
	if (socket->held && !socket->sending.head && !socket->broken)
		push(socket);
	socket->held = false;
	socket->gathered = 0;
	while (socket->sending.head && !socket->broken) {
		struct iovec parts[PARTS];
		struct msghdr header = {.msg_iov = parts};
		size_t bytes = 0;
		ssize_t sent;

		for (struct fb_tcp_piece *p = socket->sending.head;
		     p && header.msg_iovlen + 1 < PARTS; p = p->next) {
			if (bytes && flies(socket, p))
				break;
			header.msg_iovlen += gather(p, parts + header.msg_iovlen);
			bytes += p->left + p->data_left;
			if (p == socket->sending.head && flies(socket, p))
				break;
		}
		sent = give(socket, &header, MSG_NOSIGNAL);
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
	/*
	 * `unused` may be empty though the peer has released messages: their buffers stay in use
	 * until the kernel has reported their zero-copy sends complete.
	 */
	if (link->unreleased == link->slots || !link->unused) {
		fb_tcp_ask(link->socket);
		return NULL;
	}
	link->staged = link->unused;
	link->unused = link->unused->next;
	return fb_tcp_body(link->staged);
}

/*
 * Copies the piece's frames right in front of its payload, so that both are contiguous, and returns
 * the begin; NULL where there is no room. The piece keeps its own frames, because the kernel may
 * not take all of them now.
 */
static const char *join(const struct fb_tcp_piece *piece)
{
	const struct fb_tcp_message *message = piece->message;
	char *begin;

	/* In front of later parts lies the payload of the part before. */
	if (!message->link->headroom || piece != message->pieces)
		return NULL;
	/* The payload is const, but the link may write the headroom. */
	begin = (char *)(uintptr_t)piece->data - piece->left;
	/* memcpy of a constant length needs no call. */
	if (piece->left == FB_TCP_LEAD) {
		memcpy(begin, piece->at, FB_TCP_LEAD);
		return begin;
	}
	for (size_t at = 0; at < piece->left; at += sizeof(piece->frame))
		memcpy(begin + at, piece->at + at, sizeof(piece->frame));
	return begin;
}

void fb_tcp_sent(struct fb_tcp_socket *socket, ssize_t sent)
{
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

/* Sends the piece now, as the first one in its queue. */
static void send_first(struct fb_tcp_socket *socket, const struct fb_tcp_piece *piece)
{
	int flags = socket->held ? MSG_NOSIGNAL | MSG_MORE : MSG_NOSIGNAL;
	const char *at = piece->data_left ? join(piece) : piece->at;
	struct iovec parts[2];
	struct msghdr header = {.msg_iov = parts};
	ssize_t sent;

	if (!at || flies(socket, piece)) {
		header.msg_iovlen = gather(piece, parts);
		sent = give(socket, &header, flags);
	} else {
		sent = fb_tcp_call_send(socket->fd, at, piece->left + piece->data_left, flags);
	}
	fb_tcp_sent(socket, sent);
}

/* Whether the piece, of `bytes` bytes, may wait for others that are likely to be sent with it. */
static bool may_wait(const struct fb_tcp_socket *socket, bool again, size_t bytes)
{
	return (again || socket->burst) && socket->gathered + bytes <= FB_TCP_GATHER;
}

void fb_tcp_send_piece(struct fb_tcp_socket *socket, struct fb_tcp_piece *piece, size_t payload)
{
	size_t bytes = piece->left + piece->data_left;
	bool behind = socket->sending.head && !socket->gathered, again;

	if (socket->round != socket->tcp->round) {
		socket->round = socket->tcp->round;
		socket->burst = socket->in_row > 1;
		socket->in_row = 0;
	}
	again = socket->in_row++ > 0;
	fb_tcp_push(&socket->sending, piece);
	if (!behind && may_wait(socket, again, bytes) && payload < FB_TCP_LARGE) {
		socket->gathered += bytes;
		behind = true;
	}
	/* The kernel had no room for earlier pieces: progress() will try them all at once. */
	if (behind || socket->broken) {
		fb_tcp_wake(socket);
		return;
	}
	if (socket->sending.head != piece) {
		fb_tcp_flush(socket);
		if (socket->sending.head)
			fb_tcp_wake(socket);
		return;
	}
	socket->held = again && payload >= FB_TCP_LARGE && payload <= FB_TCP_HOLD;
	send_first(socket, piece);
}
