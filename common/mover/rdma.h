/* SPDX-License-Identifier: BSD-3-Clause */
/* What rdma.c (devices, regions, queues) and rdma_move.c (posting) of mover rdma share. */
#ifndef FB_COMMON_MOVER_RDMA_H
#define FB_COMMON_MOVER_RDMA_H

#include "common/cuda/gpu.h"
#include "common/mover/mover.h"
#include "common/transport/rdma_memory.h"
#include "common/transport/rdma_queue.h"

#if FB_HAVE_VERBS

enum fb_rdma_form { FB_RDMA_CHAINED, FB_RDMA_SINGLE, FB_RDMA_SGE };

enum {
	FB_RDMA_GATHERED = 16, /* pieces of a request in form sge, at most */
	FB_RDMA_IMM_RANK = 8,  /* immediate data is the rank times this plus the notice */
};

struct fb_rdma_target {
	uint64_t base;
	uint32_t rkey[FB_RDMA_RAILS];
};

struct fb_rdma_memory {
	struct fb_region region;
	uint32_t lkey[FB_RDMA_RAILS];
	struct fb_rdma_target reach[]; /* [nranks] */
};

struct fb_rdma_part {
	struct fb_walk walk;
	uint64_t most;                 /* longest chunk; with several rails each gets several */
	uint64_t local, remote, bytes; /* the next chunk; bytes 0: there is none */
	uint64_t last[FB_RDMA_RAILS];  /* numbers of its last requests */
	uint64_t dealt[FB_RDMA_RAILS]; /* bytes that a rail carries */
	unsigned rails; /* bits 1 << rail: rails that may carry the bytes */
	unsigned tells; /* bits 1 << rail: rails that have not yet carried the notice */
};

struct fb_rdma_move {
	struct fb_move move;
	struct fb_rdma_move *next; /* among those that have more to post */
	enum fb_rdma_form form;
	uint32_t at;            /* the transfer that is being posted; all before are */
	struct fb_rdma_part part[];     /* [transfers] */
};

/* The notices that have come by a rail. */
struct fb_rdma_tally {
	struct fb_rdma_mover *mover;
	uint64_t (*arrived)[FB_NOTICES + 1]; /* [nranks] */
};

struct fb_rdma_mover {
	struct fb_mover mover;
	struct fb_verbs verbs;
	struct fb_rdma_settings settings;
	struct fb_rdma_rail rail[FB_RDMA_RAILS];
	int rails, opened; /* opened: of this rank; rails: used, the fewest that any rank has */
	uint64_t most;     /* bytes of a request that all rails take */
	struct fb_rdma_completions completions[FB_RDMA_RAILS];
	struct fb_rdma_tally tally[FB_RDMA_RAILS];
	struct fb_rdma_cache cache;
	struct fb_rdma_queue **queue; /* [nranks * FB_RDMA_RAILS]; NULL: not connected */
	struct fb_rdma_move *head, *tail;
	int failed; /* why nothing is posted any more (printed), or 0 */
	unsigned polls;
	/* rdma_gpu only. ways: bits 1 << enum fb_gpu_direct; fresh: bytes came since the flush */
	struct fb_gpu gpu;
	unsigned ways;
	enum fb_rdma_how how; /* of regions */
	bool flushes, fresh;
};

static inline struct fb_rdma_queue *fb_rdma_queue_to(const struct fb_rdma_mover *m, int peer,
						    int rail)
{
	return m->queue[peer * FB_RDMA_RAILS + rail];
}

/* fb_rdma_completions.arrived: a notice has come; arg is the rail's struct fb_rdma_tally. */
bool fb_rdma_count_notice(void *arg, uint32_t imm);

/*
 * rdma_gpu.c. begin: collective, checks whether GPU memory can be registered; returns like
 * fb_mover_open(). register: local. flush: local, makes bytes that came visible to kernels. 0 or an
 * error (printed).
 */
int fb_rdma_gpu_begin(struct fb_rdma_mover *m, char why[FB_REASON_CHARS]);
int fb_rdma_gpu_register(struct fb_rdma_mover *m, char *base, size_t bytes,
			 const struct fb_rdma_region **region);
int fb_rdma_gpu_flush(struct fb_rdma_mover *m);

/* fb_mover_ops, in rdma_move.c */
int fb_rdma_move_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
			 struct fb_move **move);
int fb_rdma_move_post(struct fb_move *move);
int fb_rdma_move_test(struct fb_move *move, bool *done);
int fb_rdma_move_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count);
int fb_rdma_move_rest(struct fb_mover *mover, bool *idle);

#endif
#endif
