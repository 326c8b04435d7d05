/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files travel as ancillary data of datagrams between sockets with abstract names, which leave
 * nothing behind in a file system. Datagrams between local sockets are neither lost nor
 * reordered; the sender's rank is in the data, since ranks arrive in any order.
 */
#include "common/system/fd_exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/error.h"

enum { WAIT_S = 30 };

static socklen_t name_of(long owner, struct sockaddr_un *address)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	/* The first byte stays 0: an abstract name. */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
					    "fabricbench.fd.%ld", owner));
}

static int open_socket(void)
{
	const struct timeval limit = {.tv_sec = WAIT_S};
	struct sockaddr_un address;
	socklen_t length = name_of((long)getpid(), &address);
	int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (s < 0)
		return -1;
	if (bind(s, (const struct sockaddr *)&address, length) ||
	    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit))) {
		close(s);
		return -1;
	}
	return s;
}

/* Room for one file, aligned as its header needs. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static int send_fd(int s, long to, int fd, int self)
{
	struct sockaddr_un address;
	union control control = {.bytes = {0}};
	struct iovec data = {.iov_base = &self, .iov_len = sizeof(self)};
	struct msghdr message = {
		.msg_name = &address, .msg_namelen = name_of(to, &address),
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = control.bytes, .msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	return sendmsg(s, &message, 0) == sizeof(self) ? 0 : -1;
}

static int receive_fd(int s, int *from)
{
	union control control;
	struct iovec data = {.iov_base = from, .iov_len = sizeof(*from)};
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = control.bytes, .msg_controllen = sizeof(control.bytes),
	};
	const struct cmsghdr *header;
	int fd = -1;

	if (recvmsg(s, &message, MSG_CMSG_CLOEXEC) != sizeof(*from))
		return -1;
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(fd)))
		return -1;
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

/* Shifts by one, so that nobody's socket fills up: each sends one and receives one in turn. */
static int exchange(const struct fb_group *world, int s, const long *pids, int fd, int *fds, int n,
		    int self)
{
	for (int i = 1; i < n; i++) {
		int from = -1, got;

		if (send_fd(s, pids[(self + i) % n], fd, self))
			return fb_error(FB_ESYS, "rank %d: sending a file to another rank: %s",
					world->rank, strerror(errno));
		got = receive_fd(s, &from);
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
	long pid = (long)getpid(), *pids = malloc((size_t)n * sizeof(*pids));
	int self, err, s = open_socket();

	for (int i = 0; i < n; i++)
		fds[i] = -1;
	err = s < 0 ? fb_error(FB_ESYS, "rank %d: local socket: %s", world->rank, strerror(errno))
		    : FB_OK;
	/* Found out now, since the others would wait for it in vain. */
	if (fcntl(fd, F_GETFD) < 0)
		err = fb_error(FB_ESYS, "rank %d: file %d: %s", world->rank, fd, strerror(errno));
	err = pids ? err : FB_ENOMEM;
	MPI_Comm_rank(world->node_comm, &self);
	MPI_Allreduce(MPI_IN_PLACE, &err, 1, MPI_INT, MPI_MIN, world->node_comm);
	if (!err && pids) {
		MPI_Allgather(&pid, 1, MPI_LONG, pids, 1, MPI_LONG, world->node_comm);
		err = exchange(world, s, pids, fd, fds, n, self);
	}
	free(pids);
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
