/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Test data of pages: values for the elements of a request, and canaries in all other places.
 *
 * An element's value follows from the seed and its number in the request (fb_kv_index), so each
 * place determines the value that it has to hold. Pages that are in no block table, and the unused
 * rest of a partly filled block, hold a canary byte, which a transfer must not change.
 */
#ifndef FB_KVTRANSFER_PAGES_H
#define FB_KVTRANSFER_PAGES_H

#include "common/cuda/gpu.h"
#include "kvtransfer/job.h"
#include "kvtransfer/place.h"

/* The canary byte: it fills everything but the elements of the request. */
int fb_kv_canary(enum fb_kv_side side);

struct fb_kv_pages_ops {
	/*
	 * Local: fills this rank's pages of a side, with the request's elements, or with canaries
	 * alone (`empty`). 0 or an error (printed).
	 */
	int (*fill)(const struct fb_kv_job *job, enum fb_kv_side side, bool empty);

	/*
	 * Local: checks every element of this rank's pages, adds wrong ones to *bad, prints the
	 * first. It is named by its number in the request, a canary by its place in the pages.
	 */
	int (*check)(const struct fb_kv_job *job, enum fb_kv_side side, struct fb_mismatch *bad);
};

extern const struct fb_kv_pages_ops fb_kv_pages_host, fb_kv_pages_gpu;

/* Those of fb_kv_pages_gpu, which need CUDA (cuda_pages.c). */
int fb_kv_gpu_fill(const struct fb_kv_job *job, enum fb_kv_side side, bool empty);
int fb_kv_gpu_check(const struct fb_kv_job *job, enum fb_kv_side side, struct fb_mismatch *bad);

/* For both: prints which element of the request is at `place`, counted in elements of the area. */
void fb_kv_print_wrong(const struct fb_kv_job *job, enum fb_kv_side side, uint64_t place,
		       const struct fb_mismatch *bad);

/* The test data of a request. If pages are quantised, all values are numbers that e4m3 can hold. */
struct fb_data fb_kv_data_of(const struct fb_kv_job *job);

/* How this rank's pages of a side are to be read. Pure; points into the job. */
struct fb_kv_locator fb_kv_locator_of(const struct fb_kv_job *job, enum fb_kv_side side);

#endif
