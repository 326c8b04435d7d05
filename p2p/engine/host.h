/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host engine's own structures: a request is the ends of the job's flows that this rank has,
 * each with a function that moves its next piece. Internal to p2p/engine/host*.c.
 */
#ifndef FB_P2P_ENGINE_HOST_H
#define FB_P2P_ENGINE_HOST_H

#include "common/transport/shm.h"
#include "p2p/engine/engine.h"

struct fb_host_p2p {
	struct fb_p2p_engine engine;
	const struct fb_group *world;
	const struct fb_settings *settings;
	struct fb_transport *shm, *tcp; /* NULL until first needed */
	/*
	 * The request that ran last, or NULL if a request was prepared or released since then. Both
	 * ends of a flow run, prepare and release requests in the same order. So both know that
	 * while the same request runs again, its sockets hold no bytes of another request.
	 */
	const struct fb_host_p2p_request *last;
};

/* One end of a flow. */
struct fb_host_end {
	const struct fb_job *job;
	const struct fb_flow *flow;
	bool sends, tcp;
	struct fb_port *port;	/* NULL: the verb needs none */
	uint64_t target, done;	/* messages to be moved, and moved, since prepare */
	uint64_t posted;	/* direct, receiver: messages that the sender may write by now */
	uint64_t may_post;	/* the most that `posted` may become; at least `target` */
	uint64_t pulls;		/* split, sender: pulls by the receiver that must be done */
	size_t piece, offset;	/* bytes in a slot; bytes of the current message moved so far */
	int phase;		/* split: which part of the message comes next */
	char *memory;		/* where all messages lie at this end; NULL: not at one place */

	/*
	 * Moves what can be moved now without waiting; false: nothing could be. Counts finished
	 * messages in `done`. NULL: the passive end of a one-sided operation, which moves nothing.
	 */
	bool (*step)(struct fb_host_end *end);
};

struct fb_host_p2p_request {
	struct fb_p2p_request request;
	struct fb_host_p2p *engine;
	const struct fb_job *job;
	struct fb_host_end *ends; /* [nends], in the order of the flows */
	int nends;
	struct fb_port **shm_ports, **tcp_ports;
	int n_shm, n_tcp;
	bool runs; /* messages go over the socket without frames, see tcp_run.h */
	uint64_t completions; /* one-sided: value that this rank's counter has to reach by now */
};

/* Functions for fb_host_end.step whose messages have to be posted before. (host_step.c) */
bool fb_host_receive_user(struct fb_host_end *end); /* direct over tcp */
bool fb_host_pushed(struct fb_host_end *end);	    /* direct in shared memory */
bool fb_host_pull_half(struct fb_host_end *end);    /* split */

typedef bool (*fb_host_step_fn)(struct fb_host_end *end);

/* The one for an end of a flow of the case; NULL for a passive end. */
fb_host_step_fn fb_host_step(const struct fb_case *c, const struct fb_job *job, bool sends,
			     bool tcp);

/* The first byte of message k at this rank. */
char *fb_host_message(const struct fb_host_end *end, uint64_t k);

/* fb_p2p_engine_ops.run. (host_run.c) */
int fb_host_run(struct fb_p2p_request *request, int calls);

/* Direct and split, receiver: lets the sender send messages up to `may_post`. */
void fb_host_post(struct fb_host_end *end);

#endif
