/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rdma engine's own structures. Internal to p2p/engine/rdma*.c.
 *
 * The engine measures the verbs as such, so it adds as little as possible to a work request:
 * requests are built when the job is prepared, and before posting only addresses and numbers in
 * them change. Several requests share a doorbell, few ask for a completion, and no clock is read
 * while messages are under way.
 *
 * How a rank learns that a message has arrived:
 * - SEND and WRITE_IMM: by a completion. Receives are posted ahead. In streams the receiver writes
 *   the number of messages that it can take into the sender's `credits`, so that no message finds
 *   a receiver without a posted receive.
 * - WRITE in ping-pong: the receiver has written a mark over the last byte of each part, a value
 *   that never arrives there. It polls this byte until the mark is gone. This relies on devices
 *   that write a message's bytes in order (common/transport/rdma.h says why and where they do).
 * - WRITE and READ as put and get: the active end notifies the passive end when all is done,
 *   through a counter in shared memory, or by a number that it writes into the passive end's
 *   `finished`.
 */
#ifndef FB_P2P_ENGINE_RDMA_H
#define FB_P2P_ENGINE_RDMA_H

#include "common/cuda/gpu.h"
#include "common/transport/rdma_cm.h"
#include "common/transport/rdma_memory.h"
#include "common/transport/rdma_queue.h"
#include "p2p/engine/engine.h"
#include "p2p/engine/rdma_verb.h"

#if FB_HAVE_VERBS

enum {
	FB_RAW_LIST = 16,  /* requests of a doorbell, at most */
	FB_RAW_FLAGS = 8,  /* numbers written to a peer and not complete yet, at most */
	FB_RAW_AHEAD = 32, /* ping-pong: most messages whose completion has not been polled */
	FB_RAW_BELLS = 2 * FB_RAW_FLAGS, /* receives posted for a peer's numbers */
};

/* Written by one peer, which then wakes this rank if it sleeps. Totals since the engine opened. */
struct fb_raw_cells {
	_Alignas(64) _Atomic uint64_t credits; /* messages that may be sent to that peer */
	_Atomic uint64_t finished; /* runs of one-sided operations that the peer has completed */
};

/* The connection to a peer: made at the first job that needs it, kept until the engine closes. */
struct fb_raw_link {
	struct fb_rdma_queue *queues; /* [nrails][settings->qps]; NULL: not connected */
	const struct fb_job_class *class_of_packets; /* of the job that it was made for */
	uint64_t sent, received;      /* messages of earlier jobs that used credits */
	uint64_t finished, expected;  /* fb_raw_cells.finished: written to the peer; awaited */
	int flags;		      /* numbers written to the peer and not complete yet */
};

/* Addresses and keys by which peers access a rank's memory. Sent to them as plain bytes. */
struct fb_raw_reach {
	uint64_t base;
	uint32_t rkey[FB_RDMA_RAILS];
};

/* How many entries queues have. */
struct fb_raw_depth {
	uint32_t send, receive; /* of a queue pair */
	uint32_t completions;	/* of a rail */
};

struct fb_raw_lane;

struct fb_raw_engine {
	struct fb_p2p_engine engine;
	const struct fb_group *world;
	/* The user's settings, with adapters near the GPU, and one more queue if ranks sleep. */
	struct fb_rdma_settings chosen;
	const struct fb_rdma_settings *settings; /* points to `chosen` */
	uint64_t qps; /* queue pairs that carry messages: all but the one that wakes peers */
	enum fb_rdma_wait wait; /* how ranks wait in the request that runs */
	char reason[FB_REASON_CHARS]; /* why there are no devices; empty: there are */
	struct fb_verbs verbs;
	struct fb_rdma_cm *cm; /* NULL: queues connect through MPI */
	struct fb_rdma_rail rails[FB_RDMA_RAILS];
	struct fb_rdma_completions completions[FB_RDMA_RAILS];
	struct fb_rdma_cache cache;
	int opened, nrails;	  /* rails of this rank; rails in use: the fewest of any rank */
	uint64_t max_message;	  /* longest message that all rails of all ranks accept */
	bool atomics;		  /* all devices have them */
	uint32_t deepest;	  /* requests of a queue, at most: --rdma-depth, on all devices */
	struct fb_raw_depth depth; /* of all queues; equal on all ranks */
	char (*hosts)[64];	  /* [nranks] */
	struct fb_raw_link *links; /* [nranks] */
	struct fb_raw_cells *cells; /* [nranks], own, each written by that rank */
	struct fb_raw_reach *far_cells; /* [nranks] of the others' `cells` */
	struct fb_raw_lane *lanes; /* of the request that runs; completions carry the index */
	/* Memory `device`. */
	struct fb_gpu gpu; /* if has_gpu */
	bool has_gpu, flushes; /* flushes: see fb_gpu_direct_methods() */
	enum fb_rdma_how how;  /* how it is registered; FB_RDMA_HOST: it cannot be, see no_direct */
	char no_direct[FB_REASON_CHARS];
};

/* One queue pair's share of a flow (rdma_verb.h), with its queue and its requests. */
struct fb_raw_lane {
	struct fb_rdma_queue *queue;
	struct fb_raw_share share;
	/* Parts since the request was prepared. */
	uint64_t target;    /* that have to be done at the end of this run */
	uint64_t announced; /* of all runs that fb_raw_ready() has announced */
	uint64_t last;	    /* number of the part that always asks for a completion */
	uint64_t posted, done;
	uint32_t window, signal, unsignalled;
	unsigned flags;	    /* of each request */
	bool moves;	    /* requests of different parts have different addresses */
	bool made;	    /* the next request is prepared; see rdma_lane.h */
	uint64_t identity;  /* wr_id of completions, without the part's number */
	uint32_t region, region_step, regions; /* of the next part */
	size_t stride;
	uint32_t piece; /* bytes of all of a request's pieces but the last */
	char *local;	    /* of region 0 */
	uint64_t remote;
	int id;		    /* index in the request's lanes */
	enum fb_raw_verb verb;
	unsigned char mark; /* polled in memory: a value that never arrives there */
	bool device;	    /* messages are in GPU memory, which the processor cannot access */
	uint64_t seen;	    /* GPU memory: the value that COMPARE_SWAP compares with */
	struct ibv_send_wr wr[FB_RAW_LIST];
	struct ibv_recv_wr receive[FB_RAW_LIST];
	struct ibv_sge sge[FB_RAW_LIST * FB_RDMA_SGES]; /* as many as there are pieces, each */
};

enum fb_raw_role {
	FB_RAW_POSTS,	 /* posts requests to the send queue */
	FB_RAW_RECEIVES, /* posts receives, and polls for their completions */
	FB_RAW_WATCHES,	 /* polls the last byte of each message in memory */
	FB_RAW_WAITS,	 /* is the passive end of one-sided operations */
};

/* This rank's end of a flow. */
struct fb_raw_end {
	const struct fb_flow *flow;
	int peer;
	enum fb_raw_role role;
	bool credits;	   /* a stream: the sender waits until the receiver has posted receives */
	struct fb_raw_lane *lanes;
	int nlanes;
	uint64_t target, announced; /* messages, as in the lanes */
	uint64_t granted;  /* messages that the receiver allows, as this end knows it */
	uint64_t base;	   /* value of `credits` before the first message of this job */
};

struct fb_raw_request {
	struct fb_p2p_request request;
	struct fb_raw_engine *engine;
	const struct fb_job *job;
	enum fb_raw_verb verb;
	struct fb_raw_end *ends; /* [nends] in the order of flows */
	int nends, nlanes, each; /* each: lanes of a flow */
	unsigned rails; /* that these use, a bit for each */
	struct fb_raw_lane *lanes; /* [nlanes] of all ends */
	struct fb_raw_reach *reach; /* [nranks] of their parts of the segment */
	bool device;	      /* messages are in GPU memory */
	enum fb_rdma_wait wait;
	uint64_t completions; /* one-sided, same host: value that fb_raw_counter() has to reach */
	uint64_t seed;	      /* of the data from which the lanes' marks were chosen */
	int64_t call_ns;      /* passive end: how long a call took in the last run */
};

/*
 * As fb_job_completed(), but also NULL if the counter would be in GPU memory, or if the waiting
 * rank sleeps until its device reports a completion.
 */
static inline _Atomic uint64_t *fb_raw_counter(const struct fb_raw_request *r, int rank)
{
	return r->device || r->wait != FB_RDMA_WAIT_POLL ? NULL : fb_job_completed(r->job, rank);
}

/*
 * The queue pair over which a number wakes a sleeping peer: the last one of the first rail. It is
 * apart from those of messages.
 */
static inline struct fb_rdma_queue *fb_raw_bell(const struct fb_raw_engine *e, int peer)
{
	return &e->links[peer].queues[e->settings->qps - 1];
}

/* --- rdma_gpu.c ------------------------------------------------------------------------------- */

/*
 * Collective. Opens the GPU if memory `device` is requested, and chooses RDMA devices near it.
 * FB_OK, also if there is no GPU, or an error (printed).
 */
int fb_raw_gpu_open(struct fb_raw_engine *e, const struct fb_settings *settings);

/* Collective, once rails are open: agrees on how GPU memory is registered, or why it cannot be. */
void fb_raw_gpu_choose(struct fb_raw_engine *e, int asked);

/* Registers GPU memory as was chosen. FB_OK or FB_ESYS (printed). */
int fb_raw_gpu_register(struct fb_raw_engine *e, void *base, size_t bytes,
			const struct fb_rdma_region **region);

/* fb_p2p_engine_ops.settle: makes what RDMA devices have written visible to the GPU. */
int fb_raw_settle(struct fb_p2p_request *request);

/* --- rdma_link.c: everything that concerns other ranks ---------------------------------------- */

/* Collective. Allocates `cells`, exchanges their addresses. FB_OK or an error (printed) for all. */
int fb_raw_open_cells(struct fb_raw_engine *e);

/* Local. Closes all links; peers may notice that this end disconnects. */
void fb_raw_close_links(struct fb_raw_engine *e);

/*
 * Collective. Registers the job's memory and exchanges its keys (reach[nranks]). Connects to those
 * of the npeers ranks that have no link yet, which do the same. If the queues are not deep enough
 * for the job, all queues are closed and created again in the same structures, so nothing may be
 * under way. The same error on all ranks (printed on the rank that finds it).
 */
int fb_raw_connect(struct fb_raw_engine *e, const struct fb_job *job, const int *peers,
		   int npeers, const struct fb_raw_depth *need, struct fb_raw_reach *reach);

/* Opens the completion queues of this rank's rails, of e->depth. FB_OK or FB_ESYS (printed). */
int fb_raw_open_completions(struct fb_raw_engine *e);

/* --- rdma_lane.c: posting --------------------------------------------------------------------- */

/* Builds the lane's requests; queue, share, window, regions, stride, id and verb are set. */
void fb_raw_lane_build(struct fb_raw_lane *lane, char *local, uint32_t lkey, uint64_t remote,
		       uint32_t rkey, bool receives, const struct fb_rdma_settings *settings);

/* Posts n requests or receives, 1 to FB_RAW_LIST. FB_OK or FB_ESYS (printed). */
int fb_raw_post(struct fb_raw_lane *lane, uint32_t n);
int fb_raw_post_receives(struct fb_raw_lane *lane, uint32_t n);

/*
 * Posts as many of the lane's next parts as the queue has room for, but none beyond the first
 * `allowed` ones, in lists of at most `batch` requests. Errors as above.
 */
int fb_raw_push(struct fb_raw_lane *lane, uint64_t allowed, uint32_t batch);

/* Posts n receives for the numbers of a peer that sleeps. FB_OK or FB_ESYS (printed). */
int fb_raw_post_bells(struct fb_raw_engine *e, int peer, int n);

/*
 * Writes a number into the peer's cell, at `offset` in struct fb_raw_cells. If ranks sleep, the
 * write has immediate data, so that its completion wakes the peer.
 */
int fb_raw_flag(struct fb_raw_engine *e, int peer, size_t offset, uint64_t value);

/* --- rdma_poll.c ------------------------------------------------------------------------------ */

/* Takes completions. Returns how many, or an error (printed with its meaning). */
int fb_raw_poll(struct fb_raw_engine *e);

/*
 * Posts and polls until the lane's target is reached. For a rank with a single lane that needs no
 * credits: this loop looks for no other work, because with one message under way every such look
 * would be part of the message's time. An error (printed) as fb_raw_again().
 */
int fb_raw_drive_alone(struct fb_raw_engine *e, struct fb_raw_lane *lane);

/* --- rdma_prepare.c --------------------------------------------------------------------------- */

/* fb_p2p_engine_ops.prepare */
int fb_raw_prepare(struct fb_p2p_engine *engine, const struct fb_case *c,
		   const struct fb_job *job, struct fb_p2p_request **request);

/* Local. NULL is fine. */
void fb_raw_free(struct fb_raw_request *r);

/* --- rdma_ping.c ------------------------------------------------------------------------------ */

/*
 * Waiting. *looks counts polls that found nothing and begins at 0. Each of these returns an error
 * (printed) if the device reports a failure or the time of --timeout has passed.
 */

/* After a poll that found nothing: pauses, yields or sleeps, and now and then checks for errors. */
int fb_raw_again(struct fb_raw_engine *e, unsigned *looks);
/* That check; `doing` says in messages what the rank waits for. */
int fb_raw_look_up(struct fb_raw_engine *e, const char *doing);
/* Polls for completions; if there are none, as fb_raw_again(). */
int fb_raw_poll_or_wait(struct fb_raw_engine *e, unsigned *looks);
/* After a look into memory that found nothing: as fb_raw_again(), and polls now and then. */
int fb_raw_again_in_memory(struct fb_raw_engine *e, unsigned *looks);

/*
 * Posts receives in lists: as soon as a whole list fits, and all that the announced messages still
 * need if these are fewer.
 */
int fb_raw_refill(struct fb_raw_lane *lane);

/* The calls of a ping-pong. */
int fb_raw_ping_pong(struct fb_raw_request *r, int calls);

/* --- rdma_run.c ------------------------------------------------------------------------------- */

/* fb_p2p_engine_ops.ready and run */
int fb_raw_ready(struct fb_p2p_request *request, int calls);
int fb_raw_run(struct fb_p2p_request *request, int calls);

/* Waits until all that this rank has posted is complete. FB_OK or an error (printed). */
int fb_raw_drain(struct fb_raw_request *r);

/* Sets the lane's `mark` and `seen` from the job's present data. */
void fb_raw_lane_expect(const struct fb_raw_request *r, const struct fb_raw_end *end,
			struct fb_raw_lane *lane);

#endif
#endif
