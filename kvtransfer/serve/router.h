/* SPDX-License-Identifier: BSD-3-Clause */
/* What the router's replays (router.c) and the operations made of them (search.c) share. */
#ifndef FB_KVTRANSFER_SERVE_ROUTER_H
#define FB_KVTRANSFER_SERVE_ROUTER_H

#include "common/base/spin.h"
#include "kvtransfer/serve/serve.h"

/* Where a request is. */
struct fb_place {
	uint32_t *block[2]; /* [blocks] at the prefill and the decode worker; equal if colocated */
	int worker[2];
	bool pinned[2];
};

struct fb_router {
	struct fb_serve_instance *i;
	struct fb_place *place; /* [requests] */
	double *load;	     /* [workers]: tokens to go */
	uint32_t *list;	     /* for a message */
	uint32_t due, given, ended; /* requests that have arrived, were given out, are done */
	uint32_t wanted; /* requests that will arrive: all, or only those given out once decided */
	bool decided;
	uint32_t judged; /* all requests before this one are judged */
	uint32_t met, missed; /* the objective, when they were counted; next time at `look` */
	double look;
	int turn[2];
	double with_s, without_s; /* of the workers that have said them */
	int told;
};

double fb_router_now(const struct fb_router *router);

/*
 * Handles a message, if there is one, and gives out requests. If there was nothing to do, it now
 * and then tells the watchdog what the router waits for (`doing`). 0 or an error (printed).
 */
int fb_router_turn(struct fb_router *router, struct fb_spin *spin, const char *doing);

/* Sends a message without a list to all workers. */
int fb_router_send_all(struct fb_router *router, const struct fb_control_header *header);

/*
 * Replays the trace at a rate, with the run's arrivals and empty caches. *share: the share of its
 * requests that met the objective. Unless `whole`, the replay ends as soon as it is decided whether
 * the share reaches --attainment; requests that are then unfinished count as having missed it.
 * Afterwards all workers are idle.
 */
int fb_router_replay(struct fb_router *router, double rate, bool whole, double *share);

/* How many requests a replay has: --requests; in a search more, if that would be too short. */
uint32_t fb_router_requests(const struct fb_router *router, double rate);

/* search.c: a run of any operation. */
int fb_router_run(struct fb_router *router);

#endif
