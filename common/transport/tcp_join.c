/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connects this rank to many peers at once, with a bound on the time.
 *
 * One loop over poll() makes all connections: if a rank waited for one peer at a time, while others
 * wait for it, the whole time would have no bound. The lower rank of each pair tries the addresses
 * of the higher one in order. Each gets its share of the time, since packets to a wrong address
 * often just vanish. Both ends prove their job and rank by a greeting, because another program or
 * another host may listen at that address and port.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/transport/tcp_join.h"

enum {
	STRANGERS = 16,   /* room for accepted connections of other programs */
	STRANGER_MS = 3000, /* an accepted connection has to send its greeting in this time */
	POLL_MS = 20,     /* deadlines are checked so often */
	LINGER_MS = 1000, /* the accepting end waits longer, as the other end knows the reason */
};

#define MAGIC UINT64_C(0x66622d7463703032) /* also tells the byte order */

/*
 * Sent by both ends; no padding. It is as long as a cache line, because the next message follows
 * it in the kernel's buffers, and copies from unaligned lines are slower.
 */
struct greeting {
	uint64_t magic, key;
	uint32_t from, to;
	uint32_t index, width; /* which socket of how many */
	uint64_t rest[4];
};

_Static_assert(sizeof(struct greeting) == FB_TCP_ALIGN, "what follows would not be aligned");

enum state { DONE, CONNECTING, GREETING };

/* One connection that is being made. */
struct attempt {
	enum state state;
	int fd;
	struct fb_tcp_socket *socket; /* NULL: accepted from a peer that is not known yet */
	int64_t deadline_ms;
	size_t have; /* bytes of the greeting */
	struct greeting greeting;
	int way, nways; /* of the connecting end */
	int reason;     /* errno of the way that failed last */
	struct fb_tcp_candidate ways[FB_TCP_CANDIDATES];
};

struct join {
	struct fb_tcp *tcp;
	struct fb_tcp_socket **sockets;
	int n;
	struct attempt *attempts;
	struct pollfd *polls; /* [max_attempts + nlisteners]: listening sockets come last */
	int nattempts, max_attempts;
	int missing; /* connections that may still come */
	int err;
	int64_t deadline_ms;
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct greeting greeting_to(const struct join *join, const struct fb_tcp_socket *socket)
{
	return (struct greeting){
		.magic = MAGIC,
		.key = join->tcp->key,
		.from = (uint32_t)join->tcp->transport.world->rank,
		.to = (uint32_t)socket->peer,
		.index = (uint32_t)socket->index,
		.width = (uint32_t)join->tcp->width,
	};
}

/* A greeting fits into the empty buffer of a new socket, so it goes whole or not at all. */
static bool greet(const struct join *join, int fd, const struct fb_tcp_socket *socket)
{
	struct greeting own = greeting_to(join, socket);

	return send(fd, &own, sizeof(own), MSG_NOSIGNAL) == (ssize_t)sizeof(own);
}

/* 1: the greeting is complete; 0: not yet; -1: the connection failed (errno). */
static int read_greeting(struct attempt *a)
{
	ssize_t got = read(a->fd, (char *)&a->greeting + a->have, sizeof(a->greeting) - a->have);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (got == 0) {
		errno = ECONNRESET;
		return -1;
	}
	a->have += (size_t)got;
	return a->have == sizeof(a->greeting);
}

static void give_up(struct join *join, struct attempt *a)
{
	const struct fb_group *world = join->tcp->transport.world;
	const struct fb_tcp_identity *peer = &join->tcp->identity[a->socket->peer];
	char text[FB_TCP_TEXT] = "none";

	if (a->nways > 0)
		fb_tcp_address_text(&a->ways[a->nways - 1].address, text);
	join->err = fb_error(FB_EPEER,
			     "tcp: rank %d on host %s cannot connect to rank %d on host %s: "
			     "address %s, the last of %d, port %u: %s",
			     world->rank, world->host, a->socket->peer, peer->host, text,
			     a->nways, (unsigned)peer->port, strerror(a->reason));
	a->state = DONE;
	join->missing--;
}

/* Starts the next way to the peer, because the one before failed with a->reason. */
static void try_next(struct join *join, struct attempt *a)
{
	const struct fb_tcp_identity *peer = &join->tcp->identity[a->socket->peer];

	for (; a->way < a->nways; a->way++) {
		const struct fb_tcp_address *address = &a->ways[a->way].address;
		int64_t now = now_ms();
		struct sockaddr_storage to;
		socklen_t bytes = fb_tcp_sockaddr(address, peer->port, &to);

		a->fd = socket(address->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		/* Options that the kernel refuses were refused for the listening socket before. */
		if (a->fd >= 0 && !fb_tcp_prepare(&join->tcp->settings, a->fd) &&
		    (connect(a->fd, (struct sockaddr *)&to, bytes) == 0 ||
		     errno == EINPROGRESS)) {
			a->state = CONNECTING;
			a->have = 0;
			a->deadline_ms = now + (join->deadline_ms - now) / (a->nways - a->way);
			a->way++;
			return;
		}
		a->reason = errno;
		if (a->fd >= 0)
			close(a->fd);
	}
	give_up(join, a);
}

static void way_failed(struct join *join, struct attempt *a, int reason)
{
	close(a->fd);
	a->reason = reason;
	try_next(join, a);
}

/* The connecting end: TCP has connected or failed, or bytes of the peer's greeting have come. */
static void advance_outgoing(struct join *join, struct attempt *a)
{
	int reason = 0, whole;
	socklen_t bytes = sizeof(reason);

	if (a->state == CONNECTING) {
		if (getsockopt(a->fd, SOL_SOCKET, SO_ERROR, &reason, &bytes))
			reason = errno;
		if (!reason && !greet(join, a->fd, a->socket))
			reason = errno;
		if (reason)
			way_failed(join, a, reason);
		else
			a->state = GREETING;
		return;
	}
	whole = read_greeting(a);
	if (whole < 0) {
		way_failed(join, a, errno);
	} else if (whole) {
		struct greeting want = greeting_to(join, a->socket);

		want.from = want.to;
		want.to = (uint32_t)join->tcp->transport.world->rank;
		if (memcmp(&want, &a->greeting, sizeof(want)) != 0) {
			way_failed(join, a, EPROTO);
			return;
		}
		a->socket->fd = a->fd;
		a->state = DONE;
		join->missing--;
	}
}

/* The socket that waits for the peer who sent the greeting, or NULL. */
static struct fb_tcp_socket *expected(const struct join *join, const struct greeting *greeting)
{
	int own = join->tcp->transport.world->rank;

	if (greeting->magic != MAGIC || greeting->key != join->tcp->key ||
	    greeting->to != (uint32_t)own || greeting->from >= (uint32_t)own ||
	    greeting->width != (uint32_t)join->tcp->width)
		return NULL;
	for (int i = 0; i < join->n; i++)
		if ((uint32_t)join->sockets[i]->peer == greeting->from &&
		    (uint32_t)join->sockets[i]->index == greeting->index)
			return join->sockets[i];
	return NULL;
}

/* The accepting end: bytes of a greeting have come. */
static void advance_incoming(struct join *join, struct attempt *a)
{
	int whole = read_greeting(a);
	struct fb_tcp_socket *socket;

	if (whole == 0)
		return;
	a->state = DONE;
	socket = whole > 0 ? expected(join, &a->greeting) : NULL;
	if (!socket || !greet(join, a->fd, socket)) {
		close(a->fd);
		return;
	}
	/* A second connection of the same peer, which has given up the first one. */
	if (socket->fd >= 0)
		close(socket->fd);
	else
		join->missing--;
	socket->fd = a->fd;
}

static void accept_all(struct join *join, int listener)
{
	while (join->nattempts < join->max_attempts) {
		struct attempt *a = &join->attempts[join->nattempts];
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		*a = (struct attempt){
			.state = GREETING, .fd = fd, .deadline_ms = now_ms() + STRANGER_MS};
		join->nattempts++;
	}
}

/* Ends attempts that took too long, and removes those that are done. */
static void tidy(struct join *join)
{
	int64_t now = now_ms();
	int kept = 0;

	for (int i = 0; i < join->nattempts; i++) {
		struct attempt *a = &join->attempts[i];

		if (a->state != DONE && now >= a->deadline_ms) {
			if (a->socket) {
				way_failed(join, a, ETIMEDOUT);
			} else {
				close(a->fd);
				a->state = DONE;
			}
		}
		if (a->state == DONE)
			continue;
		if (kept != i)
			join->attempts[kept] = *a;
		kept++;
	}
	join->nattempts = kept;
}

/* One round: waits up to POLL_MS for events and handles them. */
static int advance(struct join *join)
{
	int n = join->nattempts, listeners = n < join->max_attempts ? join->tcp->nlisteners : 0;
	const struct pollfd *listener = &join->polls[n];

	for (int i = 0; i < n; i++)
		join->polls[i] = (struct pollfd){
			.fd = join->attempts[i].fd,
			.events = join->attempts[i].state == CONNECTING ? POLLOUT : POLLIN,
		};
	for (int i = 0; i < listeners; i++)
		join->polls[n + i] = (struct pollfd){
			.fd = join->tcp->listeners[i], .events = POLLIN};
	if (poll(join->polls, (nfds_t)n + (nfds_t)listeners, POLL_MS) < 0 && errno != EINTR)
		return fb_error(FB_ESYS, "tcp: poll: %s", strerror(errno));
	for (int i = 0; i < n; i++) {
		if (!join->polls[i].revents)
			continue;
		if (join->attempts[i].socket)
			advance_outgoing(join, &join->attempts[i]);
		else
			advance_incoming(join, &join->attempts[i]);
	}
	for (int i = 0; i < listeners; i++)
		if (listener[i].revents)
			accept_all(join, listener[i].fd);
	tidy(join);
	return FB_OK;
}

/* Starts the connections that this end makes. */
static void start(struct join *join)
{
	const struct fb_tcp_identity *identity = join->tcp->identity;
	int own = join->tcp->transport.world->rank;

	for (int i = 0; i < join->n; i++) {
		struct fb_tcp_socket *socket = join->sockets[i];
		struct attempt *a = &join->attempts[join->nattempts];

		if (socket->peer < own)
			continue;
		*a = (struct attempt){.fd = -1, .socket = socket, .reason = ENETUNREACH};
		a->nways = fb_tcp_candidates(&identity[own], &identity[socket->peer], a->ways);
		join->nattempts++;
		try_next(join, a);
	}
	tidy(join);
}

int fb_tcp_join(struct fb_tcp *tcp, struct fb_tcp_socket **sockets, int n)
{
	struct join join = {
		.tcp = tcp,
		.sockets = sockets,
		.n = n,
		.max_attempts = n + STRANGERS,
		.missing = n,
		.deadline_ms = now_ms() + tcp->timeout_ms,
	};

	if (n == 0)
		return FB_OK;
	join.attempts = calloc((size_t)join.max_attempts, sizeof(*join.attempts));
	join.polls = calloc((size_t)join.max_attempts + (size_t)tcp->nlisteners,
			    sizeof(*join.polls));
	if (!join.attempts || !join.polls) {
		join.err = fb_error(FB_ENOMEM, "tcp: out of memory for %d connections", n);
		goto free_join;
	}
	start(&join);
	while (join.missing > 0 && !join.err && now_ms() < join.deadline_ms + LINGER_MS)
		join.err = advance(&join);
	for (int i = 0; i < n && !join.err; i++)
		if (sockets[i]->fd < 0)
			join.err = fb_error(FB_EPEER,
					    "tcp: rank %d on host %s: no connection with rank %d "
					    "on host %s within %d ms (port %u)",
					    tcp->transport.world->rank, tcp->transport.world->host,
					    sockets[i]->peer,
					    tcp->identity[sockets[i]->peer].host,
					    tcp->timeout_ms,
					    (unsigned)tcp->identity[sockets[i]->peer].port);
	for (int i = 0; i < join.nattempts; i++)
		close(join.attempts[i].fd);
free_join:
	free(join.polls);
	free(join.attempts);
	return join.err;
}
