/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What over_gpu.c (requests), over_moves.c (their moves) and cuda_stages.c (calls) share.
 *
 * Packing and unpacking are moves too: of mover cuda, from a rank to itself. So is gathering pages
 * by kernels directly into the receivers' staging memory.
 */
#ifndef FB_KVTRANSFER_OVER_GPU_H
#define FB_KVTRANSFER_OVER_GPU_H

#include "common/cuda/gpu_stream.h"
#include "kvtransfer/over.h"

/* The legs of a hand-over, by source and destination. The sender carries out all but SCATTERS. */
enum fb_kv_leg {
	FB_KV_PAGES,   /* pages to the receivers' pages */
	FB_KV_GATHERS, /* pages to own staging memory */
	FB_KV_FUSED,   /* pages to the receivers' staging memory */
	FB_KV_PUSH,    /* staging memory to the receivers' */
	FB_KV_SCATTERS, /* own staging memory to pages */
	FB_KV_LEGS,
};

struct fb_kv_streams; /* of cuda_stages.c */

struct fb_kv_gpu_request {
	struct fb_kv_request request;
	struct fb_piece **list;   /* [pairs * FB_KV_LEGS]: the pieces, the same for all steps */
	struct fb_move **move;    /* [FB_KV_LEGS * steps]; NULL: there is nothing to do */
	struct fb_move **keep;    /* [steps] without PUT: what stays on the same rank */
	struct fb_move *freeing;  /* FREE to all senders */
	struct fb_move *last;     /* the last SCATTERS with FREE, where the mover orders them */
	struct fb_wait *done, *leave; /* [senders], [receivers]: DONE, and FREE, of these ranks */
	uint64_t *done_base, *leave_base; /* counts before this request */
	int senders, receivers;
	uint64_t calls;           /* that moved something, so far */
	unsigned phases;          /* of the run under way */
	struct fb_gpu_stream *stream;
	struct fb_kv_streams *streams;
};

static inline struct fb_move *fb_kv_gpu_move(const struct fb_kv_gpu_request *r, enum fb_kv_leg leg,
					     uint32_t step)
{
	return r->move[leg * r->request.job->steps + step];
}

/* Whether pages go to pages, by whatever form. */
static inline bool fb_kv_is_direct(const struct fb_kv_job *job)
{
	return job->mode != FB_KV_PACK && job->mode != FB_KV_LAYERWISE;
}

/* Whether the mover's own kernels pack, too. */
static inline bool fb_kv_packs(const struct fb_kv_backend *e)
{
	return e->packer == e->mover;
}

/* The leg that brings data to the receivers when a call runs all its phases. */
static inline enum fb_kv_leg fb_kv_gpu_leg(const struct fb_kv_gpu_request *r)
{
	return fb_kv_is_direct(r->request.job) ? FB_KV_PAGES
	       : r->request.job->mode == FB_KV_LAYERWISE && fb_kv_packs(r->request.engine)
		       ? FB_KV_FUSED : FB_KV_PUSH;
}

/*
 * Collective: makes the moves of a request. For modes batch and strided it tries the mover's form
 * first. 0; FB_EUNSUPPORTED on all ranks if the driver cannot do it; or an error of this rank.
 */
int fb_kv_moves_make(struct fb_kv_gpu_request *r);

/* Local: the streams and events of a request, and what ends them. */
int fb_kv_streams_open(struct fb_kv_gpu_request *r);
void fb_kv_streams_close(struct fb_kv_gpu_request *r);

/* fb_gpu_enqueue_fn: one call. */
int fb_kv_enqueue_call(void *request, void *stream);

#endif
