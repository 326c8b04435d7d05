/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computing beside transfers: a sender computes chunks of a prompt, a receiver computes tokens of
 * other requests. On processors a thread of the rank does this from open to close. On GPUs layers
 * are enqueued on a stream of their own before each transfer, for twice the time of the fastest
 * transfer of this kind so far. The time of the last transfer is not used, because that transfer
 * may have waited for the computing: computing and transfers would then make each other longer.
 */
#ifndef FB_KVTRANSFER_BESIDE_H
#define FB_KVTRANSFER_BESIDE_H

#include "kvtransfer/compute.h"

struct fb_kv_beside; /* opaque */

/*
 * Local: `gpu`: NULL for the processor; `sends`: computes a prompt, else tokens of other requests.
 * 0 or an error (printed).
 */
int fb_kv_beside_open(struct fb_kv_beside **beside, const struct fb_kv_model *model,
		      const struct fb_gpu *gpu, const struct fb_clock *clock, bool sends);
/* NULL is fine. */
void fb_kv_beside_close(struct fb_kv_beside *beside);

/*
 * Local, before a transfer; `seconds`: the fastest of the same kind, 0: not known. Waits for
 * earlier computing, and begins computing for twice as long, or less if that needs too many layers
 * (fb_kv_beside_short). 0 or an error (printed).
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
