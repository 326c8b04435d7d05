/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks: 1 2 3
 * timeout: 240
 *
 * Mixed calls without a barrier (mixed.h) of the host engine; and that this test, which is the GPU
 * engine's long run too (test_gpu.c), notices every call that does nothing.
 */
#include "common/memory/segment.h"
#include "tests/mpi/mixed.h"

enum { CALLS = 1500, SKIP = 100 };

static int open_segment(struct fb_segment *segment, const void *arg, size_t bytes)
{
	return fb_segment_open(segment, arg, bytes, FB_PAGES_NORMAL);
}

int main(int argc, char **argv)
{
	struct fb_run run = {.settings = {.slots = 8, .timeout_s = 60, .transport = "shm",
					  .tcp = fb_tcp_defaults}};
	struct mixed m = {.world = &run.world, .transport = "shm", .memory = "host",
			  .launches = {"blocking", "blocking"}, .open = open_segment,
			  .arg = &run.world};
	int failures, least, rank;

	if (fb_group_open(&run.world, &argc, &argv) || fb_group_pretend_nodes(&run.world, 0))
		return 1;
	rank = run.world.rank;
	/* Ranks that share processors take turns by the scheduler's slices. */
	m.calls = run.world.oversubscribed ? CALLS / 5 : CALLS;
	if (CHECK_INT(fb_run_open_session(&run), FB_OK) &&
	    CHECK_INT(fb_engine_open(&m.engine, &fb_engine_host, &run.session, &run.world),
		      FB_OK)) {
		mixed_run(&m);
		CHECK_INT(m.wrong, 0);
		m.skip = SKIP;
		mixed_run(&m);
		/* Roots know what they send, and others may have no output: some rank notices. */
		MPI_Allreduce(&m.wrong, &least, 1, MPI_INT, MPI_MAX, run.world.comm);
		CHECK(least > m.calls / SKIP / 2);
		CHECK(least <= m.calls / SKIP);
		fb_engine_close(m.engine);
	}
	failures = check_failures;
	MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_MAX, run.world.comm);
	fb_session_close(&run.session);
	fb_group_close(&run.world);
	check_failures = failures;
	return rank == 0 ? check_done("mixed") : failures != 0;
}
