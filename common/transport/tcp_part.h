/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a message: how messages are spread over the sockets of a pair, when all of a message
 * is there, and when its memory is free again (tcp_part.c, which tests replace by faulty ones).
 * Internal to the tcp transport.
 */
#ifndef FB_COMMON_TRANSPORT_TCP_PART_H
#define FB_COMMON_TRANSPORT_TCP_PART_H

#include "common/transport/tcp.h"

/* Which sockets carry a message: `count` of them from `first` on, and round. */
struct fb_tcp_spread {
	int first, count;
};

/* For the message `turn` of the link, of `bytes` bytes. The same at both ends. Pure. */
struct fb_tcp_spread fb_tcp_spread(const struct fb_tcp_link *link, uint16_t turn, size_t bytes);

/*
 * The same, without a call and a division if there is one socket only: they would add to the
 * latency that is measured.
 */
static inline struct fb_tcp_spread fb_tcp_spread_soon(const struct fb_tcp_link *link,
						      uint16_t turn, size_t bytes)
{
	return link->socket->tcp->width == 1 ? (struct fb_tcp_spread){0, 1}
					     : fb_tcp_spread(link, turn, bytes);
}

/* Part i of `count` of a message: its first byte and, returned, how many. Pure. */
size_t fb_tcp_part(size_t bytes, int i, int count, size_t *offset);

static inline size_t fb_tcp_part_soon(size_t bytes, int i, int count, size_t *offset)
{
	if (count > 1)
		return fb_tcp_part(bytes, i, count, offset);
	*offset = 0;
	return bytes;
}

/* One more part of the message has been sent, or is here. Returns whether it was the last. */
bool fb_tcp_part_done(struct fb_tcp_message *message);

/* What the receiver guesses to come next on a socket: the link's next message, a large one. */
struct fb_tcp_guess {
	struct fb_tcp_link *link;
	size_t bytes; /* of the payload */
	char *at;     /* the payload's place */
	char *lead;   /* the frames' place */
};

/* Whether the first FB_TCP_LEAD bytes that came are those of the guessed message. Pure. */
bool fb_tcp_expected(const struct fb_tcp_guess *guess, const char *lead);

/*
 * Counts the zero-copy sends that read the piece's memory: one more; and one less, which returns
 * whether it was the last one under way.
 */
void fb_tcp_pin(struct fb_tcp_piece *piece);
bool fb_tcp_unpin(struct fb_tcp_piece *piece);

#endif
