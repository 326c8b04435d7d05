/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All verbs over the ports of a transport (common/transport/transport.h), for movers whose peers
 * cannot write to each other's memory: each end sends messages, and the other carries out what
 * they say. Bytes move only while both ends call.
 *
 * Two ranks have two links in each direction, so that a SEND whose RECV is not posted yet does not
 * delay PUTs and GETs. A link carries headers, each with a body behind it if the header says so:
 *
 *	data     records of a place in a region and the bytes that belong there
 *	ask      records of a place in the peer's region, one in the own region, and a length; the
 *	         peer answers with data that carries the same tag
 *	stream   bytes of a SEND, which go to the pieces of the first RECV in order
 *
 * If the mover has forms, bodies of data and streams use the form that the move was prepared with,
 * and so do the answers to its questions. Headers and questions use the first form.
 *
 * A header may carry a notice, which is counted after its body: links keep their order, so all data
 * of a transfer, in earlier messages or in this one, is in place before its notice is counted. The
 * notice of a GET is counted by the owner of the memory itself, when it has copied the last byte
 * of the answer into a message, and the transport can send this message without further calls,
 * because a rank that has seen its notices may stop calling. One thread at each end handles payload
 * and counter, so no fence is needed here; the transport orders a message's bytes before peek()
 * returns it.
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
	/* Movers with forms: sets the form of the port's next message; and for each form its text
	 * for the row's path. */
	void (*choose)(struct fb_port *port, int form);
	const char *const *ways;
	size_t slot_bytes;
	uint32_t slots;
	struct fb_wire_peer *peer;    /* [nranks] */
	struct fb_wire_batch *batch;  /* the ports, by calls of connect() */
	struct fb_region **region;    /* by number; NULL: gone. The same order on all ranks */
	int regions;
	bool owes; /* some peer's `owed` is not 0 */
	int abandoned; /* 0, or the error after which this rank carries out nothing more */
	int64_t *counts; /* [2 * nranks + FB_WIRE_STATES], used by fb_wire_settle() */
	int failed;      /* the error with which a fb_wire_settle() ended; it stays */
};

/*
 * Collective: opens the mover `ops` over an open transport, which the wire owns from now on, even
 * after an error. `slots` and `slot_bytes` (at least 64) are for each link. The same value on all
 * ranks: 0, or FB_ENOMEM (printed).
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

/* The members of struct fb_mover_ops that all movers over wires have in common. */
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

/* A transfer that this rank sends, or waits for. */
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

/* The answer to a GET of the peer. */
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
	struct fb_wire_queue queue; /* of jobs to send */
	size_t body;                /* not 0: the next message is this body, of the head's job */
	bool last;                  /* that body is the last one of the job */
	uint64_t sent, taken;       /* messages */
	bool headed;                /* `header` has come, but not yet its body */
	struct fb_wire_header header;
};

struct fb_wire_peer {
	struct fb_wire_link link[FB_WIRE_LANES];
	struct fb_wire_queue receives; /* RECVs in the order of posting */
	uint64_t arrived[FB_NOTICES + 1];
	uint64_t owed[FB_NOTICES + 1]; /* notices of GETs whose answers have not all left */
};

/* The region's number (NULL: the first free number); `regions` if there is none. */
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
 * Whether all messages of the link reach the peer without further calls: as its port says or, if
 * ports cannot say it, when the whole transport is idle.
 */
static inline bool fb_wire_settled(const struct fb_wire *wire, const struct fb_wire_link *link)
{
	if (link->out->ops->settled)
		return link->out->ops->settled(link->out);
	return !wire->idle || wire->idle(wire->transport);
}

/* Local: sends and receives once on all links. 0 or an error (printed). */
int fb_wire_progress(struct fb_wire *wire);

/*
 * Collective: waits until all messages that were sent on the first `lanes` links between ranks have
 * been taken; all links progress meanwhile. Returns the same on all ranks: 0, or the error that any
 * rank had now or in an earlier call. Only FB_ETIMEOUT may be returned on one rank alone; the
 * watchdog then ends the job.
 */
int fb_wire_settle(struct fb_wire *wire, int lanes);

/* Local: sends to the peer as much as its links take. */
void fb_wire_send(struct fb_wire *wire, struct fb_wire_peer *peer);

/* Local: takes the messages that have come from the peer. 0, FB_EPEER or FB_ENOMEM (printed). */
int fb_wire_receive(struct fb_wire *wire, int from);

#endif
