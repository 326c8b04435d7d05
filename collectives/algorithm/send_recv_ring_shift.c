/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Send and receive at once: every rank sends its block to the next rank and receives that of the
 * one before, the pattern of pipelines and of nccl-tests' sendrecv.
 *
 * One step; every rank sends and receives one block. In place the block goes through scratch,
 * because a zero-copy write into the next rank's block would have to wait for that rank to send,
 * all around the ring.
 */
#include "collectives/algorithm/algorithm.h"

static uint32_t scratch(const struct fb_shape *shape)
{
	return shape->in_place ? 1 : 0;
}

static int build(struct fb_builder *b)
{
	int n = fb_nranks(b);
	bool in_place = fb_shape(b)->in_place;

	for (int r = 0; r < n; r++)
		fb_copy(b, fb_chunk((r + 1) % n, in_place ? FB_SCRATCH : FB_OUT, 0, 1),
			fb_chunk(r, FB_IN, 0, 1));
	fb_round(b);
	for (int r = 0; r < n && in_place; r++)
		fb_copy(b, fb_chunk(r, FB_OUT, 0, 1), fb_chunk(r, FB_SCRATCH, 0, 1));
	return 0;
}

const struct fb_algorithm fb_send_recv_ring_shift = {
	.name = "ring_shift",
	.collective = FB_SEND_RECV,
	.source = "nccl-tests sendrecv; MPI_Sendrecv_replace",
	.in_place = true,
	.scratch = scratch,
	.build = build,
};
