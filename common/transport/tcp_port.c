/* SPDX-License-Identifier: BSD-3-Clause */
/* The receiver's end of a tcp link: peek(), release() and posted buffers; see tcp.h. */
#include <stdio.h>

#include "common/base/error.h"
#include "common/transport/tcp_part.h"

/* Notes that the caller waits for a message of the link, so that fb_tcp_receive() can guess it. */
static void await(struct fb_tcp_link *link, struct fb_tcp_socket *socket, size_t bytes)
{
	socket->crowded |= socket->awaited && socket->awaited != link;
	socket->awaited = link;
	link->awaited.on = socket;
	link->awaited.look = socket->look;
	link->awaited.bytes = bytes;
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
	spread = fb_tcp_spread_soon(link, link->turn, bytes);
	if (spread.count == 1) {
		await(link, link->sockets[spread.first], bytes);
		fb_tcp_ask(link->sockets[spread.first]);
		return NULL;
	}
	for (int i = 0; i < spread.count; i++)
		fb_tcp_ask(link->sockets[(spread.first + i) % link->socket->tcp->width]);
	return NULL;
}

/* The link's credits will go with the next message on its home socket, or alone if they are due. */
static void enlist(struct fb_tcp_link *link)
{
	if (link->listed)
		return;
	link->listed = true;
	link->next_owed = link->socket->owed;
	link->socket->owed = link;
}

/*
 * The sender may send one more message on the link. It gets several credits in one frame, because
 * each frame costs time at both ends, which adds to the latency of a ping-pong.
 */
static void owe(struct fb_tcp_link *link)
{
	if (++link->owed + 1 >= link->slots - link->slots / 2)
		enlist(link);
}

/*
 * Posted links: while the sender has credits for half of the slots it does not have to wait, and
 * further credits can travel with data; with fewer they are sent alone. Called whenever the number
 * of places or of credits changes.
 */
static void tell_places(struct fb_tcp_link *link)
{
	if (!link->owed || link->placed - link->owed >= link->slots - link->slots / 2)
		return;
	enlist(link);
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
	*fb_tcp_place(link, link->placed++) = message;
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
	if (++link->first == link->slots)
		link->first = 0;
	link->turn++;
	if (link->posted) {
		link->placed--;
		tell_places(link);
		return;
	}
	owe(link);
	/*
	 * While half of the slots are free, the sender does not wait for credits, so they can
	 * travel with data. Even after that they leave with the next progress() and not at once,
	 * because the caller often sends data next.
	 */
	if (link->owed >= link->slots - link->slots / 2) {
		socket->due = true;
		fb_tcp_wake(socket);
	}
}
