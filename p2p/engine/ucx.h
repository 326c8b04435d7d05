/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ucx engine's own structures. Internal to p2p/engine/ucx*.c.
 *
 * A rank has one context and one worker of its own, beside those that the MPI library may have.
 * Workers' addresses are exchanged through MPI when the engine is opened. Both ends create their
 * endpoints at the first job that needs them, and then exchange a message. UCX chooses and connects
 * its transports at the first message, so this does not happen within a measurement.
 *
 * UCX moves bytes only while a rank calls it, often on both sides. So every wait progresses the
 * worker, also on passive ends of put and get. A rank that has finished goes on with this until all
 * ranks have finished (settle); only then it waits in MPI or at a barrier.
 */
#ifndef FB_P2P_ENGINE_UCX_H
#define FB_P2P_ENGINE_UCX_H

#include "common/base/spin.h"
#include "p2p/engine/engine.h"
#include "common/library/ucx.h"

enum {
	FB_UCX_SHARES = 8,   /* memory that peers write to or read: kinds of segments, and cells */
	FB_UCX_REQUESTS = 4, /* at once: a job and its load */
	FB_UCX_AM_ID = 1,
};

/* What is asked of UCX; the column `protocol`. */
enum fb_ucx_verb { FB_UCX_TAG, FB_UCX_AM, FB_UCX_PUT, FB_UCX_GET, FB_UCX_VERBS };

/* Memory of each rank that its peers reach. */
struct fb_ucx_share {
	void *base; /* own */
	void *memh;
	uint64_t *bases; /* [nranks] */
	char *packed;	 /* all ranks' keys, one behind the other */
	int *at;	 /* [nranks + 1], where they begin */
};

/* To a peer. */
struct fb_ucx_link {
	void *ep; /* NULL: none yet */
	bool connected; /* has swapped a message with it */
	void *rkey[FB_UCX_SHARES];
	uint64_t flags_sent, flags_seen; /* put in ping-pong: messages, of all jobs */
};

/* Written by one peer: how many messages it has put. */
struct fb_ucx_cell {
	_Alignas(64) _Atomic uint64_t flag;
};

struct fb_ucx_request;

struct fb_ucx_engine {
	struct fb_p2p_engine engine;
	const struct fb_group *world;
	char reason[FB_REASON_CHARS]; /* why there is no UCX; empty: there is */
	struct fb_ucx ucx;
	void *context, *worker;
	bool cuda;	 /* UCX knows a GPU's memory */
	char *addresses; /* of all ranks' workers, one behind the other */
	int *address_at; /* [nranks + 1] */
	struct fb_ucx_link *links; /* [nranks] */
	struct fb_ucx_share share[FB_UCX_SHARES];
	int nshares;
	struct fb_ucx_cell *cells; /* [nranks], own, each written by that rank; or NULL */
	int cells_share;
	uint32_t serial; /* of requests, equal on all ranks */
	struct fb_ucx_request *live[FB_UCX_REQUESTS];
	fb_ucx_status failed; /* the error of a callback, below 0; 0: none */
	char *hello; /* bytes that are under way from and to new peers, or NULL */
	/*
	 * Rounds in which ranks agree while new peers connect: {error or 0, whether all its bytes
	 * have come} of this rank and of all ranks. -1: no value.
	 */
	int own[2], all[2];
};

/* In front of an active message. */
struct fb_ucx_header {
	uint32_t serial, flow;
	uint64_t message;
};

enum fb_ucx_role {
	FB_UCX_POSTS,	 /* sends, puts or gets */
	FB_UCX_RECEIVES, /* into posted receives */
	FB_UCX_ARRIVES,	 /* active messages, and ping-pong by put */
	FB_UCX_WAITS,	 /* the passive end of one-sided operations */
};

/* This rank's end of a flow. */
struct fb_ucx_end {
	struct fb_ucx_request *request;
	uint32_t index; /* of the flow */
	int peer;
	enum fb_ucx_role role;
	struct fb_ucx_link *link;
	char *local;	 /* message 0 here */
	uint64_t remote; /* and at the peer, for put and get */
	void *rkey;
	/* Messages since prepare: wanted, may be posted, posted, and complete. */
	uint64_t target, limit, posted, done;
	uint64_t depth; /* posted and not complete, at most */
	fb_ucx_pending *pending;       /* [depth] */
	struct fb_ucx_header *headers; /* [depth] */
};

struct fb_ucx_request {
	struct fb_p2p_request request;
	struct fb_ucx_engine *engine;
	const struct fb_job *job;
	enum fb_ucx_verb verb;
	uint32_t serial;
	bool announced; /* `ready` was called: not a load */
	struct fb_ucx_end *ends; /* [nends] in the order of flows */
	int nends;
	uint64_t completions; /* one-sided, same host: value that its counter has to reach */
	char path[FB_PATH_CHARS];
};

/* --- ucx_link.c: everything that concerns other ranks --------------------------------------- */

/* Collective. Context, worker and all addresses. The same error on all ranks (printed). */
int fb_ucx_start(struct fb_ucx_engine *e);

/* Collective. Ends what fb_ucx_start and the others began; safe after their errors. */
void fb_ucx_stop(struct fb_ucx_engine *e);

/*
 * Collective. Connects to those of the n peers that have no endpoint yet, who do the same. The
 * same error on all ranks (printed where it is found).
 */
int fb_ucx_connect(struct fb_ucx_engine *e, const int *peers, int n);

/*
 * Collective. Registers [base, base + bytes) and exchanges its keys, so that peers can put to it
 * and get from it until the engine is closed. Returns the index in `share`, or an error (< 0), the
 * same on all ranks (printed).
 */
int fb_ucx_share_memory(struct fb_ucx_engine *e, void *base, size_t bytes);

/* Local. The key to a peer's memory; 0 or FB_ESYS (printed). */
int fb_ucx_reach(struct fb_ucx_engine *e, int share, int peer, void **rkey);

/* Collective. Progresses the worker until all ranks have come. 0, or an error of waiting. */
int fb_ucx_barrier(struct fb_ucx_engine *e);

/* --- ucx_wait.c ------------------------------------------------------------------------------ */

/*
 * Progresses the worker once. An error (printed) of a callback, or if the time of --timeout has
 * passed.
 */
int fb_ucx_again(struct fb_ucx_engine *e, struct fb_spin *spin);

/* Waits for what `call` (for messages) returned, and frees it. 0 or an error (printed). */
int fb_ucx_wait(struct fb_ucx_engine *e, fb_ucx_pending pending, const char *call, int peer);

/* Tags of the engine's own messages and of data; `who` is the flow, or the sender's rank. */
enum fb_ucx_kind { FB_UCX_HELLO = 1, FB_UCX_DATA, FB_UCX_COMPLETE };

static inline uint64_t fb_ucx_tag(enum fb_ucx_kind kind, uint32_t serial, uint32_t who)
{
	return (uint64_t)kind << 56 | (uint64_t)(serial & 0xffffff) << 32 | who;
}

/* --- ucx_prepare.c ---------------------------------------------------------------------------- */

/* fb_p2p_engine_ops.prepare and release */
int fb_ucx_prepare(struct fb_p2p_engine *engine, const struct fb_case *c,
		   const struct fb_job *job, struct fb_p2p_request **request);
void fb_ucx_release(struct fb_p2p_request *request);

/* The verb of a protocol's name; FB_UCX_VERBS: there is none. */
enum fb_ucx_verb fb_ucx_verb_of(const char *protocol);

/* The protocols' names, ending in NULL. */
extern const char *const fb_ucx_verbs[];

/* --- ucx_am.c --------------------------------------------------------------------------------- */

/* Local. From now on active messages go to the live requests. 0 or FB_ESYS (printed). */
int fb_ucx_am_listen(struct fb_ucx_engine *e);

/* --- ucx_run.c -------------------------------------------------------------------------------- */

/* fb_p2p_engine_ops.ready, run and settle */
int fb_ucx_ready(struct fb_p2p_request *request, int calls);
int fb_ucx_run(struct fb_p2p_request *request, int calls);
int fb_ucx_settle(struct fb_p2p_request *request);

#endif
