/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computing on a processor, in one thread: products by OpenBLAS, or by a loop of the project's, and
 * passes over memory. The memory is the lane's own, filled with small numbers.
 */
#ifndef FB_OVERLAP_COMPUTE_HOST_COMPUTE_H
#define FB_OVERLAP_COMPUTE_HOST_COMPUTE_H

#include <stddef.h>

#include "common/library/openblas.h"
#include "overlap/compute/work.h"

enum fb_host_matrix {
	FB_HOST_A,
	FB_HOST_B,
	FB_HOST_C,
	FB_HOST_SCORES,   /* of attention */
	FB_HOST_GRADIENT, /* of weights */
	FB_HOST_MATRICES,
};

struct fb_host_compute {
	const struct fb_openblas *blas; /* NULL: the own loop */
	float *matrix[FB_HOST_MATRICES];
	size_t count[FB_HOST_MATRICES]; /* elements that there is room for */
};

/*
 * Local: allocates the memory that the work needs. Call it for each kind and size before it runs.
 * FB_OK or FB_ENOMEM (not printed). A zeroed structure is open. Close also after an error.
 */
int fb_host_compute_room(struct fb_host_compute *compute, const struct fb_work *work);
void fb_host_compute_close(struct fb_host_compute *compute);

/* Part `part` of `parts` of the work. */
void fb_host_compute_run(struct fb_host_compute *compute, const struct fb_work *work,
			 unsigned part, unsigned parts);

/* Whether OpenBLAS multiplies small matrices rightly, compared with the project's loop. */
bool fb_host_blas_right(const struct fb_openblas *blas);

#endif
