/* SPDX-License-Identifier: BSD-3-Clause */
/* What libfabric.c (opening, regions) and libfabric_move.c of mover libfabric share. */
#ifndef FB_COMMON_MOVER_LIBFABRIC_H
#define FB_COMMON_MOVER_LIBFABRIC_H

#include "common/cuda/gpu.h"
#include "common/library/libfabric.h"
#include "common/mover/mover.h"

#if FB_HAVE_LIBFABRIC

/* Where a rank's part of a region begins, as the provider wants it, and its key. */
struct fb_ofi_target {
	uint64_t base, key;
};

struct fb_ofi_memory {
	struct fb_region region;
	struct fid_mr *mr;
	struct fb_ofi_target target[]; /* [nranks] */
};

/* What a move has under way of one transfer. */
struct fb_ofi_part {
	struct fb_walk walk;
	uint64_t local, remote, bytes; /* the chunk to post next; no bytes: all are posted */
	uint64_t open;                 /* operations that are posted and not complete */
	bool alone; /* when the move was posted, all earlier transfers to the peer were
		     * delivered, and no piece of this one is posted yet */
	bool lands; /* counted in `busy` */
	bool told;  /* its notice has been given */
};

struct fb_ofi_move {
	struct fb_move move;
	struct fb_ofi_move *next;
	uint32_t at; /* number of transfers that are posted as a whole */
	bool queued, delivered; /* queued: in the mover's list; delivered: pieces are complete */
	struct fb_ofi_part part[];
};

struct fb_ofi_mover {
	struct fb_mover mover;
	struct fb_ofi_end end;
	struct fb_gpu gpu; /* of libfabric_gpu */
	bool flushes;      /* fb_gpu_direct_flush() is needed before kernels read what arrived */
	bool fresh;        /* a notice has come since the last flush */
	uint64_t *busy; /* [nranks]: transfers to each whose pieces are not all delivered */
	uint64_t (*arrived)[FB_NOTICES + 1]; /* [nranks] */
	struct fb_ofi_move *head, *tail; /* posted, their notices not given, in order */
	struct fb_ofi_move *feed;        /* the first one that is not posted as a whole */
	bool data;                       /* the provider takes a notice with a write */
	int failed;                      /* why nothing moves any more (printed), or 0 */
};

/* Local: reads completions, posts what has room, gives notices. 0 or an error (printed). */
int fb_ofi_progress(struct fb_ofi_mover *m);

/* As fb_ofi_end.complete, of the mover `arg`. */
int fb_ofi_complete(void *arg, const struct fb_ofi_op *op, uint64_t word);

/* fb_mover_ops, in libfabric_move.c */
int fb_ofi_move_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
			struct fb_move **move);
void fb_ofi_move_release(struct fb_move *move);
int fb_ofi_move_post(struct fb_move *move);
int fb_ofi_move_test(struct fb_move *move, bool *done);
int fb_ofi_move_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count);

#endif

#endif
