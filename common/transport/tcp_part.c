/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a message: how messages are spread over the sockets of a pair, whether the guessed
 * message came, when all its parts have arrived, and how long its memory belongs to the kernel; see
 * tcp.h. It is a separate file, because tests/mpi/mutant_tcp.c replaces it by faulty ones.
 */
#include <string.h>

#include "common/transport/tcp_part.h"

struct fb_tcp_spread fb_tcp_spread(const struct fb_tcp_link *link, uint16_t turn, size_t bytes)
{
	const struct fb_tcp *tcp = link->socket->tcp;
	int home = link->socket->index, width = tcp->width;
	size_t parts;

	if (width == 1 || bytes < tcp->settings.stripe)
		return (struct fb_tcp_spread){home, 1};
	parts = bytes / tcp->settings.stripe;
	if (parts > (size_t)width)
		parts = (size_t)width;
	return (struct fb_tcp_spread){(home + turn * (int)parts) % width, (int)parts};
}

size_t fb_tcp_part(size_t bytes, int i, int count, size_t *offset)
{
	enum { PAGE = 4096 };
	size_t share = bytes / (size_t)count;

	/* Whole pages, so that no two parts of a large message share one. */
	if (share >= PAGE)
		share -= share % PAGE;
	*offset = share * (size_t)i;
	return i + 1 < count ? share : bytes - *offset;
}

bool fb_tcp_expected(const struct fb_tcp_guess *guess, const char *lead)
{
	enum { FRAMES = FB_TCP_LEAD / sizeof(struct fb_tcp_frame) };
	const struct fb_tcp_link *link = guess->link;
	struct fb_tcp_frame frames[FRAMES];
	const struct fb_tcp_frame *last = &frames[FRAMES - 1];

	memcpy(frames, lead, sizeof(frames));
	for (const struct fb_tcp_frame *frame = frames; frame < last; frame++)
		if (frame->kind == FB_TCP_DATA)
			return false;
	return last->kind == FB_TCP_DATA && last->link == link->index &&
	       last->epoch == link->epoch && last->turn == link->turn &&
	       last->bytes == guess->bytes;
}

bool fb_tcp_part_done(struct fb_tcp_message *message)
{
	return --message->missing == 0;
}

void fb_tcp_pin(struct fb_tcp_piece *piece)
{
	piece->pins++;
}

bool fb_tcp_unpin(struct fb_tcp_piece *piece)
{
	return --piece->pins == 0;
}
