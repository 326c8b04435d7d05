/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rdma engine's own structures. Internal to p2p/engine/rdma*.c.
 *
 * It measures the verbs as such, so that there is nothing between a message and its work request:
 * requests are built when the job is prepared, and what is posted differs from them in addresses
 * and numbers only. Several go to the device by one doorbell, few ask for a completion, and no
 * clock is read while messages are under way.
 *
 * Who knows what arrived. SEND and WRITE_IMM: by completions; receives are posted ahead, and in
 * streams the receiver says how far by writing a number into the sender's `credits`, so that no
 * message ever finds a receiver that is not ready. WRITE in ping-pong: the receiver looks at the
 * last byte of each part until it is no longer a mark that it wrote there, which is never what
 * arrives; devices write a message's bytes in order (common/transport/rdma.h argues for and limits
 * that). WRITE and READ as put and get: the passive end is notified that all is done, through
 * shared memory or by a number written into its `finished`.
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
	FB_RAW_AHEAD = 32, /* ping-pong: messages whose completion nobody has looked at */
	FB_RAW_BELLS = 2 * FB_RAW_FLAGS, /* receives posted for a peer's numbers */
};

/* Written by one peer, which rings its bell behind it. Totals since the engine was opened. */
struct fb_raw_cells {
	_Alignas(64) _Atomic uint64_t credits; /* messages that may be sent to that peer */
	_Atomic uint64_t finished; /* runs of one-sided operations that the peer is through with */
};

/* To a peer; both ends have one, made at the first job that needs it, kept until the end. */
struct fb_raw_link {
	struct fb_rdma_queue *queues; /* [nrails][settings->qps]; NULL: not connected */
	const struct fb_job_class *class_of_packets; /* of the job that it was made for */
	uint64_t sent, received;      /* messages under credits, of jobs before this one */
	uint64_t finished, expected;  /* see fb_raw_cells: sent to the peer, and awaited */
	int flags;		      /* under way */
};

/* Where a rank's memory is, for its peers. Plain bytes. */
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
	/* The user's, near to the GPU if there is one, and with one more queue if ranks sleep. */
	struct fb_rdma_settings chosen;
	const struct fb_rdma_settings *settings; /* chosen */
	uint64_t qps; /* that carry messages: without the one of bells */
	enum fb_rdma_wait wait; /* of the request that runs */
	char reason[FB_REASON_CHARS]; /* why there are no devices; empty: there are */
	struct fb_verbs verbs;
	struct fb_rdma_cm *cm; /* NULL: queues connect through MPI */
	struct fb_rdma_rail rails[FB_RDMA_RAILS];
	struct fb_rdma_completions completions[FB_RDMA_RAILS];
	struct fb_rdma_cache cache;
	int opened, nrails;	  /* rails of this rank, and the fewest of any */
	uint64_t max_message;	  /* of the least rail of all ranks */
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
	enum fb_rdma_how how;  /* FB_RDMA_HOST: not at all; no_direct says why */
	char no_direct[FB_REASON_CHARS];
};

/* A share with its queue and its requests. */
struct fb_raw_lane {
	struct fb_rdma_queue *queue;
	struct fb_raw_share share;
	uint64_t target;    /* parts that have to be done at the end of this run */
	uint64_t announced; /* of all runs that are announced */
	uint64_t last;	    /* the part that asks for a completion in any case */
	uint64_t posted, done;
	uint32_t window, signal, unsignalled;
	unsigned flags;	    /* of each request */
	bool moves;	    /* requests differ in more than numbers */
	bool made;	    /* the next request; see rdma_lane.h */
	uint64_t identity;  /* of completions, without the number */
	uint32_t region, region_step, regions; /* of the next part */
	size_t stride;
	uint32_t piece; /* bytes of all of a request's pieces but the last */
	char *local;	    /* of region 0 */
	uint64_t remote;
	int id;		    /* index in the request's lanes */
	enum fb_raw_verb verb;
	unsigned char mark; /* watched in memory: what never arrives */
	bool device;	    /* memory that the processor does not reach */
	uint64_t seen;	    /* there: what COMPARE_SWAP compares with */
	struct ibv_send_wr wr[FB_RAW_LIST];
	struct ibv_recv_wr receive[FB_RAW_LIST];
	struct ibv_sge sge[FB_RAW_LIST * FB_RDMA_SGES]; /* as many as there are pieces, each */
};

enum fb_raw_role {
	FB_RAW_POSTS,	 /* requests to the send queue */
	FB_RAW_RECEIVES, /* into posted receives, known by completions */
	FB_RAW_WATCHES,	 /* known by memory */
	FB_RAW_WAITS,	 /* the passive end of one-sided operations */
};

/* This rank's end of a flow. */
struct fb_raw_end {
	const struct fb_flow *flow;
	int peer;
	enum fb_raw_role role;
	bool credits;	   /* streams that the receiver has to be ready for */
	struct fb_raw_lane *lanes;
	int nlanes;
	uint64_t target, announced; /* messages, as in the lanes */
	uint64_t granted;  /* receiver: messages that may come; sender: that may be sent */
	uint64_t base;	   /* of `credits` before the first message of this job */
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
	uint64_t completions; /* one-sided, near: as in fb_job_completed */
	uint64_t seed;	      /* of the data that lanes' marks are of */
	int64_t call_ns;      /* passive end: what a call took the last time */
};

/*
 * As fb_job_completed(), but NULL too where it would be in a GPU's memory, or where who waits for
 * it sleeps until its device reports a completion.
 */
static inline _Atomic uint64_t *fb_raw_counter(const struct fb_raw_request *r, int rank)
{
	return r->device || r->wait != FB_RDMA_WAIT_POLL ? NULL : fb_job_completed(r->job, rank);
}

/* The queue of a peer's link by which numbers wake the peer; the last one of the first rail. */
static inline struct fb_rdma_queue *fb_raw_bell(const struct fb_raw_engine *e, int peer)
{
	return &e->links[peer].queues[e->settings->qps - 1];
}

/* --- rdma_gpu.c ------------------------------------------------------------------------------- */

/*
 * Collective. Opens the GPU where memory `device` is asked for, and has devices be near it. FB_OK,
 * also where there is none, or an error (printed).
 */
int fb_raw_gpu_open(struct fb_raw_engine *e, const struct fb_settings *settings);

/* Collective, once rails are open: how all ranks' devices take GPU memory, or why not. */
void fb_raw_gpu_choose(struct fb_raw_engine *e, int asked);

/* Registers GPU memory as was chosen. FB_OK or FB_ESYS (printed). */
int fb_raw_gpu_register(struct fb_raw_engine *e, void *base, size_t bytes,
			const struct fb_rdma_region **region);

/* fb_p2p_engine_ops.settle: what devices have written is there for the GPU. */
int fb_raw_settle(struct fb_p2p_request *request);

/* --- rdma_link.c: everything that concerns other ranks ---------------------------------------- */

/* Collective. The memory for numbers, and whose is where. FB_OK or an error (printed) for all. */
int fb_raw_open_cells(struct fb_raw_engine *e);

/* Local. Closes all links; peers may see this end go. */
void fb_raw_close_links(struct fb_raw_engine *e);

/*
 * Collective. Registers the job's memory and exchanges its keys (reach[nranks]); connects to those
 * of the npeers ranks that have no link yet, who do the same. Where queues are not as deep as the
 * job needs them, all are made anew, in their places: nothing may be under way. The same error on
 * all ranks (printed where it is found).
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
 * Posts of the lane's first `allowed` parts as many as there is room for, in lists of `batch` at
 * most. Errors as above.
 */
int fb_raw_push(struct fb_raw_lane *lane, uint64_t allowed, uint32_t batch);

/* Posts n receives for the numbers of a peer that sleeps. FB_OK or FB_ESYS (printed). */
int fb_raw_post_bells(struct fb_raw_engine *e, int peer, int n);

/*
 * Writes a number into a cell of the peer's, at `offset` in struct fb_raw_cells; where ranks sleep
 * with immediate data, so that a completion wakes the peer.
 */
int fb_raw_flag(struct fb_raw_engine *e, int peer, size_t offset, uint64_t value);

/* --- rdma_poll.c ------------------------------------------------------------------------------ */

/* Takes completions. Returns how many, or an error (printed with its meaning). */
int fb_raw_poll(struct fb_raw_engine *e);

/*
 * Posts and polls until the lane's target is reached: all there is to do where it is the only one
 * and waits for nobody's credits, without looking for what else there might be. With one message
 * under way all of this is in its time. An error (printed) as in waiting.
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
 * Waiting: *looks counts those in vain, from 0 on. Is told of one; polls; or is told that a look
 * into memory was in vain, whereupon it sometimes looks for failures. An error (printed) when one
 * is found, or the step's time is over.
 */
int fb_raw_again(struct fb_raw_engine *e, unsigned *looks);
int fb_raw_look_up(struct fb_raw_engine *e, const char *doing); /* what those do sometimes */
int fb_raw_poll_or_wait(struct fb_raw_engine *e, unsigned *looks);
int fb_raw_again_in_memory(struct fb_raw_engine *e, unsigned *looks);

/* Posts receives where a list's worth of them is missing, and all of the last announced ones. */
int fb_raw_refill(struct fb_raw_lane *lane);

/* The calls of a ping-pong. */
int fb_raw_ping_pong(struct fb_raw_request *r, int calls);

/* --- rdma_run.c ------------------------------------------------------------------------------- */

/* fb_p2p_engine_ops.ready and run */
int fb_raw_ready(struct fb_p2p_request *request, int calls);
int fb_raw_run(struct fb_p2p_request *request, int calls);

/* Waits until nothing of this rank's is under way. FB_OK or an error (printed). */
int fb_raw_drain(struct fb_raw_request *r);

/* What the lane compares with, from the job's present data: the mark, and `seen`. */
void fb_raw_lane_expect(const struct fb_raw_request *r, const struct fb_raw_end *end,
			struct fb_raw_lane *lane);

#endif
#endif
