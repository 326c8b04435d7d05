/* SPDX-License-Identifier: BSD-3-Clause */
/* What ucx.c (opening, regions) and ucx_move.c of mover ucx share. */
#ifndef FB_COMMON_MOVER_UCX_H
#define FB_COMMON_MOVER_UCX_H

#include "common/cuda/gpu.h"
#include "common/library/ucx.h"
#include "common/mover/mover.h"

enum { FB_UCX_NOTICE_ID = 2 }; /* of active messages */

struct fb_ucx_notice {
	uint32_t from, notice;
};

struct fb_ucx_memory {
	struct fb_region region;
	void *memh;
	uint64_t *base; /* [nranks] */
	void **rkey;    /* [nranks]; NULL: not unpacked */
	char *packed;   /* all ranks' keys, one behind the other */
	int *at;        /* [nranks + 1] where they begin */
};

struct fb_ucx_mover {
	struct fb_mover mover;
	struct fb_ucx ucx;
	struct fb_gpu gpu; /* of ucx_gpu */
	void *context, *worker;
	char *addresses; /* of all ranks' workers */
	int *address_at; /* [nranks + 1] */
	void **ep;       /* [nranks]; NULL: not connected */
	uint64_t (*arrived)[FB_NOTICES + 1]; /* [nranks] */
	struct fb_ucx_move *head, *tail;        /* posted, their notices not given, in order */
	bool foreign;                        /* a message made no sense */
	fb_ucx_status failed;                /* why a peer cannot be reached any more, or 0 */
	int lost;                            /* that peer */
};

/* What a move has under way of one transfer. */
struct fb_ucx_part {
	const struct fb_ucx *ucx;
	uint64_t open;		/* ucx_gpu: puts or gets that are not complete */
	fb_ucx_status failed;	/* why one of these failed, or 0 */
	bool unflushed;		/* the flush is still to begin */
	fb_ucx_pending pending; /* the flush, then the notice */
	struct fb_ucx_notice header; /* UCX reads it until the notice is complete */
};

struct fb_ucx_move {
	struct fb_move move;
	struct fb_ucx_move *next;
	bool queued;
	struct fb_ucx_part part[]; /* [transfers] */
};

/* fb_mover_ops, in ucx_move.c */
int fb_ucx_move_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
			struct fb_move **move);
void fb_ucx_move_release(struct fb_move *move);
int fb_ucx_move_post(struct fb_move *move);
int fb_ucx_move_test(struct fb_move *move, bool *done);
int fb_ucx_move_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count);

#endif
