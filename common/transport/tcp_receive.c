/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiving half of a tcp link; see tcp.h.
 *
 * Headers and small messages go through the socket's buffer, many with one call. The rest of a
 * payload that is not complete there is received into the message's own buffer, together with
 * the next headers behind it. After a large message another one is likely, so then only a few
 * headers' worth is read ahead and the large payload is hardly ever copied.
 *
 * That takes two reads for a message: one for its header, one for its payload. So the header of a
 * large message has always the same length (tcp_send.c), and where one link alone is waited for on
 * a socket, one read takes header and payload, each to where it belongs if it is what was guessed.
 * If not, nothing is lost: what arrived is put together again and taken from there, like anything
 * else. The place that was guessed has bytes of others in it then till its own ones come, before
 * which whoever posted it does not look at it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "common/error.h"
#include "common/transport/tcp.h"

/* Calls for one socket at a time: more would let the others wait. */
enum { ROUNDS = 4 };

/* Writes the reason and gives the socket up: after this the bytes have no meaning. */
static void nonsense(struct fb_tcp_socket *socket, const struct fb_tcp_frame *frame)
{
	char what[128];

	snprintf(what, sizeof(what), "sent what does not fit (link %u, kind %u, %llu bytes)",
		 (unsigned)frame->link, (unsigned)frame->kind, (unsigned long long)frame->bytes);
	fb_tcp_fail(socket, FB_EPEER, what);
}

static struct fb_tcp_link *find_link(const struct fb_tcp_socket *socket,
				     const struct fb_tcp_frame *frame)
{
	struct fb_tcp_link *link;

	if (frame->link >= socket->tcp->nlinks)
		return NULL;
	link = socket->tcp->links[frame->link];
	return link && link->sockets[socket->index] == socket && link->epoch == frame->epoch
		       ? link : NULL;
}

/* A credit for a link that is gone is late, not wrong. Returns whether it makes sense. */
static bool take_credit(struct fb_tcp_link *link, const struct fb_tcp_frame *frame)
{
	if (!link)
		return true;
	if (!link->sends || frame->bytes > link->unreleased)
		return false;
	link->unreleased -= (uint32_t)frame->bytes;
	return true;
}

/*
 * The message that a frame on this socket brings a part of, whatever was seen of it before; NULL:
 * there can be none. Sockets are not in step, so it need not be the link's next one.
 */
static struct fb_tcp_message *find_message(struct fb_tcp_link *link,
					   const struct fb_tcp_frame *frame, int parts)
{
	uint32_t ahead = (uint16_t)(frame->turn - link->turn);
	struct fb_tcp_message *message, **place;

	if (ahead >= link->slots)
		return NULL;
	place = &link->ring[(link->first + ahead) % link->slots];
	message = *place;
	if (!message) {
		if (link->posted || !link->unused)
			return NULL;
		message = link->unused;
		link->unused = message->next;
		message->begun = false;
		*place = message;
	}
	if (!message->begun) {
		message->begun = true;
		message->bytes = frame->bytes;
		message->missing = (uint32_t)parts;
	}
	return message->bytes == frame->bytes && message->missing ? message : NULL;
}

/* Begins a message, or a part of one. Returns whether it makes sense. */
static bool take_data(struct fb_tcp_socket *socket, struct fb_tcp_link *link,
		      const struct fb_tcp_frame *frame)
{
	struct fb_tcp_message *message;
	struct fb_tcp_spread spread;
	size_t offset;
	int part;

	if (!link || link->sends || frame->bytes > link->slot_bytes)
		return false;
	spread = fb_tcp_spread(link, frame->turn, frame->bytes);
	part = (socket->index + socket->tcp->width - spread.first) % socket->tcp->width;
	message = part < spread.count ? find_message(link, frame, spread.count) : NULL;
	if (!message)
		return false;
	socket->fill_left = fb_tcp_part(frame->bytes, part, spread.count, &offset);
	socket->fill_at = fb_tcp_payload(message) + offset;
	socket->last_bytes = socket->fill_left;
	socket->filling = message;
	return true;
}

/* So many more bytes of the payload are in their place. */
static void filled(struct fb_tcp_socket *socket, size_t bytes)
{
	socket->fill_at += bytes;
	socket->fill_left -= bytes;
	if (socket->fill_left == 0) {
		(void)fb_tcp_part_done(socket->filling);
		socket->filling = NULL;
	}
}

/* What a frame says. Returns whether it makes sense. */
static bool take_frame(struct fb_tcp_socket *socket, const struct fb_tcp_frame *frame)
{
	struct fb_tcp_link *link = find_link(socket, frame);

	if (frame->kind == FB_TCP_DATA)
		return take_data(socket, link, frame);
	if (frame->kind == FB_TCP_CREDIT)
		return take_credit(link, frame);
	return frame->kind == FB_TCP_PAD;
}

/* Takes n bytes from `at` on. What is there of the last frame, if not all, stays in the buffer. */
static void parse(struct fb_tcp_socket *socket, const char *at, size_t n)
{
	while (socket->filling || n >= sizeof(struct fb_tcp_frame)) {
		struct fb_tcp_frame frame;
		size_t have = n < socket->fill_left ? n : socket->fill_left;

		if (socket->filling) {
			memcpy(socket->fill_at, at, have);
			at += have;
			n -= have;
			filled(socket, have);
			if (socket->filling)
				break;
			continue;
		}
		memcpy(&frame, at, sizeof(frame));
		at += sizeof(frame);
		n -= sizeof(frame);
		if (!take_frame(socket, &frame)) {
			nonsense(socket, &frame);
			return;
		}
	}
	memmove(socket->buffer, at, n);
	socket->end = n;
}

/* One call. Returns how many bytes came, 0: none now, or never again. */
static size_t take(struct fb_tcp_socket *socket, struct iovec *parts, size_t n)
{
	struct msghdr header = {.msg_iov = parts, .msg_iovlen = n};
	ssize_t got = n > 1 ? recvmsg(socket->fd, &header, 0)
			    : recv(socket->fd, parts->iov_base, parts->iov_len, 0);

	if (got == 0)
		fb_tcp_fail(socket, FB_EPEER, "closed its connection");
	else if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
		fb_tcp_fail(socket, FB_EPEER, strerror(errno));
	return got > 0 ? (size_t)got : 0;
}

/*
 * What is likely to come next on the socket. Returns false where nobody can tell: nothing large is
 * waited for, or by several, or it has begun.
 */
static bool make_guess(const struct fb_tcp_socket *socket, struct fb_tcp_guess *guess)
{
	struct fb_tcp_link *link = socket->crowded ? NULL : socket->awaited;
	struct fb_tcp_message *message;

	if (!link || socket->filling || socket->awaited_bytes < FB_TCP_LARGE ||
	    socket->awaited_bytes > link->slot_bytes)
		return false;
	message = link->ring[link->first];
	if (!message && !link->posted)
		message = link->unused; /* find_message() will take this one */
	else if (message && message->begun)
		message = NULL;
	if (!message)
		return false;
	*guess = (struct fb_tcp_guess){
		.link = link,
		.bytes = socket->awaited_bytes,
		.at = fb_tcp_payload(message),
	};
	return true;
}

/* One call that expects a message, and has its payload received where it belongs. */
static bool receive_guess(struct fb_tcp_socket *socket, const struct fb_tcp_guess *guess)
{
	size_t frames = FB_TCP_LEAD - socket->end, got, here;
	size_t room = guess->bytes < FB_TCP_GUESS ? guess->bytes : FB_TCP_GUESS;
	struct iovec parts[2] = {
		{.iov_base = socket->buffer + socket->end, .iov_len = frames},
		{.iov_base = guess->at, .iov_len = room},
	};

	got = take(socket, parts, 2);
	if (got <= frames) {
		if (got)
			parse(socket, socket->buffer, socket->end + got);
		return false;
	}
	here = got - frames;
	if (fb_tcp_expected(guess, socket->buffer)) {
		parse(socket, socket->buffer, FB_TCP_LEAD);
		if (!socket->broken)
			filled(socket, here);
		/* Of a message that is all there, whoever waits for it shall hear first. */
		return here == room && room < guess->bytes;
	}
	/* Something else: put together again, and taken from there. */
	memcpy(socket->tcp->stray, socket->buffer, FB_TCP_LEAD);
	memcpy(socket->tcp->stray + FB_TCP_LEAD, guess->at, here);
	parse(socket, socket->tcp->stray, FB_TCP_LEAD + here);
	return here == room;
}

/* One call. Returns whether there may be more. */
static bool receive_once(struct fb_tcp_socket *socket)
{
	size_t ahead = socket->last_bytes >= FB_TCP_LARGE ? FB_TCP_AHEAD : FB_TCP_BUFFER;
	size_t wanted, got, here;
	struct fb_tcp_guess guess;
	struct iovec parts[2];

	if (make_guess(socket, &guess))
		return receive_guess(socket, &guess);
	wanted = socket->filling ? socket->fill_left : 0;
	if (ahead > FB_TCP_BUFFER - socket->end)
		ahead = FB_TCP_BUFFER - socket->end;
	parts[0] = (struct iovec){.iov_base = socket->fill_at, .iov_len = wanted};
	parts[1] = (struct iovec){.iov_base = socket->buffer + socket->end, .iov_len = ahead};
	got = wanted ? take(socket, parts, 2) : take(socket, parts + 1, 1);
	if (!got)
		return false;
	here = got < wanted ? got : wanted;
	if (here)
		filled(socket, here);
	parse(socket, socket->buffer, socket->end + got - here);
	return got == wanted + ahead;
}

void fb_tcp_receive(struct fb_tcp_socket *socket)
{
	for (int i = 0; i < ROUNDS && !socket->broken; i++)
		if (!receive_once(socket))
			break;
	socket->awaited = NULL;
	socket->crowded = false;
}

/* A message of the link is waited for; what comes is guessed from it. */
static void await(struct fb_tcp_link *link, struct fb_tcp_socket *socket, size_t bytes)
{
	socket->crowded |= socket->awaited && socket->awaited != link;
	socket->awaited = link;
	socket->awaited_bytes = bytes;
}

const void *fb_tcp_peek(struct fb_port *port, size_t bytes)
{
	struct fb_tcp_link *link = fb_tcp_link(port);
	struct fb_tcp_message *message = link->ring[link->first];
	struct fb_tcp_spread spread;
	char what[128];

	if (message && !message->begun)
		message = NULL;
	if (message && message->bytes == bytes && !message->missing)
		return fb_tcp_payload(message);
	if (message && message->bytes != bytes && !link->socket->broken) {
		snprintf(what, sizeof(what), "sent %zu bytes on link %u where %zu were expected",
			 message->bytes, (unsigned)link->id, bytes);
		fb_tcp_fail(link->socket, FB_EPEER, what);
	}
	spread = fb_tcp_spread(link, link->turn, bytes);
	if (spread.count == 1)
		await(link, link->sockets[spread.first], bytes);
	for (int i = 0; i < spread.count; i++)
		fb_tcp_ask(link->sockets[(spread.first + i) % link->socket->tcp->width]);
	return NULL;
}

/* The sender may send one more message on the link, and has to be told. */
static void owe(struct fb_tcp_link *link)
{
	struct fb_tcp_socket *socket = link->socket;

	if (link->owed++ == 0) {
		link->next_owed = socket->owed;
		socket->owed = link;
	}
}

/*
 * Posted links: while the sender knows of places for half of the slots it has no reason to wait,
 * and the news of further ones can travel with data. It is looked at whenever either changes.
 */
static void tell_places(struct fb_tcp_link *link)
{
	if (!link->owed || link->placed - link->owed >= link->slots - link->slots / 2)
		return;
	link->socket->due = true;
	fb_tcp_wake(link->socket);
}

bool fb_tcp_post(struct fb_port *port, void *buffer)
{
	struct fb_tcp_link *link = fb_tcp_link(port);
	struct fb_tcp_message *message = link->unused;

	if (!message)
		return false;
	link->unused = message->next;
	message->user = buffer;
	message->begun = false;
	link->ring[(link->first + link->placed++) % link->slots] = message;
	owe(link);
	tell_places(link);
	return true;
}

void fb_tcp_release(struct fb_port *port)
{
	struct fb_tcp_link *link = fb_tcp_link(port);
	struct fb_tcp_socket *socket = link->socket;

	fb_tcp_recycle(link->ring[link->first]);
	link->ring[link->first] = NULL;
	link->first = (link->first + 1) % link->slots;
	link->turn++;
	if (link->posted) {
		link->placed--;
		tell_places(link);
		return;
	}
	owe(link);
	/*
	 * With at least half of the slots free the sender never waits for a credit, so until
	 * then they can wait for data to travel with. Not sent at once even then: often the
	 * next thing that the caller does is to send.
	 */
	if (link->owed >= link->slots - link->slots / 2) {
		socket->due = true;
		fb_tcp_wake(socket);
	}
}
