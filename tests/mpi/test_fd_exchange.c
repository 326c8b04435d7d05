/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passing files between ranks: everybody gets everybody's, and can read what its owner wrote.
 * ranks: 1 2 4
 */
#include <stdlib.h>
#include <sys/mman.h>
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

int main(int argc, char **argv)
{
	struct fb_group world;
	int failures, rank;

	if (fb_group_open(&world, &argc, &argv))
		return 1;
	rank = world.rank;
	for (int round = 0; round < 3; round++)
		test_exchange(&world, round);
	failures = check_failures;
	MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_MAX, world.comm);
	fb_group_close(&world);
	check_failures = failures;
	return rank == 0 ? check_done("fd_exchange") : failures != 0;
}
