/* SPDX-License-Identifier: BSD-3-Clause */
/* The listening sockets of a rank, and the options of a connected one; see tcp.h. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/transport/tcp_join.h"

/* The kernel cuts it to net.core.somaxconn. All peers may connect at the same moment. */
enum { BACKLOG = 4096, TRIES = 16 };

/* The socket's own port, host order, or 0. */
static uint32_t port_of(int fd)
{
	struct sockaddr_storage at = {.ss_family = AF_INET};
	socklen_t n = sizeof(at);
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (getsockname(fd, (struct sockaddr *)&at, &n))
		return 0;
	if (at.ss_family == AF_INET) {
		memcpy(&v4, &at, sizeof(v4));
		return ntohs(v4.sin_port);
	}
	memcpy(&v6, &at, sizeof(v6));
	return ntohs(v6.sin6_port);
}

/* Sets an option of SOL_SOCKET, unless its value is 0. Returns false if the kernel refuses it. */
static bool set_number(int fd, int name, uint64_t value)
{
	int number = (int)value;

	return !value || !setsockopt(fd, SOL_SOCKET, name, &number, sizeof(number));
}

const char *fb_tcp_prepare(const struct fb_tcp_settings *s, int fd)
{
	if (!set_number(fd, SO_SNDBUF, s->send_buffer))
		return "tcp-send-buffer";
	if (!set_number(fd, SO_RCVBUF, s->receive_buffer))
		return "tcp-receive-buffer";
	if (!set_number(fd, SO_BUSY_POLL, s->busy_poll_us))
		return "tcp-busy-poll";
	if (!set_number(fd, SO_ZEROCOPY, s->zerocopy))
		return "tcp-zerocopy";
	if (strcmp(s->congestion, "auto") &&
	    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, s->congestion,
		       (socklen_t)strlen(s->congestion)))
		return "tcp-congestion";
	return NULL;
}

/*
 * Listens at the address on *port, or on a free one if it is 0, which *port then is. Returns the
 * descriptor; or -1 (errno), with *refused the name of an option that the kernel refused, or NULL.
 */
static int listen_at(const struct fb_tcp_address *address, const struct fb_tcp_settings *settings,
		     uint32_t *port, const char **refused)
{
	int fd = socket(address->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), saved;
	struct sockaddr_storage at;
	socklen_t n = fb_tcp_sockaddr(address, *port, &at);

	*refused = NULL;
	if (fd < 0)
		return -1;
	*refused = fb_tcp_prepare(settings, fd);
	if (*refused)
		goto close_socket;
	if (bind(fd, (struct sockaddr *)&at, n) || listen(fd, BACKLOG))
		goto close_socket;
	*port = port_of(fd);
	if (*port)
		return fd;
close_socket:
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/* Whether nobody can listen at the address now, as at an IPv6 address that is not confirmed yet. */
static bool is_gone(int error)
{
	return error == EADDRNOTAVAIL || error == EAFNOSUPPORT;
}

/*
 * Returns 0, or errno: EADDRINUSE where another process has the port at one of the addresses. At
 * the `last` try such an address is dropped instead, as two interfaces may have the same address.
 */
static int listen_at_all(struct fb_tcp *tcp, bool loopback, bool others, bool last,
			 const char **refused)
{
	static const struct fb_tcp_address local = {.family = AF_INET, .bytes = {127, 0, 0, 1}};
	struct fb_tcp_identity *identity = &tcp->identity[tcp->transport.world->rank];
	struct fb_tcp_identity heard = *identity, *own = &heard;
	uint32_t kept = 0;

	own->port = 0;
	if (loopback) {
		tcp->listeners[0] = listen_at(&local, &tcp->settings, &own->port, refused);
		if (tcp->listeners[0] < 0)
			return errno;
		tcp->nlisteners = 1;
	}
	for (uint32_t i = 0; others && i < own->naddresses; i++) {
		int fd = listen_at(&own->addresses[i], &tcp->settings, &own->port, refused);

		if (fd < 0 && (*refused || (!is_gone(errno) && !(last && errno == EADDRINUSE))))
			return errno;
		if (fd < 0)
			continue;
		tcp->listeners[tcp->nlisteners++] = fd;
		own->addresses[kept++] = own->addresses[i];
	}
	if (others)
		own->naddresses = kept;
	*identity = heard;
	return 0;
}

int fb_tcp_listen(struct fb_tcp *tcp)
{
	const struct fb_group *world = tcp->transport.world;
	const struct fb_tcp_identity *own = &tcp->identity[world->rank];
	bool loopback = false, others = false;
	const char *refused = NULL;
	int error = EADDRINUSE;

	for (int i = 0; i < world->nranks; i++) {
		bool same = fb_tcp_same_stack(own, &tcp->identity[i]);

		loopback = loopback || (same && i != world->rank);
		others = others || (!same && i != world->rank);
	}
	/* The first address gets any free port, which another process may have at the next one. */
	for (int i = 0; i < TRIES && error == EADDRINUSE; i++) {
		while (tcp->nlisteners > 0)
			close(tcp->listeners[--tcp->nlisteners]);
		error = listen_at_all(tcp, loopback, others, i == TRIES - 1, &refused);
	}
	if (!error)
		return FB_OK;
	if (!refused)
		return fb_error(FB_ESYS, "tcp: cannot listen: %s", strerror(error));
	/* Said once for each host. */
	if (world->local_rank == 0)
		fb_error(FB_EINPUT, "option --%s: host %s refuses it: %s%s", refused, world->host,
			 strerror(error), error == EPERM ? " (it takes CAP_NET_ADMIN)" : "");
	return FB_EINPUT;
}

int fb_tcp_configure(struct fb_tcp_socket *s)
{
	/* A host that crashed closes no connection; the kernel notices after 10 + 3 * 5 seconds. */
	static const struct {
		int level, name, value;
	} options[] = {
		{IPPROTO_TCP, TCP_NODELAY, 1},
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, 10},
		{IPPROTO_TCP, TCP_KEEPINTVL, 5},
		{IPPROTO_TCP, TCP_KEEPCNT, 3},
	};
	const struct fb_tcp_identity *own = &s->tcp->identity[s->tcp->transport.world->rank];
	struct sockaddr_storage near, far;
	socklen_t near_bytes = sizeof(near), far_bytes = sizeof(far);
	struct fb_tcp_address address;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (setsockopt(s->fd, options[i].level, options[i].name, &options[i].value,
			       sizeof(options[i].value)))
			goto failed;
	if (getsockname(s->fd, (struct sockaddr *)&near, &near_bytes) ||
	    getpeername(s->fd, (struct sockaddr *)&far, &far_bytes))
		goto failed;
	fb_tcp_from_sockaddr(&near, &address);
	snprintf(s->interface, sizeof(s->interface), "%s", fb_tcp_interface_of(own, &address));
	fb_tcp_from_sockaddr(&far, &address);
	fb_tcp_address_text(&address, s->address);
	if (!s->tcp->settings.zerocopy)
		return FB_OK;
	s->flights = calloc(FB_TCP_FLIGHTS, sizeof(struct fb_tcp_piece *));
	return s->flights ? FB_OK : fb_error(FB_ENOMEM, "tcp: out of memory for a socket");
failed:
	return fb_error(FB_ESYS, "tcp: cannot set up the socket to rank %d on host %s: %s",
			s->peer, s->tcp->identity[s->peer].host, strerror(errno));
}

/* Appends the option's name and the kernel's value of it, if the user has set the option. */
static void add_number(const struct fb_tcp_socket *s, int name, const char *what, uint64_t asked,
		       char *text, size_t n)
{
	size_t used = strlen(text);
	int value;
	socklen_t bytes = sizeof(value);

	if (asked && !getsockopt(s->fd, SOL_SOCKET, name, &value, &bytes))
		snprintf(text + used, n - used, " %s %d", what, value);
}

/* The kernel doubles the sizes of buffers for its own needs, and cuts them to its limits. */
void fb_tcp_describe(const struct fb_tcp_socket *s, char *text, size_t n)
{
	const struct fb_tcp_settings *settings = &s->tcp->settings;
	char name[32] = "";
	socklen_t bytes = sizeof(name) - 1;
	uint64_t flown = 0, copied = 0;

	if (s->tcp->width > 1)
		snprintf(text + strlen(text), n - strlen(text), " x%d", s->tcp->width);
	if (strcmp(settings->congestion, "auto") &&
	    !getsockopt(s->fd, IPPROTO_TCP, TCP_CONGESTION, name, &bytes))
		snprintf(text + strlen(text), n - strlen(text), " %s", name);
	add_number(s, SO_SNDBUF, "sndbuf", settings->send_buffer, text, n);
	add_number(s, SO_RCVBUF, "rcvbuf", settings->receive_buffer, text, n);
	add_number(s, SO_BUSY_POLL, "busy-poll", settings->busy_poll_us, text, n);
	for (int i = 0; i < s->tcp->width; i++) {
		const struct fb_tcp_socket *each = s->tcp->sockets[s->peer * s->tcp->width + i];

		flown += each->flights_made;
		copied += each->flights_copied;
	}
	if (flown)
		snprintf(text + strlen(text), n - strlen(text), " zerocopy%s",
			 copied ? " copied" : "");
}
