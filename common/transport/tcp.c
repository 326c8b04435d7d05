/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tcp transport: what it offers to all ranks together. How it works inside is in tcp.h.
 *
 * Sockets are made when the first link to a peer is, and kept until the end, because links come
 * and go with every case that is measured.
 */
#include "common/transport/tcp_join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.h"

static void tcp_close(struct fb_transport *transport)
{
	struct fb_tcp *tcp = (struct fb_tcp *)transport;

	for (uint32_t i = 0; i < tcp->nlinks; i++)
		if (tcp->links[i])
			fb_tcp_link_free(tcp, tcp->links[i]);
	for (int i = 0; tcp->sockets && i < transport->world->nranks * tcp->width; i++)
		if (tcp->sockets[i]) {
			close(tcp->sockets[i]->fd);
			free(tcp->sockets[i]->flights);
			free(tcp->sockets[i]);
		}
	if (tcp->epoll >= 0)
		close(tcp->epoll);
	for (int i = 0; i < tcp->nlisteners; i++)
		close(tcp->listeners[i]);
	free(tcp->links);
	free(tcp->work);
	free(tcp->sockets);
	free(tcp->identity);
	free(tcp->stray);
	free(tcp);
}

/* Allocates a rank's tables and fills in its identity. */
static int prepare(struct fb_tcp *tcp)
{
	const struct fb_group *world = tcp->transport.world;
	size_t nranks = (size_t)world->nranks;
	struct fb_tcp_identity *own;
	int err;

	tcp->identity = calloc(nranks, sizeof(*tcp->identity));
	tcp->sockets = calloc(nranks * (size_t)tcp->width, sizeof(struct fb_tcp_socket *));
	tcp->work = calloc(nranks * (size_t)tcp->width, sizeof(struct fb_tcp_socket *));
	tcp->stray = malloc(FB_TCP_LEAD + FB_TCP_GUESS);
	if (!tcp->identity || !tcp->sockets || !tcp->work || !tcp->stray)
		return fb_error(FB_ENOMEM, "tcp: out of memory for %zu ranks", nranks);
	own = &tcp->identity[world->rank];
	err = fb_tcp_identify(own, world->host, tcp->settings.interface);
	if (err)
		return err;
	if (strcmp(tcp->settings.interface, "auto") && strcmp(tcp->settings.interface, "lo") &&
	    !own->naddresses) {
		if (world->local_rank == 0)
			fb_error(FB_EINPUT, "option --tcp-interface: host %s has no address on %s",
				 world->host, tcp->settings.interface);
		return FB_EINPUT;
	}
	if (world->rank == 0 &&
	    getrandom(&tcp->key, sizeof(tcp->key), 0) != (ssize_t)sizeof(tcp->key))
		return fb_error(FB_ESYS, "tcp: no random number: %s", strerror(errno));
	return FB_OK;
}

static void tell_identities(struct fb_tcp *tcp)
{
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, tcp->identity,
		      (int)sizeof(*tcp->identity), MPI_BYTE, tcp->transport.world->comm);
}

int fb_tcp_open(struct fb_transport **transport, const struct fb_group *world,
		const struct fb_tcp_settings *settings)
{
	struct fb_tcp *tcp = calloc(1, sizeof(*tcp));
	int err = FB_ENOMEM;

	if (tcp) {
		tcp->transport.ops = &fb_transport_tcp;
		tcp->transport.world = world;
		tcp->settings = *settings;
		tcp->width = (int)settings->sockets;
		tcp->epoll = -1;
		tcp->few = FB_TCP_FEW;
		tcp->round = 1;
		tcp->timeout_ms = FB_TCP_TIMEOUT_MS;
		err = prepare(tcp);
	}
	err = fb_group_agree(world, err);
	if (!err && tcp) {
		/* Where a rank listens depends on its peers, so ports are exchanged later. */
		tell_identities(tcp);
		err = fb_group_agree(world, fb_tcp_listen(tcp));
	}
	if (err || !tcp) {
		if (tcp)
			tcp_close(&tcp->transport);
		return err;
	}
	tell_identities(tcp);
	MPI_Bcast(&tcp->key, 1, MPI_UINT64_T, 0, world->comm);
	*transport = &tcp->transport;
	return FB_OK;
}

static int tcp_open(struct fb_transport **transport, const struct fb_group *world)
{
	return fb_tcp_open(transport, world, &fb_tcp_defaults);
}

static bool tcp_speaks(const struct fb_transport *transport, const char *protocol)
{
	(void)transport;
	return !strcmp(protocol, "simple");
}

/* Creates the structures of the peer's sockets if there are none; they connect later. */
static int need_sockets(struct fb_tcp *tcp, int peer, struct fb_tcp_socket **added, int *nadded)
{
	for (int i = 0; i < tcp->width; i++) {
		struct fb_tcp_socket **place = &tcp->sockets[peer * tcp->width + i];

		if (*place && (*place)->broken)
			return fb_error(FB_EPEER,
					"tcp: the connection to rank %d on host %s is gone", peer,
					tcp->identity[peer].host);
		if (*place)
			continue;
		*place = calloc(1, sizeof(**place));
		if (!*place)
			return fb_error(FB_ENOMEM, "tcp: out of memory for a socket to rank %d",
					peer);
		(*place)->tcp = tcp;
		(*place)->fd = -1;
		(*place)->peer = peer;
		(*place)->index = i;
		tcp->nsockets++;
		added[(*nadded)++] = *place;
	}
	return FB_OK;
}

/* Closes sockets of a connect() that failed. No link uses them any more. */
static void drop_sockets(struct fb_tcp *tcp, struct fb_tcp_socket **sockets, int n)
{
	for (int i = 0; i < n; i++) {
		if (sockets[i]->fd >= 0)
			close(sockets[i]->fd); /* epoll forgets it by itself */
		tcp->sockets[sockets[i]->peer * tcp->width + sockets[i]->index] = NULL;
		tcp->nsockets--;
		free(sockets[i]->flights);
		free(sockets[i]);
	}
}

/* Connects the added sockets and makes them ready for use. */
static int bring_up(struct fb_tcp *tcp, struct fb_tcp_socket **added, int n)
{
	int err = fb_tcp_join(tcp, added, n);

	for (int i = 0; i < n && !err; i++)
		err = fb_tcp_configure(added[i]);
	return err ? err : fb_tcp_watch(tcp, added, n);
}

/* Collective: the rest of connect(), after all ranks have made their own ends. */
static int connect_links(struct fb_tcp *tcp, struct fb_tcp_link **links, int n,
			 struct fb_tcp_socket **added, int nadded)
{
	const struct fb_group *world = tcp->transport.world;
	int err = fb_group_agree(world, fb_tcp_link_match(tcp, links, n));

	return err ? err : fb_group_agree(world, bring_up(tcp, added, nadded));
}

static int tcp_connect(struct fb_transport *transport, const struct fb_link_request *requests,
		       int n, struct fb_port **ports)
{
	struct fb_tcp *tcp = (struct fb_tcp *)transport;
	struct fb_tcp_link **links = calloc((size_t)n + 1, sizeof(struct fb_tcp_link *));
	struct fb_tcp_socket **added = calloc((size_t)n * (size_t)tcp->width + 1,
					      sizeof(struct fb_tcp_socket *));
	int nlinks = 0, nadded = 0, err = FB_OK;

	tcp->epoch++;
	for (int i = 0; i < transport->world->nranks * tcp->width; i++)
		if (tcp->sockets[i])
			tcp->sockets[i]->flights_made = tcp->sockets[i]->flights_copied = 0;
	if (!links || !added)
		err = fb_error(FB_ENOMEM, "tcp: out of memory for %d links", n);
	for (; links && added && nlinks < n && !err; nlinks += !err) {
		err = need_sockets(tcp, requests[nlinks].peer, added, &nadded);
		if (!err)
			err = fb_tcp_link_new(tcp, &requests[nlinks], &links[nlinks]);
	}
	err = fb_group_agree(transport->world, err);
	if (links && added) {
		if (!err)
			err = connect_links(tcp, links, n, added, nadded);
		for (int i = 0; i < nlinks; i++) {
			if (err)
				fb_tcp_link_free(tcp, links[i]);
			else
				ports[i] = &links[i]->port;
		}
		if (err)
			drop_sockets(tcp, added, nadded);
	}
	free(added);
	free(links);
	return err;
}

bool fb_tcp_idle(const struct fb_transport *transport)
{
	const struct fb_tcp *tcp = (const struct fb_tcp *)transport;

	for (int i = 0; i < tcp->nwork; i++) {
		const struct fb_tcp_socket *s = tcp->work[i];

		if (s->sending.head || s->held || s->landed != s->flown)
			return false;
	}
	return true;
}

static void tcp_disconnect(struct fb_transport *transport, struct fb_port **ports, int n)
{
	struct fb_tcp *tcp = (struct fb_tcp *)transport;
	time_t end = time(NULL) + FB_TCP_TIMEOUT_MS / 1000;

	/* Only credits can be left, unless the caller gave up in the middle. */
	while (!fb_tcp_idle(transport) && !fb_tcp_progress(transport) && time(NULL) < end)
		;
	/* Waits for all ranks, as a peer that still uses its links must not lose this end. */
	fb_group_agree(transport->world, FB_OK);
	for (int i = 0; i < n; i++)
		fb_tcp_link_free(tcp, fb_tcp_link(ports[i]));
}

static void tcp_describe(const struct fb_transport *transport, int rank, char *text, size_t n)
{
	const struct fb_tcp *tcp = (const struct fb_tcp *)transport;
	const struct fb_tcp_socket *socket = tcp->sockets[rank * tcp->width];
	struct fb_tcp_candidate ways[FB_TCP_CANDIDATES];
	char address[FB_TCP_TEXT];

	if (rank == transport->world->rank) {
		snprintf(text, n, "%s", "");
	} else if (socket) {
		snprintf(text, n, "tcp %s %s", socket->interface, socket->address);
		fb_tcp_describe(socket, text, n);
	} else if (fb_tcp_candidates(&tcp->identity[transport->world->rank],
				     &tcp->identity[rank], ways) > 0) {
		fb_tcp_address_text(&ways[0].address, address);
		snprintf(text, n, "tcp %s %s", ways[0].address.interface, address);
	} else {
		snprintf(text, n, "tcp");
	}
}

const struct fb_transport_ops fb_transport_tcp = {
	.open = tcp_open,
	.close = tcp_close,
	.speaks = tcp_speaks,
	.connect = tcp_connect,
	.disconnect = tcp_disconnect,
	.progress = fb_tcp_progress,
	.describe = tcp_describe,
};
