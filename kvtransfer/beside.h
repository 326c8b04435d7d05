/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computing beside transfers: a rank that sends computes chunks of a prompt, one that receives
 * computes tokens of other requests. On processors a thread of the rank does this from open to
 * close. On GPUs layers are put on a stream of their own before each transfer, as many as take
 * twice as long as the fastest transfer of this kind. The last one would not do: it may have waited
 * for the computing, and both would become longer from time to time.
 */
#ifndef FB_KVTRANSFER_BESIDE_H
#define FB_KVTRANSFER_BESIDE_H

#include "kvtransfer/compute.h"

struct fb_kv_beside; /* opaque */

/*
 * Local: `gpu` or NULL for the processor; `sends`: a prompt, else other requests. 0 or an error
 * (printed).
 */
int fb_kv_beside_open(struct fb_kv_beside **beside, const struct fb_kv_model *model,
		      const struct fb_gpu *gpu, const struct fb_clock *clock, bool sends);
/* NULL is fine. */
void fb_kv_beside_close(struct fb_kv_beside *beside);

/*
 * Local, before a transfer whose like took `seconds` at least, 0: not known. From now on there is
 * computing for twice as long, or less where that is too many layers (fb_kv_beside_short). What was
 * there before has ended. 0 or an error (printed).
 */
int fb_kv_beside_begin(struct fb_kv_beside *beside, double seconds);
/* The faster one of the transfers so far (0: none) and of one that took `seconds`. */
static inline double fb_kv_beside_fastest(double so_far, double seconds)
{
	return so_far > 0 && so_far < seconds ? so_far : seconds;
}

/* Whether some transfer so far would have needed more layers than are put on the stream at once. */
bool fb_kv_beside_short(const struct fb_kv_beside *beside);

/* Layers that have been computed, or put on the stream. */
uint64_t fb_kv_beside_layers(const struct fb_kv_beside *beside);

#endif
