/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue: one reliable connected (RC) queue pair, what has been posted to it and what of that
 * is complete.
 *
 * Work requests are numbered. Only some ask for a completion; since a queue pair completes in
 * order, one completion stands for all requests before it. So "is request 17 done" is one
 * comparison, and neither the send queue nor the completion queue can overflow, because whoever
 * posts asks for room first. Requests are collected and handed to the device as one list, with one
 * doorbell.
 *
 * All calls are local. A queue is for one thread.
 */
#ifndef FB_COMMON_TRANSPORT_RDMA_QUEUE_H
#define FB_COMMON_TRANSPORT_RDMA_QUEUE_H

#include "common/transport/rdma_device.h"
#include "common/transport/rdma_watch.h"

#if FB_HAVE_VERBS

enum {
	FB_RDMA_LIST = 16, /* work requests in one list, at most */
	FB_RDMA_SGES = 32, /* pieces of a request, at most */
};

/* Completions of a rail's queues. */
struct fb_rdma_completions {
	const struct fb_rdma_rail *rail;
	struct fb_rdma_watch watch;
	uint64_t taken, seen; /* so far; first rail: of all rails at the last fb_rdma_look_up() */
	struct ibv_cq *cq;
	struct ibv_comp_channel *channel; /* NULL: ranks do not sleep */
	bool armed;       /* an event has been asked for, and has not been taken */
	bool asleep;      /* armed, and this rank has slept since, when `taken` was `slept` */
	uint64_t slept;
	uint64_t rested;  /* of the first rail: taken of all rails at the last fb_rdma_rest() */
	double rested_us; /* the time when `rested` changed last */
	uint32_t room;    /* completions that still fit */
	uint32_t entries;
	struct fb_rdma_queue **queues; /* by index, NULL: free */
	uint32_t nqueues, max_queues;
	bool (*arrived)(void *arg, uint32_t imm); /* immediate data; false: it makes no sense */
	void *arg;
	bool own_receives; /* the caller posts the queues' receives and takes their completions */
	bool builds; /* queues get a `builder` where the library has one */
	bool broken; /* a message has been printed */
};

struct fb_rdma_queue {
	struct fb_rdma_completions *completions;
	struct ibv_qp *qp;
	struct ibv_qp_ex *builder; /* of qp: requests can be made ahead of posting; NULL: not */
	int peer;               /* rank, for messages; -1: not known */
	int pkey_index;         /* line of the port's partition table, as of the state INIT */
	const char *host;       /* the peer's; not owned, may be NULL */
	uint32_t index;         /* in completions->queues */
	uint32_t depth, max_inline, signal, batch, sges;
	uint32_t recv_depth;    /* receives for immediate data; 0: none */
	uint64_t posted;        /* requests so far, pending ones included */
	uint64_t signalled;     /* number of the last that asked for a completion */
	uint64_t completed;     /* all requests up to this number are done */
	int npending;
	struct ibv_send_wr wr[FB_RDMA_LIST];
	struct ibv_sge sge[FB_RDMA_LIST * FB_RDMA_SGES]; /* `sges` for each request */
	uint64_t value[FB_RDMA_LIST]; /* flags that travel inline */
};

/* The address of a queue, for the peer's connect. Plain bytes. */
struct fb_rdma_address {
	uint8_t gid[16];
	uint32_t qpn, psn, mtu;
	uint32_t reads; /* READs and atomics of the peer that it answers at once */
	uint16_t lid, ethernet;
	uint16_t pkeys[FB_RDMA_PKEYS]; /* as of struct fb_rdma_rail */
};

/*
 * The completion queue of a rail, with room for `entries` (cut to what the device has). FB_OK, or
 * FB_ESYS (printed).
 */
int fb_rdma_completions_open(struct fb_rdma_completions *completions,
			     const struct fb_rdma_rail *rail,
			     const struct fb_rdma_settings *settings, uint32_t entries);
void fb_rdma_completions_close(struct fb_rdma_completions *completions);

/*
 * Makes a queue pair in the state INIT. settings give depth, inline bytes and the signalling
 * interval, all cut to what the device has; recv_depth receives are posted for immediate data, or
 * with own_receives there is room for them. The caller fills in peer and host. FB_OK, or FB_ESYS
 * (printed, with the limit that may be why).
 */
int fb_rdma_queue_open(struct fb_rdma_completions *completions,
		       const struct fb_rdma_settings *settings, uint32_t recv_depth,
		       struct fb_rdma_queue *queue);
void fb_rdma_queue_close(struct fb_rdma_queue *queue);

/*
 * Splits [at, at + bytes) into at most n pieces, none empty, all but the last equally long. Returns
 * how many. The pieces are neighbours, since a message is contiguous; the device still looks up and
 * fetches each of them by itself.
 */
int fb_rdma_split(uint64_t at, uint32_t bytes, uint32_t lkey, int n, struct ibv_sge *sges);

/* This end's address; psn is chosen at random. */
void fb_rdma_queue_address(const struct fb_rdma_queue *queue, struct fb_rdma_address *address);

/*
 * Connects to the peer's address: INIT to RTR to RTS. `own` as fb_rdma_queue_address() gave it.
 * The two ends agree on a common partition by fb_rdma_choose_pkey(). FB_OK; FB_EINPUT where the two
 * ends cannot talk (InfiniBand with Ethernet, no common partition, MTUs asked for that differ);
 * FB_ESYS. Printed.
 */
int fb_rdma_queue_connect(struct fb_rdma_queue *queue, const struct fb_rdma_settings *settings,
			  const struct fb_rdma_address *own, const struct fb_rdma_address *peer);

/*
 * Adds to the attributes of the step from INIT to RTR the partition in line `index` of the port's
 * table, unless INIT has set that line already.
 */
void fb_rdma_queue_set_pkey(const struct fb_rdma_queue *queue, int index, struct ibv_qp_attr *attr,
			    int *mask);

/*
 * Changes attributes that the connection manager has filled in to what the settings say: timeouts,
 * retries, READs under way and, where the settings name them, service level and traffic class.
 */
void fb_rdma_queue_tune(const struct fb_rdma_queue *queue, const struct fb_rdma_settings *settings,
			struct ibv_qp_attr *attr);

/* Requests that may be posted now. */
static inline uint32_t fb_rdma_queue_room(const struct fb_rdma_queue *queue)
{
	uint32_t room = queue->depth - (uint32_t)(queue->posted - queue->completed);

	return room < queue->completions->room ? room : queue->completions->room;
}

/* Whether the request with that number is done. */
static inline bool fb_rdma_queue_done(const struct fb_rdma_queue *queue, uint64_t number)
{
	return queue->completed >= number;
}

/* One request. Lengths of 0 are fine. */
struct fb_rdma_request {
	enum ibv_wr_opcode opcode;
	const void *local;
	uint32_t lkey;
	uint32_t bytes;
	uint64_t remote; /* address in the peer */
	uint32_t rkey;
	uint32_t imm;    /* of opcodes with immediate data */
	uint64_t compare_add, swap; /* of atomics */
	bool signal;     /* ask for a completion in any case */
	bool fence;      /* not before all READs posted earlier are complete */
	/* [npieces], at most queue->sges: local memory, of `bytes` in all; 0: see `local`. */
	const struct ibv_sge *piece;
	int npieces;
};

/*
 * Adds the request to the list; the caller has made sure of room, one for each request or flag.
 * Inline data are read before fb_rdma_queue_ring() returns, other data until the request is done.
 * Full lists are posted at once. FB_OK or FB_ESYS (printed).
 */
int fb_rdma_queue_add(struct fb_rdma_queue *queue, const struct fb_rdma_request *request);

/* Adds an inline WRITE of 8 bytes. `wakes`: with immediate data, which wakes a peer that sleeps. */
#define FB_RDMA_WAKE UINT32_MAX
int fb_rdma_queue_flag(struct fb_rdma_queue *queue, uint64_t value, uint64_t remote,
		       uint32_t rkey, bool signal, bool wakes);

/* Posts what was added. FB_OK or FB_ESYS (printed). */
int fb_rdma_queue_ring(struct fb_rdma_queue *queue);

/*
 * Takes completions, as many as there are up to a few. Returns FB_OK, or FB_EPEER after printing
 * which request to whom failed, what its status means and what to check.
 */
int fb_rdma_poll(struct fb_rdma_completions *completions);

/*
 * Called between two polls of the n rails of a rank, which were opened with a channel. When nothing
 * has come for spin_us, a first call asks for events and returns: the caller polls once more, since
 * earlier completions cause no event. The next call sleeps until an event. *idle: it slept 50 ms
 * and none came; call fb_rdma_look_up() then. Flags in memory cause no event, so a rank that waits
 * for one wakes up late. FB_OK; FB_ESYS, or FB_EPEER for a completion without its event (printed).
 */
int fb_rdma_rest(struct fb_rdma_completions *rails, int n, uint64_t spin_us, bool *idle);

/*
 * To be called a few times a second or more while a rank waits, for its n rails. FB_OK, or FB_EPEER
 * (printed) where a port has been down for longer than its queue pairs' retries take, and nothing
 * has completed since.
 */
int fb_rdma_look_up(struct fb_rdma_completions *rails, int n);

/*
 * For callers that poll themselves: prints the error of a failed completion, as above. Returns
 * FB_EPEER. Only the first failure is printed, as the others follow from it.
 */
int fb_rdma_failed(struct fb_rdma_completions *completions, const struct ibv_wc *wc);

/*
 * Orders what a device has written: call it between seeing a flag (or a completion) and reading the
 * data that it covers. x86-64 keeps the order of loads; on AArch64 the device is in the outer
 * shareable domain, which a plain acquire does not order.
 */
static inline void fb_rdma_from_device(void)
{
#if defined(__aarch64__)
	__asm__ volatile("dmb oshld" ::: "memory");
#elif defined(__x86_64__)
	__asm__ volatile("" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

#endif
#endif
