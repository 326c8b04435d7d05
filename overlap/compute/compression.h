/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The error that compressing gradients causes in their sum over ranks. Gradients of each rank are
 * drawn from the normal distribution, compressed, and added up as the collective does it. The
 * result is the relative error against the sum in f64: the length of the difference (as a vector),
 * divided by the length of the sum. It is the same on all ranks. -1 if memory is exhausted.
 */
#ifndef FB_OVERLAP_COMPUTE_COMPRESSION_H
#define FB_OVERLAP_COMPUTE_COMPRESSION_H

#include "common/base/datatype.h"

/* Cast to the type, added in it one rank behind the other; 0 for f32 and wider. */
double fb_cast_error(enum fb_datatype type, int nranks);
/* Only the largest ones of each rank, a share of `keep`, without error feedback. */
double fb_topk_error(double keep, int nranks);

#endif
