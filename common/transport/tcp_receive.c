/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiving half of a tcp link; see tcp.h.
 *
 * Headers and small messages go through the socket's buffer, many with one call. The rest of a
 * payload that is not complete there is received into the message's own buffer, together with
 * the next headers behind it. After a large message another one is likely, so then only a few
 * headers' worth is read ahead and the large payload is hardly ever copied.
 *
 * That takes two reads for a message: one for its header, one for its payload. To need only one,
 * the header of a message that is not small always has the same length (tcp_commit.c), and the next
 * message is guessed: where the caller waits for one link only, or for several that come in the
 * same order each time, one read takes header and payload, each to its place. After a wrong guess
 * nothing is lost: the bytes that arrived are copied together and parsed as usual. The guessed
 * place and its headroom then have bytes of other messages in them until their own arrive, but
 * the caller does not read a posted buffer before that.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "common/base/error.h"
#include "common/transport/tcp_call.h"
#include "common/transport/tcp_part.h"
#include "common/transport/tcp_receive.h"

enum {
	ROUNDS = 4, /* most reads of one socket in a row, so that others do not wait long */
	DOUBT = 64, /* messages after a wrong guess before the next link is guessed again */
};

void fb_tcp_nonsense(struct fb_tcp_socket *socket, const struct fb_tcp_frame *frame)
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

/* Returns whether the credit makes sense. For a link that was closed it is only late. */
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
 * The message that the frame's part belongs to, whether other parts have come or not; NULL: there
 * is none. It need not be the link's next one, because one socket may be ahead of another.
 */
static struct fb_tcp_message *find_message(struct fb_tcp_link *link,
					   const struct fb_tcp_frame *frame, int parts)
{
	uint32_t ahead = (uint16_t)(frame->turn - link->turn);
	struct fb_tcp_message *message, **place;

	if (ahead >= link->slots)
		return NULL;
	place = fb_tcp_place(link, ahead);
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

/* The next `bytes` bytes of the socket are the message's payload from `offset` on. */
static inline void fill(struct fb_tcp_socket *socket, struct fb_tcp_link *link,
			struct fb_tcp_message *message, size_t bytes, size_t offset)
{
	socket->fill_left = socket->last_bytes = bytes;
	socket->fill_at = fb_tcp_payload(message) + offset;
	socket->filling = message;
	if (socket->previous)
		socket->previous->successor = link->index;
	socket->previous = link;
	socket->doubt -= socket->doubt > 0;
}

/* Begins a message, or a part of one. Returns whether it makes sense. */
static bool take_data(struct fb_tcp_socket *socket, struct fb_tcp_link *link,
		      const struct fb_tcp_frame *frame)
{
	struct fb_tcp_message *message;
	struct fb_tcp_spread spread;
	size_t offset, bytes;
	int part;

	if (!link || link->sends || frame->bytes > link->slot_bytes)
		return false;
	spread = fb_tcp_spread_soon(link, frame->turn, frame->bytes);
	part = socket->index - spread.first;
	part += part < 0 ? socket->tcp->width : 0;
	message = part < spread.count ? find_message(link, frame, spread.count) : NULL;
	if (!message)
		return false;
	bytes = fb_tcp_part_soon(frame->bytes, part, spread.count, &offset);
	fill(socket, link, message, bytes, offset);
	return true;
}

/*
 * A faster take_data() for a frame that is known to be of the link's awaited message: it looks
 * nothing up. Returns false, and has changed nothing, where the link has no place for the message
 * or the message may have several parts.
 */
static inline bool take_next(struct fb_tcp_socket *socket, struct fb_tcp_link *link)
{
	struct fb_tcp_message *message = link->ring[link->first];

	if (!message || message->begun || socket->tcp->width > 1 ||
	    link->awaited.bytes > link->slot_bytes)
		return false;
	message->begun = true;
	message->bytes = link->awaited.bytes;
	message->missing = 1;
	fill(socket, link, message, message->bytes, 0);
	return true;
}

/* `bytes` more bytes of the payload have been received. */
static void filled(struct fb_tcp_socket *socket, size_t bytes)
{
	socket->fill_at += bytes;
	socket->fill_left -= bytes;
	if (socket->fill_left == 0) {
		(void)fb_tcp_part_done(socket->filling);
		socket->filling = NULL;
	}
}

bool fb_tcp_take_frame(struct fb_tcp_socket *socket, const struct fb_tcp_frame *frame)
{
	struct fb_tcp_link *link;

	if (frame->kind == FB_TCP_PAD)
		return true;
	link = find_link(socket, frame);
	if (frame->kind == FB_TCP_DATA)
		return take_data(socket, link, frame);
	return frame->kind == FB_TCP_CREDIT && take_credit(link, frame);
}

/* Takes n bytes from `at` on. An incomplete last frame stays in the buffer. */
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
		if (!fb_tcp_take_frame(socket, &frame)) {
			fb_tcp_nonsense(socket, &frame);
			return;
		}
	}
	if (n)
		memmove(socket->buffer, at, n);
	socket->end = n;
}

/* One read. Returns how many bytes came; 0: none now, or never again. */
static size_t take(struct fb_tcp_socket *socket, struct iovec *parts, size_t n)
{
	struct msghdr header = {.msg_iov = parts, .msg_iovlen = n};
	ssize_t got = n > 1 ? recvmsg(socket->fd, &header, 0)
			    : fb_tcp_call_recv(socket->fd, parts->iov_base, parts->iov_len);

	socket->vain = got <= 0;
	return got > 0 ? (size_t)got : fb_tcp_nothing(socket, got);
}

/*
 * The link whose message is likely to come next: the only one that the caller asked for, or of
 * several the one that followed the previous message's link the last time. NULL: not known.
 */
static struct fb_tcp_link *next_link(const struct fb_tcp_socket *socket)
{
	const struct fb_tcp *tcp = socket->tcp;
	struct fb_tcp_link *link;

	if (!socket->crowded)
		return socket->awaited;
	if (socket->doubt || !socket->previous || socket->previous->successor >= tcp->nlinks)
		return NULL;
	link = tcp->links[socket->previous->successor];
	return link && link->awaited.on == socket && link->awaited.look == socket->look ? link
											: NULL;
}

/*
 * The message that is likely to come next on the socket. Returns false where it is not known or a
 * guess does not pay: one read usually takes many small messages, unless the caller waits for one.
 * A smaller message without room in front would need two iovecs, and to copy 4 KiB costs less.
 */
static bool make_guess(const struct fb_tcp_socket *socket, struct fb_tcp_guess *guess)
{
	struct fb_tcp_link *link = socket->filling ? NULL : next_link(socket);
	struct fb_tcp_message *message;
	bool joined;

	if (!link || link->awaited.bytes < FB_TCP_LED || link->awaited.bytes > link->slot_bytes)
		return false;
	joined = link->headroom || !link->posted;
	if (link->awaited.bytes < FB_TCP_LARGE && !(joined && socket->vain))
		return false;
	message = link->ring[link->first];
	if (!message && !link->posted)
		message = link->unused; /* find_message() will take this one */
	else if (message && message->begun)
		message = NULL;
	if (!message)
		return false;
	guess->link = link;
	guess->bytes = link->awaited.bytes;
	guess->at = fb_tcp_payload(message);
	guess->lead = joined ? guess->at - FB_TCP_LEAD : socket->tcp->stray;
	return true;
}

/* Whether no credits are in front of an expected message. */
static inline bool only_pads(const char *lead)
{
	struct fb_tcp_frame frames[FB_TCP_LEAD / sizeof(struct fb_tcp_frame) - 1];
	bool only = true;

	memcpy(frames, lead, sizeof(frames));
	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
		only &= frames[i].kind == FB_TCP_PAD;
	return only;
}

/* Takes the frames of a message that was guessed. Returns whether they make sense. */
static bool take_lead(struct fb_tcp_socket *socket, const struct fb_tcp_guess *guess)
{
	struct fb_tcp_frame frame;

	socket->end = 0;
	if (only_pads(guess->lead) && take_next(socket, guess->link))
		return true;
	for (size_t at = 0; at < FB_TCP_LEAD; at += sizeof(frame)) {
		bool last = at == FB_TCP_LEAD - sizeof(frame);

		memcpy(&frame, guess->lead + at, sizeof(frame));
		if (frame.kind == FB_TCP_PAD)
			continue;
		if (last ? take_data(socket, guess->link, &frame)
			 : fb_tcp_take_frame(socket, &frame))
			continue;
		fb_tcp_nonsense(socket, &frame);
		return false;
	}
	return true;
}

/* One read that expects the guessed message. Returns whether there may be more. */
static bool receive_guess(struct fb_tcp_socket *socket, const struct fb_tcp_guess *guess)
{
	size_t old = socket->end, frames = FB_TCP_LEAD - old, got, here;
	size_t room = guess->bytes < FB_TCP_GUESS ? guess->bytes : FB_TCP_GUESS;
	bool joined = guess->lead + FB_TCP_LEAD == guess->at;
	struct iovec parts[2] = {
		{.iov_base = guess->lead + old, .iov_len = joined ? frames + room : frames},
		{.iov_base = guess->at, .iov_len = room},
	};

	got = take(socket, parts, joined ? 1 : 2);
	if (!got)
		return false;
	if (old)
		memcpy(guess->lead, socket->buffer, old);
	if (got <= frames) {
		parse(socket, guess->lead, old + got);
		return false;
	}
	here = got - frames;
	if (fb_tcp_expected(guess, guess->lead)) {
		if (take_lead(socket, guess))
			filled(socket, here);
		/*
		 * Reads no further if the message is complete, because the caller waits for it. If
		 * it is not, the rest has probably arrived meanwhile where much had come.
		 */
		return socket->filling && here >= FB_TCP_LARGE;
	}
	/* A wrong guess: copies the bytes together, and parses them as usual. */
	socket->doubt = DOUBT;
	memmove(socket->tcp->stray, guess->lead, FB_TCP_LEAD);
	memcpy(socket->tcp->stray + FB_TCP_LEAD, guess->at, here);
	parse(socket, socket->tcp->stray, FB_TCP_LEAD + here);
	return here == room;
}

/*
 * The usual case for a caller that waits: its message arrives and nothing else. Returns whether the
 * `got` bytes in the buffer are this message, and has copied it to its place then.
 */
static bool take_awaited(struct fb_tcp_socket *socket, size_t got)
{
	const struct fb_tcp_link *link = socket->awaited;
	struct fb_tcp_frame frame;

	if (!link || socket->crowded || socket->end || got != sizeof(frame) + link->awaited.bytes)
		return false;
	memcpy(&frame, socket->buffer, sizeof(frame));
	if (frame.kind != FB_TCP_DATA || frame.link != link->index || frame.epoch != link->epoch ||
	    frame.turn != link->turn || frame.bytes != link->awaited.bytes)
		return false;
	if (!take_next(socket, socket->awaited) && !take_data(socket, socket->awaited, &frame))
		return false;
	memcpy(socket->fill_at, socket->buffer + sizeof(frame), socket->fill_left);
	filled(socket, socket->fill_left);
	return true;
}

/* One read. Returns whether there may be more. */
static bool receive_once(struct fb_tcp_socket *socket)
{
	size_t ahead = socket->last_bytes >= FB_TCP_LARGE ? FB_TCP_AHEAD : FB_TCP_BUFFER;
	struct fb_tcp_guess guess;
	struct iovec parts[2];
	size_t wanted, got, here;

	if (make_guess(socket, &guess))
		return receive_guess(socket, &guess);
	wanted = socket->filling ? socket->fill_left : 0;
	if (ahead > FB_TCP_BUFFER - socket->end)
		ahead = FB_TCP_BUFFER - socket->end;
	parts[0] = (struct iovec){.iov_base = socket->fill_at, .iov_len = wanted};
	parts[1] = (struct iovec){.iov_base = socket->buffer + socket->end, .iov_len = ahead};
	/* The caller waits for this message only: one iovec is faster; a guess reads the next. */
	if (wanted && socket->awaited == socket->filling->link && !socket->crowded)
		ahead = 0;
	got = wanted ? take(socket, parts, ahead ? 2 : 1) : take(socket, parts + 1, 1);
	if (!got || (!wanted && take_awaited(socket, got)))
		return false;
	here = got < wanted ? got : wanted;
	if (here)
		filled(socket, here);
	parse(socket, socket->buffer, socket->end + got - here);
	return ahead && got == wanted + ahead;
}

void fb_tcp_receive(struct fb_tcp_socket *socket)
{
	for (int i = 0; i < ROUNDS && !socket->broken; i++)
		if (!receive_once(socket))
			break;
	socket->awaited = NULL;
	socket->crowded = false;
	socket->look++;
}
