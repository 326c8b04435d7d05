/* SPDX-License-Identifier: BSD-3-Clause */
/* The listening socket of a rank, and the options of a connected one; see tcp.h. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/transport/tcp.h"

/* The kernel cuts it to net.core.somaxconn. All peers may connect at the same moment. */
enum { BACKLOG = 4096 };

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

static int listen_on(int family, uint32_t *port)
{
	static const struct fb_tcp_address any4 = {.family = AF_INET}, any6 = {.family = AF_INET6};
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), no = 0, saved;
	struct sockaddr_storage at;
	socklen_t n = fb_tcp_sockaddr(family == AF_INET ? &any4 : &any6, 0, &at);

	if (fd < 0)
		return -1;
	if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)))
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

int fb_tcp_listen(uint32_t *port, bool *ipv6)
{
	int fd = listen_on(AF_INET6, port);

	*ipv6 = fd >= 0;
	if (fd < 0) /* a kernel without IPv6 */
		fd = listen_on(AF_INET, port);
	if (fd < 0)
		return fb_error(FB_ESYS, "tcp: cannot listen: %s", strerror(errno));
	return fd;
}

int fb_tcp_configure(struct fb_tcp_socket *s)
{
	/* A host that vanished sends no end; the kernel notices after 10 + 3 * 5 seconds. */
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
	return FB_OK;
failed:
	return fb_error(FB_ESYS, "tcp: cannot set up the socket to rank %d on host %s: %s",
			s->peer, s->tcp->identity[s->peer].host, strerror(errno));
}
