/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes, matches and frees the ends of tcp links; see tcp.h. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/transport/tcp_zerocopy.h"

enum { NOT_MATCHED = UINT32_MAX, NO_LINK = UINT32_MAX };

/* Only this link's messages count: a caller that waits for another link progresses that one. */
static bool settled(const struct fb_port *port)
{
	return ((const struct fb_tcp_link *)port)->unsent == 0;
}

static const struct fb_port_ops port_ops = {
	.acquire = fb_tcp_acquire,
	.commit = fb_tcp_commit,
	.peek = fb_tcp_peek,
	.release = fb_tcp_release,
	.settled = settled,
};

/* The data that one end sends to the other about a link. No padding: sent as bytes. */
struct offer {
	uint32_t id, index;
	uint32_t sends, slots;
	uint64_t slot_bytes;
};

/* Finds a free place in tcp->links, which grows as needed. */
static int find_index(struct fb_tcp *tcp, uint32_t *index)
{
	uint32_t more = tcp->max_links ? tcp->max_links * 2 : 64;
	struct fb_tcp_link **links;

	for (uint32_t i = 0; i < tcp->nlinks; i++)
		if (!tcp->links[i]) {
			*index = i;
			return FB_OK;
		}
	if (tcp->nlinks == tcp->max_links) {
		links = realloc(tcp->links, more * sizeof(struct fb_tcp_link *));
		if (!links)
			return FB_ENOMEM;
		tcp->links = links;
		tcp->max_links = more;
	}
	*index = tcp->nlinks++;
	return FB_OK;
}

static size_t align_up(size_t bytes)
{
	return (bytes + FB_TCP_ALIGN - 1) / FB_TCP_ALIGN * FB_TCP_ALIGN;
}

/* Allocates the link's buffers and puts all into its list of unused ones. */
static int make_buffers(struct fb_tcp_link *link, int width)
{
	size_t body = link->posted ? 0 : link->slot_bytes, bytes = align_up(body), total;

	/* The structure, then frames in front of the payload. */
	link->head = align_up(sizeof(struct fb_tcp_message) +
			      (size_t)width * sizeof(struct fb_tcp_piece) +
			      FB_TCP_LEAD);
	if (bytes < body || link->slots > FB_TCP_MOST_SLOTS ||
	    __builtin_add_overflow(bytes, link->head, &bytes) ||
	    __builtin_mul_overflow(bytes, link->slots, &total))
		return FB_ENOMEM;
	link->memory = aligned_alloc(FB_TCP_ALIGN, total);
	link->ring = calloc(link->slots, sizeof(struct fb_tcp_message *));
	if (!link->memory || !link->ring)
		return FB_ENOMEM;
	for (uint32_t i = link->slots; i-- > 0;) {
		void *memory = link->memory + i * bytes;
		struct fb_tcp_message *message = memory;

		memset(message, 0, link->head);
		message->link = link;
		fb_tcp_recycle(message);
	}
	return FB_OK;
}

int fb_tcp_link_new(struct fb_tcp *tcp, const struct fb_link_request *request,
		    struct fb_tcp_link **link)
{
	size_t width = (size_t)tcp->width;
	struct fb_tcp_link *made = calloc(1, sizeof(*made));

	if (!made)
		goto out_of_memory;
	made->port.ops = &port_ops;
	made->port.peer = request->peer;
	made->sockets = tcp->sockets + (size_t)request->peer * width;
	made->socket = made->sockets[request->id % width];
	made->id = request->id;
	made->remote = NOT_MATCHED;
	made->successor = NO_LINK;
	made->epoch = tcp->epoch;
	made->sends = request->sends;
	made->slots = request->slots;
	made->slot_bytes = request->slot_bytes;
	made->posted = request->posted;
	made->headroom = request->posted && request->headroom;
	if (made->posted && made->sends)
		made->unreleased = made->slots; /* no place has been posted yet */
	if (make_buffers(made, tcp->width) || find_index(tcp, &made->index))
		goto free_link;
	tcp->links[made->index] = made;
	for (int i = 0; i < tcp->width; i++)
		made->sockets[i]->nlinks++;
	*link = made;
	return FB_OK;
free_link:
	free(made->ring);
	free(made->memory);
	free(made);
out_of_memory:
	return fb_error(FB_ENOMEM, "tcp: out of memory for %u slots of %zu bytes to rank %d",
			(unsigned)request->slots, request->slot_bytes, request->peer);
}

/* Removes the link from the socket. A message that is partly sent or received breaks the socket. */
static void forget(struct fb_tcp_socket *socket, const struct fb_tcp_link *link)
{
	if (socket->filling && socket->filling->link == link) {
		socket->filling = NULL;
		socket->broken = true;
	}
	for (struct fb_tcp_piece *p = socket->sending.head; p; p = p->next)
		if (p->message && p->message->link == link) {
			socket->sending.head = NULL;
			socket->broken = true;
			break;
		}
	if (socket->awaited == link)
		socket->awaited = NULL;
	if (socket->previous == link)
		socket->previous = NULL;
	fb_tcp_ground(socket, link);
	socket->nlinks--;
}

void fb_tcp_link_free(struct fb_tcp *tcp, struct fb_tcp_link *link)
{
	struct fb_tcp_socket *socket = link->socket;

	for (struct fb_tcp_link **at = &socket->owed; *at; at = &(*at)->next_owed)
		if (*at == link) {
			*at = link->next_owed;
			break;
		}
	if (!socket->owed)
		socket->due = false;
	for (int i = 0; i < tcp->width; i++)
		forget(link->sockets[i], link);
	tcp->links[link->index] = NULL;
	free(link->ring);
	free(link->memory);
	free(link);
}

/* Finds the local link whose other end is the peer's offer, and checks it. */
static int match_offer(struct fb_tcp_link **links, int n, int own, int peer,
		       const struct offer *offer)
{
	for (int i = 0; i < n; i++) {
		struct fb_tcp_link *link = links[i];

		if (link->port.peer != peer || link->id != offer->id ||
		    link->sends == (offer->sends != 0) || link->remote != NOT_MATCHED)
			continue;
		if (link->slots != offer->slots || link->slot_bytes != offer->slot_bytes)
			return fb_error(FB_EPLAN,
					"tcp: link %u: rank %d asks for %u slots of %zu bytes, "
					"rank %d for %u of %llu",
					(unsigned)link->id, own, (unsigned)link->slots,
					link->slot_bytes, peer, (unsigned)offer->slots,
					(unsigned long long)offer->slot_bytes);
		link->remote = offer->index;
		return FB_OK;
	}
	return fb_error(FB_EPLAN, "tcp: link %u: rank %d asks rank %d for it, but not the reverse",
			(unsigned)offer->id, peer, own);
}

/* Turns counts into displacements and the sum. */
static int displace(const int *counts, int *at, int n)
{
	int sum = 0;

	for (int r = 0; r < n; r++) {
		at[r] = sum;
		sum += counts[r];
	}
	return sum;
}

/* tables[5][nranks]: counts and displacements to send, the same to receive, and fill positions. */
static int exchange(struct fb_tcp *tcp, struct fb_tcp_link **links, int n, int *tables)
{
	const struct fb_group *world = tcp->transport.world;
	int nranks = world->nranks, err, total;
	int *send_n = tables, *send_at = send_n + nranks, *fill = send_at + nranks;
	int *receive_n = fill + nranks, *receive_at = receive_n + nranks;
	struct offer *sent, *received = NULL;
	MPI_Datatype type;

	for (int i = 0; i < n; i++)
		send_n[links[i]->port.peer]++;
	displace(send_n, send_at, nranks);
	memcpy(fill, send_at, (size_t)nranks * sizeof(*fill));
	MPI_Alltoall(send_n, 1, MPI_INT, receive_n, 1, MPI_INT, world->comm);
	total = displace(receive_n, receive_at, nranks);
	sent = calloc((size_t)n + 1, sizeof(*sent));
	received = calloc((size_t)total + 1, sizeof(*received));
	err = fb_group_agree(world, sent && received ? FB_OK : FB_ENOMEM);
	if (err || !sent || !received)
		goto free_offers;
	for (int i = 0; i < n; i++)
		sent[fill[links[i]->port.peer]++] = (struct offer){
			.id = links[i]->id,
			.index = links[i]->index,
			.sends = links[i]->sends,
			.slots = links[i]->slots,
			.slot_bytes = links[i]->slot_bytes,
		};
	MPI_Type_contiguous((int)sizeof(*sent), MPI_BYTE, &type);
	MPI_Type_commit(&type);
	MPI_Alltoallv(sent, send_n, send_at, type, received, receive_n, receive_at, type,
		      world->comm);
	MPI_Type_free(&type);
	for (int r = 0; r < nranks; r++)
		for (int i = 0; i < receive_n[r] && !err; i++)
			err = match_offer(links, n, world->rank, r, &received[receive_at[r] + i]);
	for (int i = 0; i < n && !err; i++)
		if (links[i]->remote == NOT_MATCHED)
			err = fb_error(FB_EPLAN,
				       "tcp: link %u: rank %d asks rank %d for it, but not the "
				       "reverse",
				       (unsigned)links[i]->id, world->rank, links[i]->port.peer);
free_offers:
	free(received);
	free(sent);
	return err;
}

int fb_tcp_link_match(struct fb_tcp *tcp, struct fb_tcp_link **links, int n)
{
	size_t nranks = (size_t)tcp->transport.world->nranks;
	int *tables = calloc(5 * nranks, sizeof(*tables));
	int err = tables ? FB_OK : fb_error(FB_ENOMEM, "tcp: out of memory for %zu ranks", nranks);

	err = fb_group_agree(tcp->transport.world, err);
	if (!err && tables)
		err = exchange(tcp, links, n, tables);
	free(tables);
	return err;
}
