/* SPDX-License-Identifier: BSD-3-Clause */
/* Structures shared by the parts of the rdma transport; see rdma.h. Internal to rdma*.c. */
#ifndef FB_COMMON_TRANSPORT_RDMA_INTERNAL_H
#define FB_COMMON_TRANSPORT_RDMA_INTERNAL_H

#include "common/transport/direct.h"
#include "common/transport/rdma.h"
#include "common/transport/rdma_memory.h"
#include "common/transport/rdma_queue.h"

#if FB_HAVE_VERBS

enum {
	FB_RDMA_LINE = 128,     /* bytes: two cache lines, fetched in pairs */
	FB_RDMA_EXPOSED = 64,   /* memories exposed at once */
	FB_RDMA_IMM_BITS = 24,  /* low bits of immediate data: the port's index; above: rail */
	FB_RDMA_IMM_DEPTH = 256, /* receives posted for immediate data of a queue */
};

/* The counters that the other end of a link writes. They are totals that never go back. */
struct fb_rdma_cells {
	_Alignas(FB_RDMA_LINE) _Atomic uint64_t available[FB_RDMA_RAILS];
	_Alignas(FB_RDMA_LINE) _Atomic uint64_t freed;
	_Atomic uint64_t credits;
	uint64_t fence; /* written before a disconnect only, and never read */
};

struct fb_rdma;

struct fb_rdma_port {
	struct fb_port port; /* first: ports are cast */
	struct fb_rdma *rdma;
	struct fb_rdma_queue *queue[FB_RDMA_RAILS];
	int nrails, home;      /* home: rail of messages that are not striped */
	uint32_t id, index, far_index;
	bool sends, due;       /* due: the peer's cells have to be written */
	uint32_t nslots, slot, owed;
	size_t slot_bytes, stride, peeked;
	struct fb_rdma_cells *cells; /* own, written by the peer */
	char *ring;                  /* own slots */
	char *stage;                 /* ll: private copy of one message */
	const char *zeroes;          /* ll: a slot of them */
	uint32_t lkey[FB_RDMA_RAILS], far_rkey[FB_RDMA_RAILS];
	uint64_t far_cells, far_ring; /* the peer's */
	uint64_t (*slot_done)[FB_RDMA_RAILS]; /* sender: request that last used the slot */
	uint64_t arrived[FB_RDMA_RAILS]; /* receiver, immediate data: as cells->available */
	uint64_t moved[FB_RDMA_RAILS];   /* messages sent or received over the rail */
	uint64_t messages, seen;
	uint64_t credits, pulls;         /* direct, as in shm.h */
	uint32_t flag;                   /* ll */
	bool wrapped;                    /* ll: flags began again */
	size_t unpacked;                 /* ll */
};

struct fb_rdma_exposed {
	char *base; /* NULL: free */
	size_t bytes;
	const struct fb_rdma_region *region;
	struct fb_rdma_reach {
		uint64_t base;
		uint32_t rkey[FB_RDMA_RAILS];
	} *reach; /* [nranks] */
};

/* The links of one connect(). */
struct fb_rdma_group {
	struct fb_rdma_group *next;
	struct fb_port **key; /* the caller's array */
	struct fb_rdma_port *ports;
	int n;
	char *arena;
	size_t arena_bytes;
	char *stages;
	uint64_t (*slot_done)[FB_RDMA_RAILS];
};

struct fb_rdma {
	struct fb_transport transport; /* first: transports are cast */
	struct fb_rdma_cm *cm; /* NULL: queues connect through MPI */
	struct fb_verbs verbs;
	const struct fb_rdma_settings *settings;
	struct fb_rdma_rail rails[FB_RDMA_RAILS];
	struct fb_rdma_completions completions[FB_RDMA_RAILS];
	int nrails, opened; /* opened: of this rank; nrails: used, the fewest any rank has */
	bool imm;
	char (*hosts)[64];  /* [nranks] */
	struct fb_rdma_queue **peers; /* [nranks]: [nrails][qps], NULL: not connected */
	struct fb_rdma_cache cache;
	struct fb_rdma_exposed exposed[FB_RDMA_EXPOSED];
	struct fb_rdma_group *groups;
	struct fb_rdma_port **ports; /* by index, NULL: free */
	uint32_t nports, max_ports;
	struct fb_rdma_port **due; /* [max_ports] */
	uint32_t ndue;
	int nqueues;
	uint32_t looks; /* calls of progress() */
	int err; /* the first failure, kept forever */
};

static inline struct fb_rdma_port *fb_rdma_port(struct fb_port *port)
{
	return (struct fb_rdma_port *)port;
}

static inline const struct fb_rdma_port *fb_rdma_const_port(const struct fb_port *port)
{
	return (const struct fb_rdma_port *)port;
}

/* The rails that carry a message of this many bytes: [*first, *first + *n). */
static inline void fb_rdma_rails_of(const struct fb_rdma_port *p, size_t bytes, int *first, int *n)
{
	bool striped = p->nrails > 1 && bytes >= p->rdma->settings->stripe;

	*first = striped ? 0 : p->home;
	*n = striped ? p->nrails : 1;
}

/* Messages that the peer has sent over the rail, as far as is known here. */
static inline uint64_t fb_rdma_available(const struct fb_rdma_port *p, int rail)
{
	return p->rdma->imm ? p->arrived[rail]
			    : atomic_load_explicit(&p->cells->available[rail],
						   memory_order_acquire);
}

/* Remembers the first failure; progress() returns it. */
static inline void fb_rdma_note(struct fb_rdma *rdma, int err)
{
	if (err && !rdma->err)
		rdma->err = err;
}

/* Address of a cell in the peer's memory. */
#define FB_RDMA_CELL(p, cell) ((p)->far_cells + offsetof(struct fb_rdma_cells, cell))

extern const struct fb_port_ops fb_rdma_simple_ops, fb_rdma_ll_ops, fb_rdma_direct_ops;
extern const struct fb_direct_ops fb_rdma_direct;

/* --- rdma_port.c ------------------------------------------------------------------------------ */

/*
 * WRITEs memory within the group's arena to the peer, by requests no longer than the device takes,
 * and rings the doorbell. The caller has made sure that the queue has room for fb_rdma_requests()
 * of them. `notify`: also notifies the peer, on this rail.
 */
void fb_rdma_send(struct fb_rdma_port *p, int rail, const char *local, uint64_t remote,
		  size_t bytes, bool notify, bool signal);

/* The most requests that fb_rdma_send() posts for this many bytes. */
static inline uint32_t fb_rdma_requests(const struct fb_rdma_port *p, int rail, size_t bytes)
{
	return (uint32_t)(bytes / p->queue[rail]->completions->rail->max_message) + 2;
}

/* Sender: whether the next slot may be filled and there is room to send it. */
bool fb_rdma_slot_free(struct fb_rdma_port *p, size_t bytes);

/* Sender: the message of `bytes` in the slot has been posted; goes on to the next slot. */
void fb_rdma_slot_sent(struct fb_rdma_port *p, size_t bytes);

/* Receiver: the slot was read. The sender is notified once half of the slots have been read. */
void fb_rdma_slot_read(struct fb_rdma_port *p);

/* The peer's cells have to be written: now if there is room, else by progress(). */
void fb_rdma_owe(struct fb_rdma_port *p);

/* fb_port_ops.settled: whether all is posted. The device sends posted requests by itself. */
bool fb_rdma_settled(const struct fb_port *port);

/* Writes the cells of ports that owe it. */
void fb_rdma_flush(struct fb_rdma *rdma);

/* --- rdma_ll.c -------------------------------------------------------------------------------- */

size_t fb_rdma_ll_stride(size_t bytes);

/* --- rdma_link.c ------------------------------------------------------------------------------ */

int fb_rdma_connect(struct fb_transport *transport, const struct fb_link_request *requests, int n,
		    struct fb_port **ports);
void fb_rdma_disconnect(struct fb_transport *transport, struct fb_port **ports, int n);
int fb_rdma_progress(struct fb_transport *transport);

/* Local: frees what is left of the groups, after a failure. */
void fb_rdma_drop_groups(struct fb_rdma *rdma);

/* --- rdma_peer.c ------------------------------------------------------------------------------ */

/*
 * Collective: makes and connects the queues to the peers of the n ports that have none. FB_OK or
 * an error (printed), not the same on all ranks.
 */
int fb_rdma_connect_queues(struct fb_rdma *rdma, const struct fb_rdma_port *ports, int n);
void fb_rdma_part(struct fb_rdma *rdma, int peer);

#endif
#endif
