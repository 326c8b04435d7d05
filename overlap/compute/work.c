/* SPDX-License-Identifier: BSD-3-Clause */
/* What a task's computing amounts to; see work.h. */
#include "overlap/compute/work.h"

enum { F32 = 4, MEMORY_BYTES = 8, ADAM_BYTES = 28 };

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

double fb_work_bytes(const struct fb_work *w)
{
	double bytes = w->kind == FB_WORK_MEMORY ? MEMORY_BYTES
		       : w->kind == FB_WORK_ADAM ? ADAM_BYTES
		       : w->kind == FB_WORK_CAST ? F32 + (double)w->k
		       : w->kind == FB_WORK_SELECT || (w->kind >= FB_WORK_COPY_IN &&
			 w->kind <= FB_WORK_COPY_PAGEABLE) ? F32 : 0;

	return bytes * (double)w->elements * w->times;
}
