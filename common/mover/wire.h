/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All verbs over the ports of a transport (common/transport/transport.h), for movers whose peers
 * cannot write to each other's memory: each end sends messages, and the other carries out what
 * they say. Bytes move only while both ends call.
 *
 * Two ranks have two links in each direction, so that a SEND nobody has a RECV for yet does not
 * hold up what is one-sided. On a link goes, again and again, a header and, if it says so, a body:
 *
 *	data     records of a place in a region and the bytes that belong there
 *	ask      records of a place in the peer's region, one in the own region, and a length; the
 *	         peer answers with data that carries the same tag
 *	stream   bytes of a SEND, which go to the pieces of the first RECV in order
 *
 * Bodies of data and streams go by the form that the move was prepared with, where the mover has
 * forms, and so do the answers to what it asks. Headers and questions go by the first form.
 *
 * A header may count a notice, which is done behind its body: links keep their order, so all data
 * of a transfer, in earlier messages or in this one, is in place before its notice is counted. The
 * notice of a GET is counted by the owner of the memory itself, when it has copied the last byte
 * of the answer into a message, and the transport needs no more calls to send it: who has seen the
 * notice may stop calling. Payload and counter are handled by one thread at each end, so no
 * fence is needed here; the transport orders a message's bytes before peek() returns it.
 */
#ifndef FB_COMMON_MOVER_WIRE_H
#define FB_COMMON_MOVER_WIRE_H

#include "common/mover/mover.h"
#include "common/transport/transport.h"

struct fb_wire_peer;
struct fb_wire_batch;

struct fb_wire {
	struct fb_mover mover; /* first: movers are cast to it */
	struct fb_transport *transport;
	bool (*idle)(const struct fb_transport *transport); /* NULL: what is committed is sent */
	/* Movers with forms: how the port carries what it is asked to acquire next, and, by form,
	 * what the row's path says of that. */
	void (*choose)(struct fb_port *port, int form);
	const char *const *ways;
	size_t slot_bytes;
	uint32_t slots;
	struct fb_wire_peer *peer;    /* [nranks] */
	struct fb_wire_batch *batch;  /* the ports, by calls of connect() */
	struct fb_region **region;    /* by number; NULL: gone. The same order on all ranks */
	int regions;
	bool owes; /* some peer's `owed` is not 0 */
	int abandoned; /* 0, or the error after which nothing more is carried out here */
	int64_t *counts; /* [2 * nranks + FB_WIRE_STATES], of fb_wire_settle() */
	int failed;      /* what that ended with; sticky */
};

/*
 * Collective: opens the mover `ops` over an open transport, which is the wire's in any case from
 * now on. `slots` and `slot_bytes` (64 at least) are of each link. The same value on all ranks: 0,
 * or FB_ENOMEM (printed).
 */
int fb_wire_open(struct fb_mover **mover, const struct fb_mover_ops *ops,
		 const struct fb_session *session, const struct fb_group *group,
		 struct fb_transport *transport, uint32_t slots, size_t slot_bytes);

void fb_wire_close(struct fb_mover *mover);
int fb_wire_add(struct fb_mover *mover, const struct fb_segment *segment,
		struct fb_region **region);
void fb_wire_remove(struct fb_region *region);
int fb_wire_connect(struct fb_mover *mover, const int *peers, int n);
int fb_wire_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
		    struct fb_move **move);
void fb_wire_release(struct fb_move *move);
int fb_wire_post(struct fb_move *move);
int fb_wire_test(struct fb_move *move, bool *done);
int fb_wire_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count);
void fb_wire_describe(struct fb_move *move, struct fb_traits *traits);

/* All of struct fb_mover_ops that follows from there being a wire. */
#define FB_WIRE_OPS                                                                                \
	.verbs = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET | 1u << FB_MOVE_SEND | 1u << FB_MOVE_RECV,  \
	.fifo = true, .close = fb_wire_close, .add = fb_wire_add,                                  \
	.remove = fb_wire_remove, .connect = fb_wire_connect, .prepare = fb_wire_prepare,          \
	.release = fb_wire_release, .post = fb_wire_post, .test = fb_wire_test,                    \
	.arrived = fb_wire_arrived, .describe = fb_wire_describe

/* --- between the files of wires --------------------------------------------------------------- */

enum fb_wire_kind { FB_WIRE_DATA = 1, FB_WIRE_ASK, FB_WIRE_STREAM };
enum { FB_WIRE_STATES = 2 };
enum fb_wire_lane { FB_WIRE_ONE_SIDED, FB_WIRE_TWO_SIDED, FB_WIRE_LANES };

struct fb_wire_header {
	uint32_t kind : 4, form : 4, notice : 8;
	uint32_t region : 16; /* data: the receiver's; ask: the owner's */
	uint32_t body;   /* bytes; 0: none follows */
	uint64_t tag;    /* ask, and data that answers it: the asking job; else 0 */
};

/* In front of bytes in a body. */
struct fb_wire_record {
	uint64_t place, bytes;
};

struct fb_wire_question {
	uint64_t from, to, bytes; /* places in the owner's, in the asking rank's region */
};

struct fb_wire_move;

/* A transfer on its way, or one that is waited for. */
struct fb_wire_job {
	struct fb_wire_job *next;
	struct fb_wire_move *move;   /* NULL: an answer */
	const struct fb_transfer *transfer;
	struct fb_walk walk;
	uint64_t missing; /* GET, RECV: bytes that are not here */
	uint64_t tag;
	enum fb_wire_kind kind;
	int form;
};

struct fb_wire_move {
	struct fb_move move;
	int form;
	uint32_t open;   /* jobs whose bytes or questions have not all been given to the links */
	uint64_t missing; /* of all its jobs */
	struct fb_wire_job job[]; /* [transfers] */
};

/* What a GET of the peer's makes here. */
struct fb_wire_answer {
	struct fb_wire_job job;
	struct fb_transfer transfer;
	int peer, notice;
	struct fb_piece piece[];
};

struct fb_wire_queue {
	struct fb_wire_job *head, *tail;
};

struct fb_wire_link {
	struct fb_port *out, *in;
	struct fb_wire_queue queue; /* what is sent */
	size_t body;                /* the next message is one of these, of the queue's head */
	bool last;                  /* and it is the last one of that job */
	uint64_t sent, taken;       /* messages */
	bool headed;                /* `header` came, its body has not been used */
	struct fb_wire_header header;
};

struct fb_wire_peer {
	struct fb_wire_link link[FB_WIRE_LANES];
	struct fb_wire_queue receives; /* RECVs in the order of posting */
	uint64_t arrived[FB_NOTICES + 1];
	uint64_t owed[FB_NOTICES + 1]; /* of GETs whose answers are not all sent */
};

/* The region's number (NULL: the first that is free), or `regions`: there is none. */
static inline int fb_wire_number(const struct fb_wire *wire, const struct fb_region *region)
{
	int i = 0;

	while (i < wire->regions && wire->region[i] != region)
		i++;
	return i;
}

static inline void fb_wire_queue_add(struct fb_wire_queue *queue, struct fb_wire_job *job)
{
	job->next = NULL;
	if (queue->head)
		queue->tail->next = job;
	else
		queue->head = job;
	queue->tail = job;
}

/*
 * Whether all that was given to the link reaches the peer without further calls: as its port says,
 * or, where ports do not say it, once the whole transport is idle.
 */
static inline bool fb_wire_settled(const struct fb_wire *wire, const struct fb_wire_link *link)
{
	if (link->out->ops->settled)
		return link->out->ops->settled(link->out);
	return !wire->idle || wire->idle(wire->transport);
}

/* Everything once; local. 0 or an error (printed). */
int fb_wire_progress(struct fb_wire *wire);

/*
 * Collective: waits until all messages that were sent on the first `lanes` of all links have been
 * taken, while all links go on. Returns the same on all ranks: 0, or the error that any rank had
 * now or in an earlier call. Only FB_ETIMEOUT may be one rank's alone; the watchdog then ends the
 * job.
 */
int fb_wire_settle(struct fb_wire *wire, int lanes);

/* Gives the links as much as they take; local. */
void fb_wire_send(struct fb_wire *wire, struct fb_wire_peer *peer);

/* Takes what has come from the peer. 0, FB_EPEER or FB_ENOMEM (printed). */
int fb_wire_receive(struct fb_wire *wire, int from);

#endif
