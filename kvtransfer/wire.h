/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that moves carry instead of pages. The runs of a move are gathered into one message,
 * either as they are (packed), or with each bf16 element quantised to fp8, which halves the bytes
 * (e4m3, rounded to nearest even, limited to 448, scale 1, which is vLLM's default). The receiver
 * scatters the message into its pages, and converts quantised elements back to bf16.
 *
 * The sending end (`out`) reads pages and writes the message, the other end reads the message and
 * writes pages. Both use the same list of parts.
 */
#ifndef FB_KVTRANSFER_WIRE_H
#define FB_KVTRANSFER_WIRE_H

#include "common/cuda/data_element.h"
#ifndef __CUDACC__
#include "common/mover/mover.h"
#endif

enum fb_kv_wire { FB_KV_WIRE_PAGES, FB_KV_WIRE_PACKED, FB_KV_WIRE_FP8, FB_KV_WIRES };

/* A run of bytes in pages, or a part of one, and its place in the message. */
struct fb_kv_part {
	uint64_t pages, wire, bytes; /* bytes: in pages */
};

/* One end of a message. Plain data, for kernels as well; addresses are numbers. */
struct fb_kv_packing {
	uint64_t part;	      /* struct fb_kv_part[parts], where the pages are */
	uint64_t pages, wire; /* what the parts' offsets are added to */
	uint64_t pages_step, wire_step; /* from repeat to repeat */
	uint64_t parts;
	uint32_t repeats;
	uint32_t fp8, out; /* bool */
	uint32_t any;	   /* bool: some address is no multiple of 8 */
};

/* The error that rounding to e4m3 may have: half of a last place, or of the smallest number. */
FB_ELEMENT float fb_kv_fp8_allowed(float value)
{
	float magnitude = value < 0 ? -value : value;

	return magnitude < 0x1p-6f ? 0x1p-10f : magnitude * 0x1p-4f;
}

/* Whether quantising may have turned bf16 `wanted` into `got`; *relative: the relative error. */
FB_ELEMENT bool fb_kv_fp8_is_near(uint16_t wanted, uint16_t got, float *relative)
{
	float want = fb_widen_bf16(wanted), off = fb_widen_bf16(got) - want;

	off = off < 0 ? -off : off;
	*relative = want < 0 ? off / -want : want > 0 ? off / want : off;
	return off <= fb_kv_fp8_allowed(want);
}

#ifndef __CUDACC__

/* "pages", "packed", "fp8", NULL. */
extern const char *const fb_kv_wires[FB_KV_WIRES + 1];

/* Bytes of a message that carries `bytes` bytes of pages. */
static inline uint64_t fb_kv_wire_bytes(enum fb_kv_wire wire, uint64_t bytes)
{
	return wire == FB_KV_WIRE_FP8 ? bytes / 2 : bytes;
}

/*
 * Local: prepares one end of the message that replaces a transfer between pages. For a PUT the
 * sender's pages (`out`) are the transfer's local pieces and the receiver's the remote ones; for a
 * GET it is the reverse; for a SEND or a RECV they are the local ones. `pages` and `message` are
 * the addresses of this rank's part and of the message, in GPU memory (`device`) or host memory.
 * 0 or an error (printed); the caller closes it either way.
 */
int fb_kv_packing_open(struct fb_kv_packing *p, const struct fb_transfer *transfer, bool out,
		       enum fb_kv_wire wire, bool device, char *pages, char *message);
void fb_kv_packing_close(struct fb_kv_packing *p, bool device);

/* Local: gathers (`out`) or scatters; complete on return. 0 or an error (printed). */
int fb_kv_packing_run(const struct fb_kv_packing *p, bool device);

/* The same in GPU memory (cuda_wire.c): `part` becomes a copy there, and back to nothing. */
int fb_kv_gpu_packing_open(struct fb_kv_packing *p);
void fb_kv_gpu_packing_close(struct fb_kv_packing *p);
int fb_kv_gpu_packing_run(const struct fb_kv_packing *p);

#endif

#endif
