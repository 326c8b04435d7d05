/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that work enqueued behind a blocking kernel fits into the queue in every case, also for a
 * batch of 1000 calls when the existing graph has a single call, as happens if the first batches of
 * a warm-up were slow. Calls are empty: only launches of graphs are commands. Skipped where there
 * is no GPU; tests/shell/fake_gpu.sh runs it with a queue that refuses what is too much and counts.
 * A real queue would be full, so that the launch would wait for the kernel's end.
 * ranks: 1
 */
#include "common/base/error.h"
#include "common/cuda/gpu_stream.h"
#include "common/run/run.h"
#include "tests/unit/check.h"

static int nothing(void *arg, void *stream)
{
	(void)arg;
	(void)stream;
	return FB_OK;
}

static void batch(struct fb_gpu_stream *stream, int calls)
{
	CHECK_INT(fb_gpu_stream_ready(stream, calls), FB_OK);
	CHECK_INT(fb_gpu_stream_run(stream, calls), FB_OK);
}

int main(int argc, char **argv)
{
	struct fb_run run = {.settings = {.timeout_s = 60, .blocking_kernel = true,
					  .tcp = fb_tcp_defaults}};
	struct fb_gpu_stream *stream;
	char reason[FB_REASON_CHARS];
	struct fb_gpu gpu;
	int err;

	if (fb_group_open(&run.world, &argc, &argv))
		return 1;
	err = fb_run_open_session(&run);
	if (!err)
		err = fb_gpu_view_open(&gpu, &run.session, &run.world, reason);
	if (!err) {
		if (CHECK_INT(fb_gpu_stream_open(&stream, &gpu, true, nothing, NULL, &run.session),
			      FB_OK)) {
			batch(stream, 1);
			batch(stream, 1);
			batch(stream, 1000); /* with the graph of one call */
			batch(stream, 1000); /* with a graph of its own */
			fb_gpu_stream_close(stream);
		}
		fb_gpu_view_close(&gpu);
	}
	fb_session_close(&run.session);
	fb_group_close(&run.world);
	if (err == FB_EUNSUPPORTED) {
		printf("SKIP gpu_hold: %s\n", reason);
		return CHECK_SKIP;
	}
	return err ? 1 : check_done("gpu_hold");
}
