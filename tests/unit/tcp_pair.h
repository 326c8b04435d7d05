/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tcp transport with one socket, to whose other end a test writes, and from which it reads, what
 * a peer would. To be included once in a test.
 */
#ifndef FB_TESTS_UNIT_TCP_PAIR_H
#define FB_TESTS_UNIT_TCP_PAIR_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/transport/tcp.h"
#include "tests/unit/tcp_calls.h"

struct tcp_pair {
	struct fb_group world; /* of one rank */
	struct fb_tcp tcp;
	struct fb_tcp_socket socket, *sockets[1], *work[1];
	int wire; /* the peer's end */
};

/* Links of `epoch` can be made then. Returns whether there was memory and a pair of sockets. */
static bool tcp_pair_open(struct tcp_pair *pair, uint16_t epoch)
{
	struct fb_tcp *tcp = &pair->tcp;
	int fds[2];

	memset(pair, 0, sizeof(*pair));
	tcp->stray = malloc(FB_TCP_LEAD + FB_TCP_GUESS);
	tcp->identity = calloc(1, sizeof(*tcp->identity));
	if (!tcp->stray || !tcp->identity ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds)) {
		free(tcp->stray);
		free(tcp->identity);
		return false;
	}
	pair->world.nranks = 1;
	tcp->transport.world = &pair->world;
	tcp->settings = fb_tcp_defaults;
	tcp->width = 1;
	tcp->round = 1;
	tcp->epoll = -1;
	tcp->few = FB_TCP_FEW;
	tcp->epoch = epoch;
	tcp->sockets = pair->sockets;
	tcp->nsockets = 1;
	tcp->work = pair->work;
	pair->sockets[0] = &pair->socket;
	pair->socket.tcp = tcp;
	pair->socket.fd = fds[0];
	pair->wire = fds[1];
	return true;
}

/* As if there were too many sockets to try each: they are watched by epoll. Whether they are. */
static inline bool tcp_pair_watch(struct tcp_pair *pair)
{
	pair->tcp.few = 0;
	return !fb_tcp_watch(&pair->tcp, pair->sockets, 1);
}

/* After its links have been freed. */
static void tcp_pair_close(struct tcp_pair *pair)
{
	close(pair->socket.fd);
	close(pair->wire);
	if (pair->tcp.epoll >= 0)
		close(pair->tcp.epoll);
	free(pair->tcp.links);
	free(pair->tcp.identity);
	free(pair->tcp.stray);
}

#endif
