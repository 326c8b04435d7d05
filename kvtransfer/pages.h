/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Test data of pages: what the elements of a request are, wherever they lie, and canaries in
 * everything that is none of the request's.
 *
 * An element's value follows from the seed and its number in the request (fb_kv_index), so that
 * each place determines what it has to hold. Pages that are in no block table, and the rest of a
 * block that is filled in part, hold a byte that must stay.
 */
#ifndef FB_KVTRANSFER_PAGES_H
#define FB_KVTRANSFER_PAGES_H

#include "common/cuda/gpu.h"
#include "kvtransfer/job.h"
#include "kvtransfer/place.h"

/* As a byte, everywhere but in the elements of the request. */
int fb_kv_canary(enum fb_kv_side side);

struct fb_kv_pages_ops {
	/*
	 * Local: this rank's pages of a side: with the request's elements, or as nobody has
	 * written them yet (`empty`). 0 or an error (printed).
	 */
	int (*fill)(const struct fb_kv_job *job, enum fb_kv_side side, bool empty);

	/*
	 * Local: every element of this rank's pages; adds to *bad, and has the first wrong one
	 * printed. An element of the request has its number in it, a canary its place in the pages.
	 */
	int (*check)(const struct fb_kv_job *job, enum fb_kv_side side, struct fb_mismatch *bad);
};

extern const struct fb_kv_pages_ops fb_kv_pages_host, fb_kv_pages_gpu;

/* Those of fb_kv_pages_gpu, which need CUDA (cuda_pages.c). */
int fb_kv_gpu_fill(const struct fb_kv_job *job, enum fb_kv_side side, bool empty);
int fb_kv_gpu_check(const struct fb_kv_job *job, enum fb_kv_side side, struct fb_mismatch *bad);

/* For both: says which element it is that `place`, an element of the area, holds. */
void fb_kv_print_wrong(const struct fb_kv_job *job, enum fb_kv_side side, uint64_t place,
		       const struct fb_mismatch *bad);

/* What a request's elements are made of. Those to be quantised are numbers that e4m3 can hold. */
struct fb_data fb_kv_data_of(const struct fb_kv_job *job);

/* How this rank's pages of a side are to be read. Pure; points into the job. */
struct fb_kv_locator fb_kv_locator_of(const struct fb_kv_job *job, enum fb_kv_side side);

#endif
