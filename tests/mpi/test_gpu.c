/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA engine on GPUs: 10,000 mixed calls without a barrier between ranks (mixed.h), every one
 * of them checked. Skipped where there is no GPU. Single kinds are tested by tests/gpu/run.
 * timeout: 300
 */
#include "common/cuda/gpu_segment.h"
#include "tests/mpi/mixed.h"

enum { CALLS = 10000 };

static int open_segment(struct fb_segment *segment, const void *arg, size_t bytes)
{
	return fb_gpu_segment_open(segment, arg, FB_GPU_DEVICE, bytes);
}

int main(int argc, char **argv)
{
	struct fb_run run = {.settings = {.slots = 8, .ll_line = 16, .timeout_s = 60,
					  .transport = "p2p", .tcp = fb_tcp_defaults}};
	struct mixed m = {.world = &run.world, .transport = "p2p", .memory = "device",
			  .launches = {"stream", "graph"}, .calls = CALLS, .open = open_segment};
	char reason[FB_REASON_CHARS];
	struct fb_gpu gpu;
	int failures, rank, err;

	if (fb_group_open(&run.world, &argc, &argv))
		return 1;
	rank = run.world.rank;
	err = fb_run_open_session(&run);
	if (!err)
		err = fb_gpu_view_open(&gpu, &run.session, &run.world, reason);
	if (err) {
		if (rank == 0)
			printf("SKIP gpu: %s\n", reason);
		fb_session_close(&run.session);
		fb_group_close(&run.world);
		return err == FB_EUNSUPPORTED ? CHECK_SKIP : 1;
	}
	m.arg = &gpu;
	if (CHECK_INT(fb_engine_open(&m.engine, &fb_engine_cuda, &run.session, &run.world),
		      FB_OK)) {
		mixed_run(&m);
		CHECK_INT(m.wrong, 0);
		fb_engine_close(m.engine);
	}
	fb_gpu_view_close(&gpu);
	failures = check_failures;
	MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_MAX, run.world.comm);
	fb_session_close(&run.session);
	fb_group_close(&run.world);
	check_failures = failures;
	return rank == 0 ? check_done("gpu") : failures != 0;
}
