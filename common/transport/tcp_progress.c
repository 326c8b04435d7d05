/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends and receives on the tcp sockets that have something to do; see tcp.h.
 *
 * A few sockets are simply tried, because a recv() that finds nothing costs less than epoll_wait().
 * Of many sockets most have nothing, and epoll_wait() returns those that have. epoll is used
 * level-triggered, so nothing is lost by mixing both ways from call to call.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/transport/tcp_zerocopy.h"

enum { EVENTS = 64 };

void fb_tcp_wake(struct fb_tcp_socket *socket)
{
	if (socket->working)
		return;
	socket->working = true;
	socket->tcp->work[socket->tcp->nwork++] = socket;
}

void fb_tcp_ask(struct fb_tcp_socket *socket)
{
	socket->asked = true;
	fb_tcp_wake(socket);
}

static int control(struct fb_tcp_socket *socket, int operation)
{
	struct epoll_event event = {
		.events = socket->armed ? EPOLLIN | EPOLLOUT : EPOLLIN,
		.data.ptr = socket,
	};

	if (epoll_ctl(socket->tcp->epoll, operation, socket->fd, &event))
		return fb_error(FB_ESYS, "tcp: epoll_ctl: %s", strerror(errno));
	return FB_OK;
}

int fb_tcp_watch(struct fb_tcp *tcp, struct fb_tcp_socket **added, int n)
{
	int err = FB_OK;

	if (tcp->epoll < 0 && tcp->nsockets <= tcp->few)
		return FB_OK;
	if (tcp->epoll >= 0) {
		for (int i = 0; i < n && !err; i++)
			err = control(added[i], EPOLL_CTL_ADD);
		return err;
	}
	tcp->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (tcp->epoll < 0)
		return fb_error(FB_ESYS, "tcp: epoll_create1: %s", strerror(errno));
	/* From now on there are many sockets, so that the earlier ones are watched as well. */
	for (int r = 0; r < tcp->transport.world->nranks * tcp->width && !err; r++) {
		struct fb_tcp_socket *socket = tcp->sockets[r];

		if (!socket || socket->broken)
			continue;
		socket->armed = socket->sending.head != NULL;
		err = control(socket, EPOLL_CTL_ADD);
	}
	return err;
}

void fb_tcp_arm(struct fb_tcp_socket *socket, bool armed)
{
	if (socket->tcp->epoll < 0 || socket->armed == armed || socket->broken)
		return;
	socket->armed = armed;
	if (control(socket, EPOLL_CTL_MOD))
		fb_tcp_fail(socket, FB_ESYS, "cannot be watched");
}

/* Whether the kernel may still read memory of a zero-copy send. */
static bool is_flying(const struct fb_tcp_socket *socket)
{
	return socket->landed != socket->flown;
}

void fb_tcp_fail(struct fb_tcp_socket *socket, int err, const char *what)
{
	struct fb_tcp *tcp = socket->tcp;

	if (socket->broken)
		return;
	socket->broken = true;
	/* epoll would report the end again and again. */
	if (tcp->epoll >= 0)
		(void)epoll_ctl(tcp->epoll, EPOLL_CTL_DEL, socket->fd, NULL);
	if (socket->nlinks == 0)
		return;
	fb_error(err, "tcp: rank %d on host %s (%s): %s", socket->peer,
		 tcp->identity[socket->peer].host, socket->address, what);
	if (!tcp->err)
		tcp->err = err;
}

size_t fb_tcp_nothing(struct fb_tcp_socket *socket, ssize_t moved)
{
	if (moved == 0)
		fb_tcp_fail(socket, FB_EPEER, "closed its connection");
	else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
		fb_tcp_fail(socket, FB_EPEER, strerror(errno));
	return 0;
}

/*
 * Tries the socket. While the queue cannot be sent, the rank also receives: if both ends only
 * sent, both would wait for ever. It receives on all sockets of the pair, because the peer may be
 * stuck on another one.
 */
static void attend(struct fb_tcp_socket *socket)
{
	struct fb_tcp *tcp = socket->tcp;
	bool asked = socket->asked;

	socket->asked = false;
	if (is_flying(socket))
		fb_tcp_reap(socket);
	if (socket->due || socket->held || socket->sending.head)
		fb_tcp_flush(socket);
	for (int i = 0; i < tcp->width && tcp->width > 1 && socket->sending.head; i++)
		fb_tcp_ask(tcp->sockets[socket->peer * tcp->width + i]);
	if (!socket->broken && (asked || socket->sending.head))
		fb_tcp_receive(socket);
}

static void attend_ready(struct fb_tcp *tcp)
{
	struct epoll_event events[EVENTS];
	int n;

	for (int i = 0; i < tcp->nwork; i++) {
		tcp->work[i]->asked = false;
		if ((tcp->work[i]->due || tcp->work[i]->held || tcp->work[i]->gathered) &&
		    !tcp->work[i]->armed)
			fb_tcp_flush(tcp->work[i]);
	}
	n = epoll_wait(tcp->epoll, events, EVENTS, 0);
	for (int i = 0; i < n; i++) {
		struct fb_tcp_socket *socket = events[i].data.ptr;

		if ((events[i].events & EPOLLERR) && !socket->broken)
			fb_tcp_reap(socket);
		if ((events[i].events & EPOLLOUT) && !socket->broken)
			fb_tcp_flush(socket);
		if ((events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP)) && !socket->broken)
			fb_tcp_receive(socket);
	}
}

/* Whether progress() has to try it again. A caller that still waits sets `asked` again. */
static bool has_work(const struct fb_tcp_socket *socket)
{
	return !socket->broken && (socket->asked || socket->due || socket->held ||
				   socket->sending.head || is_flying(socket));
}

int fb_tcp_progress(struct fb_transport *transport)
{
	struct fb_tcp *tcp = (struct fb_tcp *)transport;
	int kept = 0;

	tcp->round++;
	if (tcp->err || tcp->nwork == 0)
		return tcp->err;
	if (tcp->nwork > tcp->few) {
		attend_ready(tcp);
	} else {
		for (int i = 0; i < tcp->nwork; i++)
			attend(tcp->work[i]);
	}
	for (int i = 0; i < tcp->nwork; i++) {
		struct fb_tcp_socket *socket = tcp->work[i];

		socket->working = has_work(socket);
		if (socket->working)
			tcp->work[kept++] = socket;
	}
	tcp->nwork = kept;
	return tcp->err;
}
