/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program serve. Requests of a trace arrive at a router, rank 0, at given times, however busy
 * the service is (open loop). Workers, all other ranks, compute prompts and generate tokens. Either
 * every worker does both (colocated), or some compute prompts and send their KV cache to the other
 * workers, which generate the tokens (disaggregated).
 *
 * Control messages are small MPI messages. A mover's PUT carries the cache, and its notice tells
 * the decode rank that the blocks have arrived. The router keeps account of all blocks, and gives
 * out a request only when its blocks are free, so a worker never waits for memory. A worker is one
 * thread. It computes a step (a chunk of a prompt, and a token of every running request), and then
 * looks for messages and progresses its mover.
 */
#ifndef FB_KVTRANSFER_SERVE_SERVE_H
#define FB_KVTRANSFER_SERVE_SERVE_H

#include "common/base/rng.h"
#include "common/base/sizes.h"
#include "common/measure/clock.h"
#include "common/run/program.h"
#include "kvtransfer/compute.h"
#include "kvtransfer/machine.h"
#include "kvtransfer/serve/account.h"
#include "kvtransfer/serve/knee.h"
#include "kvtransfer/serve/pool.h"
#include "kvtransfer/serve/trace.h"

enum fb_serve_operation {
	FB_SERVE_REPLAY,  /* the trace at a given rate */
	FB_SERVE_KNEE,	  /* the highest rate at which the objective is met */
	FB_SERVE_VERDICT, /* that rate of both modes, and their quotient */
	FB_SERVE_OPERATIONS,
};

enum fb_serve_mode { FB_SERVE_COLOCATED, FB_SERVE_DISAGGREGATED, FB_SERVE_MODES };

enum fb_serve_policy {
	FB_SERVE_ROUND_ROBIN,
	FB_SERVE_LEAST_LOADED, /* the worker with the fewest tokens to go */
	FB_SERVE_PREFIX,       /* the one whose cache has most of the prompt; if equal, as above */
	FB_SERVE_POLICIES,
};

extern const char *const fb_serve_operations[], *const fb_serve_policies[];

/* The values of the program's own options. */
struct fb_serve_settings {
	uint64_t models, operations, policies, arrivals; /* bits */
	struct fb_sizes prefill; /* workers that compute prompts only */
	const char *trace, *rates;
	const char *trace_out; /* folder of spans; NULL: none are written */
	double scale, reuse, cv, ttft_s, itl_s, attainment;
	uint64_t requests, block_tokens, chunk, most_batch, pool_blocks;
};

enum fb_serve_column {
	FB_SERVE_RATE,
	FB_SERVE_REQUESTS,
	FB_SERVE_INPUT_P50,
	FB_SERVE_OUTPUT_P50,
	FB_SERVE_TTFT_P50,
	FB_SERVE_TTFT_P95,
	FB_SERVE_TTFT_P99,
	FB_SERVE_TPOT_P50,
	FB_SERVE_ITL_P50,
	FB_SERVE_ITL_P95,
	FB_SERVE_ITL_P99,
	FB_SERVE_QUEUE_P50,
	FB_SERVE_QUEUE_P95,
	FB_SERVE_KV_P50,
	FB_SERVE_KV_SHARE,
	FB_SERVE_KV_BYTES,
	FB_SERVE_HIT_SHARE,
	FB_SERVE_ATTAINMENT,
	FB_SERVE_GOODPUT,
	FB_SERVE_TOKENS_PER_S,
	FB_SERVE_KNEE_RPS,
	FB_SERVE_KNEE_LOW,
	FB_SERVE_KNEE_HIGH,
	FB_SERVE_RATIO,
	FB_SERVE_RATIO_LOW,
	FB_SERVE_RATIO_HIGH,
	FB_SERVE_INTERFERENCE,
	FB_SERVE_INTERFERENCE_LOW,
	FB_SERVE_INTERFERENCE_HIGH,
	FB_SERVE_SAME_HOST,
	FB_SERVE_SAME_GPU,
	FB_SERVE_COLUMNS,
};

enum { FB_SERVE_NOTICE = 1, FB_SERVE_LISTS = 2 };

/* Lives as long as the run. Members are equal on all ranks but for pointers. */
struct fb_serve_state {
	struct fb_kv_machine machine; /* engine none has caches only, for workers that do both */
	const struct fb_serve_settings *own;
	/* Of the traces of replays [false] and of searches [true]; 0 if the run needs none. */
	uint32_t longest_input[2], longest_output[2], requests[2];
	double recorded_s; /* from the first request to the last one of replays, in the file */
};

/* Layers of a cache with equal pages: their regions follow each other in a worker's part. */
struct fb_serve_list {
	uint32_t regions;
	bool window;		 /* they need the last blocks of a prompt only */
	uint64_t page_bytes;	 /* of a block in a region */
	uint64_t region_bytes, at; /* at: of the first region in the part */
};

/* What a case asks for; from its keys. */
struct fb_serve_plan {
	enum fb_serve_operation operation;
	enum fb_serve_mode mode; /* of VERDICT: changes while it runs */
	enum fb_serve_policy policy;
	enum fb_arrivals arrivals;
	const struct fb_kv_model *model;
	struct fb_kv_shape shape;
	int workers, prefill; /* disaggregated: the first `prefill` workers compute prompts */
	double rate;
	uint32_t longest_input, longest_output; /* of the case's trace */
	uint32_t pool_blocks;	    /* of each worker */
	struct fb_serve_list list[FB_SERVE_LISTS];
	int lists;
	uint32_t regions; /* of all lists */
	uint64_t bytes;	  /* of a worker's cache */
};

/* --- cases.c ---------------------------------------------------------------------------------- */

int fb_serve_expand(struct fb_run *run, void *state);
bool fb_serve_can(void *state, const struct fb_case *c, char reason[FB_REASON_CHARS]);
void fb_serve_seconds(void *state, const struct fb_case *c, double *sample, double *other);
struct fb_kv_backend *fb_serve_engine_of(struct fb_serve_state *state, const struct fb_case *c);
struct fb_serve_plan fb_serve_plan_of(const struct fb_serve_state *state, const struct fb_case *c);

/* Local: the trace that replays, or searches, need. 0 or an error (printed). */
int fb_serve_trace(const struct fb_serve_settings *own, bool search, uint64_t seed,
		   struct fb_trace *trace);

/* --- control.c: messages between router and workers ------------------------------------------- */

enum fb_control_kind {
	FB_CONTROL_PREFILL,   /* router to worker: compute a prompt */
	FB_CONTROL_ARRIVING,  /* prefill to decode worker: its cache follows */
	FB_CONTROL_PREFILLED, /* worker to router */
	FB_CONTROL_SENT,      /* the prefill worker's blocks are free */
	FB_CONTROL_ARRIVED,   /* the decode worker has the cache */
	FB_CONTROL_TOKENS,    /* a token of each request in `list` */
	FB_CONTROL_CANCEL,    /* router: drop all requests, as the replay's outcome is decided */
	FB_CONTROL_DROPPED,   /* worker to router: that request has left this worker */
	FB_CONTROL_END,	      /* router: a replay is over; `output`: another one comes */
	FB_CONTROL_TIMES,     /* worker to router, after the last END of a run */
};

/* A header with a list of so many words. */
struct fb_control_header {
	uint32_t kind, request;
	uint32_t input, output;	 /* tokens */
	uint32_t blocks, held[2]; /* of the prompt; held by the prefill and the decode worker */
	int32_t decode;		 /* the decode worker's rank; own rank: it keeps the request */
	double compute_s;	 /* PREFILLED */
	double moved;		 /* ARRIVING, SENT: bytes */
	double with_s, without_s; /* TIMES: of the run, as fb_step_times_sum() has them */
	uint32_t words;
	uint32_t colocated;
};

/* Words after the header, for a prompt: blocks at both workers, and hashes in two halves. */
struct fb_control {
	struct fb_control_header header;
	uint32_t list[];
};

struct fb_control_channel {
	MPI_Comm comm;
	struct fb_control *received; /* the last one */
	size_t received_bytes;
	struct fb_outgoing *out;
};

int fb_control_open(struct fb_control_channel *c, const struct fb_group *world); /* collective */
/* Collective: waits until what was sent has left. */
void fb_control_close(struct fb_control_channel *channel);
/* Local: copies the message. 0 or FB_ENOMEM (printed). */
int fb_control_send(struct fb_control_channel *channel, int to,
		    const struct fb_control_header *header, const uint32_t *list);
/* Local: the next message, valid until the next call; *message NULL: there is none. */
int fb_control_receive(struct fb_control_channel *channel, const struct fb_control **message,
		       int *from);

static inline const uint32_t *fb_control_blocks(const struct fb_control *l, bool decode)
{
	return l->list + (decode ? l->header.blocks : 0);
}

static inline uint64_t fb_control_hash(const struct fb_control *l, uint32_t block)
{
	const uint32_t *at = l->list + 2 * l->header.blocks + 2 * block;

	return at[0] | (uint64_t)at[1] << 32;
}

/* --- blocks.c: what a cache is made of, and what of it is moved ------------------------------- */

/* Fills the lists of a plan whose other members are set. Pure. */
void fb_serve_lists(struct fb_serve_plan *plan);
/* The first block of a prompt of so many tokens that a decode worker needs of a list's layers. */
uint32_t fb_serve_first(const struct fb_serve_plan *plan, int list, uint32_t input);
/*
 * Makes the transfers of a prompt's cache, one for each list, each with a notice; the caller sets
 * their regions. They carry the blocks that the decode worker lacks. Layers with a window send all
 * blocks of the window, because the decode worker may hold a block from a longer prompt, whose
 * window lay behind this block. `piece` has room for `lists` times the prompt's blocks. Returns
 * the bytes of all transfers.
 */
uint64_t fb_serve_pieces(const struct fb_serve_plan *plan, const struct fb_control *message,
			 struct fb_piece *piece, struct fb_transfer transfer[FB_SERVE_LISTS]);

/* --- instance.c: one case, from setup to teardown -------------------------------------------- */

struct fb_serve_instance {
	struct fb_serve_state *state;
	const struct fb_case *key;
	struct fb_kv_backend *engine;
	bool automatic; /* the engine was chosen by the path table */
	struct fb_serve_plan plan;
	struct fb_kv_compute *compute; /* workers */
	struct fb_control_channel channel;
	struct fb_data data;	       /* the seed changes with each replay */
	struct fb_mismatch bad;
	struct fb_trace trace;	       /* router, and below */
	uint32_t count;		       /* the last replay had the first `count` of its requests */
	struct fb_served *served;
	struct fb_pool *pool;	       /* [workers] */
	struct fb_account account;
	double hit_tokens, all_tokens;
	double moved_bytes, moved; /* bytes sent so far; number of caches that were sent */
	struct fb_series knee, ratio, interference; /* of all runs that count */
	bool kneeless; /* in some run even the highest rate met the objective: no knee */
	double excess; /* the greatest fb_knee_excess() of these knees; 0 without one */
	struct fb_knee search[FB_SERVE_MODES];
	double known[FB_SERVE_MODES]; /* the knee of the previous search; 0 or NAN: none */
	unsigned searches;
	double until; /* router: when --max-time is over; no replay of a sample begins later */
	int whole, cut; /* router: samples that were carried out, and those that --max-time cut */
	bool sampling; /* the runs from now on are samples */
	struct fb_traits carried; /* workers: what the mover says of the first cache sent */
	int runs;
};

/*
 * The seed of arrivals, and of a search's first rates. Each run adds its number, so the seeds of
 * different launches and of the next --seed have to lie far apart.
 */
static inline uint64_t fb_serve_seed(const struct fb_serve_instance *i)
{
	const struct fb_settings *settings = i->state->machine.settings;

	return fb_mix64(settings->seed + (settings->launch_index << 32));
}

/*
 * content.c. Local: writes the blocks of a prompt from `first` on at this worker, which is its
 * prefill or its `decode` worker, or, if `bad` is not NULL, compares them and adds errors to *bad.
 * A block's content follows from its hash. Of layers with a window, a decode worker received only
 * the blocks of the window. 0 or an error (printed).
 */
int fb_serve_content(const struct fb_serve_instance *i, const struct fb_control *message,
		     bool decode, uint32_t first, struct fb_mismatch *bad);

int fb_serve_set_up(void *state, const struct fb_case *c, void **instance);
void fb_serve_tear_down(void *instance);
int fb_serve_run(void *instance, int calls);
bool fb_serve_begin_samples(void *instance);
size_t fb_serve_whole(void *instance, size_t runs);
/*
 * Restarts the watchdog's time after a replay, because a search has many replays, and --timeout is
 * meant for each of them. All ranks call it.
 */
void fb_serve_replayed(struct fb_serve_instance *i);
int fb_serve_check(void *instance, int calls, struct fb_mismatch *bad);
void fb_serve_describe(void *instance, struct fb_traits *traits);

/* router.c: rank 0's part of a run, of any operation; then all workers have ended. */
int fb_serve_route(struct fb_serve_instance *i);

/* worker.c: until the router says that the run is over. */
int fb_serve_work(struct fb_serve_instance *i);

#endif
