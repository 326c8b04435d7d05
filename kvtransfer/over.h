/* SPDX-License-Identifier: BSD-3-Clause */
/* What over.c (opening, preparing) and over_run.c share; see over.c. */
#ifndef FB_KVTRANSFER_OVER_H
#define FB_KVTRANSFER_OVER_H

#include "kvtransfer/carrier.h"

/* Notices. */
enum { FB_KV_DONE = 1, FB_KV_FREE = 2 };

/* A pair of ranks of which this rank is one. */
struct fb_kv_over_pair {
	struct fb_piece *piece; /* [runs] of the pages */
	struct fb_piece *packed; /* [steps] */
	struct fb_move *pages;   /* all of it: PUT or SEND, or RECV */
	struct fb_move **staged; /* [steps] the same of packed bytes */
	struct fb_move *free;    /* receiver: the notice FREE */
	uint64_t done_base, free_base; /* notices before this request */
	uint32_t next;           /* receiver: steps of the call that are unpacked */
	bool sends, receives;
};

struct fb_kv_over_request {
	struct fb_kv_request request;
	struct fb_kv_over_pair *pair; /* [pairs] */
	uint64_t calls;
};

static inline bool fb_kv_has_put(const struct fb_kv_backend *e)
{
	return e->ops->verbs >> FB_MOVE_PUT & 1;
}

/* fb_kv_carrier.run */
int fb_kv_over_run(struct fb_kv_request *request, unsigned phases, int calls);

#endif
