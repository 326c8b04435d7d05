/* SPDX-License-Identifier: BSD-3-Clause */
/* The floating-point operations of a task's computing; see work.h. */
#include "overlap/compute/work.h"

double fb_work_flop(const struct fb_work *w)
{
	double product = 2 * (double)w->m * (double)w->n * (double)w->k;

	switch (w->kind) {
	case FB_WORK_GEMM:
		return product * w->times;
	case FB_WORK_BACKWARD:
	case FB_WORK_ATTENTION:
		return 2 * product * w->times;
	case FB_WORK_SPIN:
		return 2 * (double)w->elements * w->times;
	default:
		return 0;
	}
}
