/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pipelines' orders: every pass is there once, idle shares are those of the papers, and what is
 * said to be better is better.
 */
#include <stdlib.h>

#include "common/base/error.h"
#include "overlap/schedule/pipeline_order.h"
#include "tests/unit/check.h"

/* Every pass of every micro-batch and part is there once, and none is another kind's. */
static void check_passes(const struct fb_pipeline *p)
{
	const struct fb_pipeline_shape *s = &p->shape;
	int kinds = s->schedule == FB_PIPELINE_ZERO_BUBBLE ? 3 : 2;
	int *seen = calloc((size_t)kinds * (size_t)s->batches * (size_t)s->chunks, sizeof(*seen));

	if (!seen) {
		CHECK(seen != NULL);
		return;
	}
	CHECK_INT(p->per_rank, kinds * s->batches * s->chunks);
	for (int r = 0; r < s->ranks; r++) {
		for (int i = 0; i < p->per_rank; i++) {
			struct fb_pass_of x = p->passes[r * p->per_rank + i];

			if (CHECK((int)x.pass < kinds && x.batch >= 0 && x.batch < s->batches &&
				  x.chunk >= 0 && x.chunk < s->chunks))
				seen[((int)x.pass * s->batches + x.batch) * s->chunks + x.chunk]++;
		}
		for (int i = 0; i < p->per_rank; i++)
			CHECK_INT(seen[i], r + 1);
	}
	free(seen);
}

/* The idle share; negative after an error. */
static double bubble(enum fb_pipeline_schedule schedule, int ranks, int batches, int chunks)
{
	const struct fb_pipeline_shape shape = {schedule, ranks, batches, chunks, NULL};
	struct fb_pipeline p;
	double share;

	if (!CHECK_INT(fb_pipeline_open(&p, &shape), FB_OK))
		return -1;
	check_passes(&p);
	share = p.bubble;
	fb_pipeline_close(&p);
	return share;
}

int main(void)
{
	for (int ranks = 1; ranks <= 8; ranks++)
		for (int batches = 1; batches <= 24; batches++) {
			double idle = (double)(ranks - 1) / (batches + ranks - 1);
			double plain = bubble(FB_PIPELINE_1F1B, ranks, batches, 1), other;

			CHECK_NEAR(plain, idle, 1e-9);
			CHECK_NEAR(bubble(FB_PIPELINE_GPIPE, ranks, batches, 1), idle, 1e-9);
			other = bubble(FB_PIPELINE_ZERO_BUBBLE, ranks, batches, 1);
			CHECK(ranks == 1 || batches == 1 ? other <= plain + 1e-9 : other < plain);
			if (batches % ranks)
				continue;
			/* With v parts a rank the bubble is v times shorter. */
			CHECK_NEAR(bubble(FB_PIPELINE_INTERLEAVED, ranks, batches, 2),
				   (ranks - 1) / 2.0 / (batches + (ranks - 1) / 2.0), 1e-9);
		}
	/* ZB-H1 of the paper: (p - 1)(F + B - W) of idle time in m (F + B + W), all equal. */
	CHECK_NEAR(bubble(FB_PIPELINE_ZERO_BUBBLE, 4, 8, 1), 3.0 / (3 * 8 + 3), 1e-9);
	return check_done("pipeline order");
}
