/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passing files between ranks: everybody gets everybody's, and can read what its owner wrote; what
 * strangers send is thrown away.
 * ranks: 1 2 4
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/system/fd_exchange.h"
#include "tests/unit/check.h"

static void test_exchange(const struct fb_group *w, int round)
{
	int fds[64], own = memfd_create("test", MFD_CLOEXEC), wrote = w->rank * 1000 + round;

	CHECK_INT(pwrite(own, &wrote, sizeof(wrote), 0), sizeof(wrote));
	CHECK_INT(fb_fd_exchange(w, own, fds, w->nranks), FB_OK);
	for (int r = 0; r < w->nranks; r++) {
		int read = -1;

		if (r == w->rank) {
			CHECK_INT(fds[r], -1);
			continue;
		}
		CHECK_INT(pread(fds[r], &read, sizeof(read), 0), sizeof(read));
		CHECK_INT(read, r * 1000 + round);
		close(fds[r]);
	}
	/* A bad file on one rank fails on all, with nothing left open. */
	if (w->nranks > 1) {
		CHECK(fb_fd_exchange(w, w->rank == 0 ? -1 : own, fds, w->nranks) != FB_OK);
		for (int r = 0; r < w->nranks; r++)
			CHECK_INT(fds[r], -1);
	}
	close(own);
}

static int count_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Another user of this host who knows even the secret. Returns whether it could be played. */
static bool send_as_somebody(int s, const struct fb_fd_address *to, int fd)
{
	int status = 1;
	pid_t child = geteuid() == 0 ? fork() : -1;

	if (child == 0)
		_exit(setuid(65534) || fb_fd_send(s, to, fd, 1));
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* What strangers send is thrown away with its files, and the file behind it arrives. */
static void test_strangers(void)
{
	struct fb_fd_address own, guess;
	int s = fb_fd_listen(&own), fd = memfd_create("test", MFD_CLOEXEC), rank = -1, got, before;
	struct sockaddr_un name;
	socklen_t length = sizeof(name);

	if (!CHECK(s >= 0) || !CHECK(fd >= 0))
		return;
	before = count_files();
	guess = own;
	guess.secret[15] ^= 1;
	CHECK_INT(fb_fd_send(s, &guess, fd, 1), 0);
	/* Too short, and without a file. */
	CHECK_INT(getsockname(s, (struct sockaddr *)&name, &length), 0);
	CHECK_INT(sendto(s, "x", 1, 0, (struct sockaddr *)&name, length), 1);
	if (!send_as_somebody(s, &own, fd))
		printf("only root can play another user\n");
	CHECK_INT(fb_fd_send(s, &own, fd, 7), 0);
	got = fb_fd_receive(s, &own, &rank);
	CHECK(got >= 0);
	CHECK_INT(rank, 7);
	CHECK_INT(count_files(), before + 1);
	/* No name is used twice, nor follows from another. */
	CHECK(fb_fd_listen(&guess) >= 0);
	CHECK(memcmp(guess.name, own.name, sizeof(own.name)) != 0);
	CHECK(memcmp(guess.secret, own.secret, sizeof(own.secret)) != 0);
	close(got);
	close(fd);
	close(s);
}

int main(int argc, char **argv)
{
	struct fb_group world;
	int failures, rank;

	if (fb_group_open(&world, &argc, &argv))
		return 1;
	rank = world.rank;
	if (rank == 0)
		test_strangers();
	for (int round = 0; round < 3; round++)
		test_exchange(&world, round);
	failures = check_failures;
	MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_MAX, world.comm);
	fb_group_close(&world);
	check_failures = failures;
	return rank == 0 ? check_done("fd_exchange") : failures != 0;
}
