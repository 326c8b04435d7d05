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
 * message that is not small has always the same length (tcp_commit.c), and where one link alone is
 * waited for on a socket, or several that come in the same order each time, one read takes header
 * and payload, each to where it belongs if it is what was guessed. If not, nothing is lost: what
 * arrived is put together again and taken from there, like anything else. The place that was
 * guessed has bytes of others in it then till its own ones come, before which whoever posted it
 * does not look at it; and so has the headroom in front of it.
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
	ROUNDS = 4, /* calls for one socket at a time: more would let the others wait */
	DOUBT = 64, /* messages after a wrong guess among links, until there is another one */
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

/* The next bytes are `bytes` of the message's, from `offset` on. */
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
 * The same for the next message of a link that has a place for it, whole, when what came has been
 * found to be that: nothing is looked up or computed again. Returns false where it has no place,
 * or where it may be a part only; then nothing has happened.
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

/* One call. Returns how many bytes came, 0: none now, or never again. */
static size_t take(struct fb_tcp_socket *socket, struct iovec *parts, size_t n)
{
	struct msghdr header = {.msg_iov = parts, .msg_iovlen = n};
	ssize_t got = n > 1 ? recvmsg(socket->fd, &header, 0)
			    : fb_tcp_call_recv(socket->fd, parts->iov_base, parts->iov_len);

	socket->vain = got <= 0;
	return got > 0 ? (size_t)got : fb_tcp_nothing(socket, got);
}

/*
 * The link whose message is likely to come next: the only one of which somebody has asked, or of
 * several the one that came after the last one before, too. NULL: it is not known.
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
 * What is likely to come next on the socket. Returns false where it is not known, or where it would
 * not pay: small ones come many with one read, unless somebody waits for this very one. Where two
 * parts of memory would be needed, a copy of 4 KiB costs less than the second one.
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

/* The frames of what was expected. Returns whether they make sense. */
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

/* One call that expects a message, and has its payload received where it belongs. */
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
		 * The caller that waits for a message gets it first when it is complete. Where much
		 * has come and some is missing, the rest is likely to have come meanwhile.
		 */
		return socket->filling && here >= FB_TCP_LARGE;
	}
	/* Something else: put together again, and taken from there. */
	socket->doubt = DOUBT;
	memmove(socket->tcp->stray, guess->lead, FB_TCP_LEAD);
	memcpy(socket->tcp->stray + FB_TCP_LEAD, guess->at, here);
	parse(socket, socket->tcp->stray, FB_TCP_LEAD + here);
	return here == room;
}

/*
 * The usual case of a caller that waits: its message arrives and nothing else. Returns whether the
 * `got` bytes are this message; then they are in their place.
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

/* One call. Returns whether there may be more. */
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
	/* A caller that waits for one message reads one part of memory; a guess reads the next. */
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
