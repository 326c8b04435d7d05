/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files travel as ancillary data of datagrams between sockets with abstract names, which leave
 * nothing behind in a file system. Datagrams between local sockets are neither lost nor
 * reordered; the sender's rank is in the data, since ranks arrive in any order.
 *
 * An abstract name is open to every process of the host. So names are random, each datagram holds
 * a secret of the receiver that ranks know through MPI only, and the kernel tells the sender's user
 * (SCM_CREDENTIALS, which for datagrams is what SO_PEERCRED is for connections). What does not
 * match is thrown away, and its files are closed.
 */
#include "common/system/fd_exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.h"

enum { WAIT_S = 30 };

/* The contents of a datagram. */
struct message {
	int rank;
	unsigned char secret[16];
};

/* Room for one file and the sender's credentials, aligned as their headers need. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
};

static socklen_t name_of(const struct fb_fd_address *of, struct sockaddr_un *address)
{
	int at = 1; /* the first byte stays 0: an abstract name */

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	at += snprintf(address->sun_path + at, sizeof(address->sun_path) - 1, "fabricbench.fd.");
	for (size_t i = 0; i < sizeof(of->name); i++)
		at += snprintf(address->sun_path + at, sizeof(address->sun_path) - (size_t)at,
			       "%02x", of->name[i]);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)at);
}

int fb_fd_listen(struct fb_fd_address *own)
{
	const struct timeval limit = {.tv_sec = WAIT_S};
	struct sockaddr_un address;
	int yes = 1, saved, s = -1;

	if (getrandom(own, sizeof(*own), 0) == (ssize_t)sizeof(*own))
		s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return -1;
	if (!setsockopt(s, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) &&
	    !bind(s, (const struct sockaddr *)&address, name_of(own, &address)) &&
	    !setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) &&
	    !setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)))
		return s;
	saved = errno;
	close(s);
	errno = saved;
	return -1;
}

int fb_fd_send(int s, const struct fb_fd_address *to, int fd, int rank)
{
	struct sockaddr_un address;
	struct message text = {.rank = rank};
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
	struct iovec data = {.iov_base = &text, .iov_len = sizeof(text)};
	struct msghdr message = {
		.msg_name = &address, .msg_namelen = name_of(to, &address),
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	memcpy(text.secret, to->secret, sizeof(text.secret));
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	return sendmsg(s, &message, 0) == (ssize_t)sizeof(text) ? 0 : -1;
}

/* Returns the file of a datagram that came from the job, else -1 with no file left open. */
static int open_message(const struct fb_fd_address *own, struct msghdr *message, size_t bytes,
			const struct message *text)
{
	struct ucred sender = {.uid = (uid_t)-1};
	int fd = -1;

	for (struct cmsghdr *h = CMSG_FIRSTHDR(message); h; h = CMSG_NXTHDR(message, h)) {
		if (h->cmsg_level != SOL_SOCKET)
			continue;
		if (h->cmsg_type == SCM_CREDENTIALS && h->cmsg_len == CMSG_LEN(sizeof(sender)))
			memcpy(&sender, CMSG_DATA(h), sizeof(sender));
		/* There is room for one file; the kernel closes those that do not fit. */
		if (h->cmsg_type == SCM_RIGHTS && h->cmsg_len == CMSG_LEN(sizeof(fd)))
			memcpy(&fd, CMSG_DATA(h), sizeof(fd));
	}
	if (bytes == sizeof(*text) && !(message->msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
	    sender.uid == getuid() && !memcmp(text->secret, own->secret, sizeof(text->secret)))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int fb_fd_receive(int s, const struct fb_fd_address *own, int *rank)
{
	time_t end = time(NULL) + WAIT_S;

	do {
		union control control;
		struct message text;
		struct iovec data = {.iov_base = &text, .iov_len = sizeof(text)};
		struct msghdr message = {
			.msg_iov = &data, .msg_iovlen = 1,
			.msg_control = control.bytes, .msg_controllen = sizeof(control.bytes),
		};
		ssize_t bytes = recvmsg(s, &message, MSG_CMSG_CLOEXEC);
		int fd;

		if (bytes < 0)
			return -1;
		fd = open_message(own, &message, (size_t)bytes, &text);
		if (fd >= 0) {
			*rank = text.rank;
			return fd;
		}
	} while (time(NULL) < end);
	errno = ETIMEDOUT;
	return -1;
}

/* Shifts by one, so that no socket fills up: each rank sends one and receives one in turn. */
static int exchange(const struct fb_group *world, int s, const struct fb_fd_address *all, int fd,
		    int *fds, int n, int self)
{
	for (int i = 1; i < n; i++) {
		int from = -1, got;

		if (fb_fd_send(s, &all[(self + i) % n], fd, self))
			return fb_error(FB_ESYS, "rank %d: sending a file to another rank: %s",
					world->rank, strerror(errno));
		got = fb_fd_receive(s, &all[self], &from);
		if (got < 0 || from < 0 || from >= n || fds[from] >= 0) {
			if (got >= 0)
				close(got);
			return fb_error(FB_ESYS, "rank %d: no file from another rank: %s",
					world->rank, strerror(errno));
		}
		fds[from] = got;
	}
	return FB_OK;
}

int fb_fd_exchange(const struct fb_group *world, int fd, int *fds, int n)
{
	struct fb_fd_address own, *all = malloc((size_t)n * sizeof(*all));
	int self, err, s = fb_fd_listen(&own);

	for (int i = 0; i < n; i++)
		fds[i] = -1;
	err = s < 0 ? fb_error(FB_ESYS, "rank %d: local socket: %s", world->rank, strerror(errno))
		    : FB_OK;
	/* Found out now, since the others would wait for it in vain. */
	if (fcntl(fd, F_GETFD) < 0)
		err = fb_error(FB_ESYS, "rank %d: file %d: %s", world->rank, fd, strerror(errno));
	err = all ? err : FB_ENOMEM;
	MPI_Comm_rank(world->node_comm, &self);
	MPI_Allreduce(MPI_IN_PLACE, &err, 1, MPI_INT, MPI_MIN, world->node_comm);
	if (!err && all) {
		MPI_Allgather(&own, sizeof(own), MPI_BYTE, all, sizeof(own), MPI_BYTE,
			      world->node_comm);
		err = exchange(world, s, all, fd, fds, n, self);
	}
	free(all);
	MPI_Allreduce(MPI_IN_PLACE, &err, 1, MPI_INT, MPI_MIN, world->node_comm);
	if (s >= 0)
		close(s);
	for (int i = 0; i < n && err; i++)
		if (fds[i] >= 0) {
			close(fds[i]);
			fds[i] = -1;
		}
	return err;
}
