/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program handoff: a request's KV cache moves from prefill to decode ranks, and each stage is
 * timed: building lists, posting, until the sender may reuse its memory, until the receiver has
 * been notified. Operation reshard moves one request between groups of different tensor
 * parallelism, fan moves a request from each of some senders to each of some receivers.
 *
 * Operation handover also moves a request between two groups, which may be on the same ranks. It
 * measures calls back to back without stages: direct, packed, or layer by layer (handover.c,
 * job.h). The program kv_reshard has only this operation.
 *
 * The operation fit measures one pair of ranks with many numbers and sizes of pieces and says what
 * a transfer, a piece and a byte cost: time = a + b pieces + bytes / rate.
 */
#ifndef FB_KVTRANSFER_HANDOFF_HANDOFF_H
#define FB_KVTRANSFER_HANDOFF_HANDOFF_H

#include "common/base/sizes.h"
#include "common/record/key.h"
#include "common/run/program.h"
#include "kvtransfer/beside.h"
#include "kvtransfer/carrier.h"
#include "kvtransfer/handoff/clock.h"
#include "kvtransfer/handoff/notify.h"
#include "kvtransfer/model.h"
#include "kvtransfer/pages.h"
#include "kvtransfer/staging.h"
#include "kvtransfer/wire.h"

enum fb_handoff_operation {
	FB_HANDOFF_RESHARD,
	FB_HANDOFF_FAN,
	FB_HANDOFF_FIT,
	FB_HANDOFF_HANDOVER,
};

/* Where the ranks of a handover's two groups are. */
enum fb_kv_placement {
	FB_KV_AUTO,     /* disjoint if there are enough ranks, else shifted */
	FB_KV_DISJOINT, /* decode ranks behind the prefill ranks */
	FB_KV_SHARED,   /* index i of both groups is rank i */
	FB_KV_SHIFTED,  /* decode index i is rank i + half of all ranks (modulo) */
};

enum fb_handoff_grain {
	FB_GRAIN_REQUEST,
	FB_GRAIN_LAYER,
	FB_GRAIN_RUN,	      /* of pages, through all layers */
	FB_GRAIN_BLOCK,	      /* through all layers */
	FB_GRAIN_LAYER_BLOCK, /* of a layer */
	FB_GRAIN_HEAD_SLICE,  /* a head of a block of a layer */
	FB_GRAIN_CHUNK,	      /* so many tokens, through all layers */
	FB_GRAINS
};

/* Notices. Of PUTs: bytes have come, receiver is ready. Of GETs: pages were read, may be read. */
enum { FB_NOTE_PUT = 1, FB_NOTE_FREE, FB_NOTE_GOT, FB_NOTE_READY };

extern const char *const fb_handoff_operations[], *const fb_handoff_grains[];
extern const char *const fb_handoff_algorithms[]; /* verbs; then fb_kv_modes, of handover */
extern const char *const fb_kv_placements[], *const fb_handoff_builds[];
extern const char *const fb_handoff_forms[]; /* of all movers; the first: the mover's usual one */
extern const char *const fb_stream_starts[], *const fb_handoff_contents[],
	*const fb_handoff_besides[], *const fb_handoff_coalesces[], *const fb_handoff_notifies[];

/* The values of the program's own options. */
struct fb_handoff_settings {
	uint64_t models, operations, layouts, decode_layouts, grains, verbs; /* bits */
	uint64_t builds, registers, notifies;
	struct fb_sizes tokens, block_tokens, prefill, decode, page_run, decode_run, churn;
	struct fb_sizes flight, layers, kv_heads, head_dim; /* 0: the model's */
	struct fb_sizes staging_bytes, chunk_tokens;
	uint64_t contents, wires, forms, placements, stagings, besides, coalesces; /* bits */
	const char *trace_out; /* of handoff: folder of spans; NULL: none are written */
	void (*spoil)(struct fb_kv_job *job); /* tests: a mistake for each plan; or NULL */
};

/* A program name, and how it differs from handoff. */
struct fb_handoff_name {
	const char *name, *summary;
	const struct fb_default *defaults; /* of common options */
	const struct {
		const char *option, *name, *fallback; /* of handoff; NULL: as there */
	} *own;					      /* ending in NULL; or NULL */
	void (*spoil)(struct fb_kv_job *job);
};
extern const struct fb_handoff_name fb_handoff_kv_reshard;

/* The whole of main(). */
int fb_handoff_main(const struct fb_handoff_name *as, int argc, char **argv);

/* The programs' own axes, of handoff and stream (FB_OWN); FB_KEY_NONE where a case has not. */
struct fb_handoff_keys {
	uint64_t beside, block, build, chunk, coalesce, content, decode, decode_layout, form, grain;
	uint64_t layout, model, notify, others, page_run, placement, prefill, registers, staging;
	uint64_t start, tokens, wire; /* form: an index in fb_handoff_forms */
	/* Instead of the model's: dim, heads, layers. */
	uint32_t churn, chunk_tokens, decode_run, dim, flight, heads, layers;
};
extern const struct fb_key fb_handoff_keys[];

/* --- keys.c ----------------------------------------------------------------------------------- */

/* All of them FB_KEY_NONE. */
void fb_handoff_keys_clear(struct fb_handoff_keys *keys);
/* The enum fb_kv_mode of an algorithm, or -1: it is a verb. */
int fb_handoff_mode_of(const char *algorithm);
/* The keys of one element of fb_handoff_expand's product; fit has none. */
void fb_handoff_put_keys(const struct fb_handoff_settings *own, const size_t *at, uint64_t ranks,
			 struct fb_case *c);

enum fb_handoff_column {
	FB_HANDOFF_MOVES,
	FB_HANDOFF_PIECES,
	FB_HANDOFF_PIECE_BYTES,
	FB_HANDOFF_WIRE_BYTES,
	FB_HANDOFF_REGISTER_US,
	FB_HANDOFF_BUILD_US,
	FB_HANDOFF_PACK_US,
	FB_HANDOFF_POST_US,
	FB_HANDOFF_DONE_US,
	FB_HANDOFF_VISIBLE_US,
	FB_HANDOFF_NOTICE_US,
	FB_HANDOFF_NOTIFIED_US,
	FB_HANDOFF_UNPACK_US,
	FB_HANDOFF_WIRE_US,
	FB_HANDOFF_TOTAL_US,
	FB_HANDOFF_P90_US,
	FB_HANDOFF_P95_US,
	FB_HANDOFF_P99_US,
	FB_HANDOFF_P999_US,
	FB_HANDOFF_TOTAL_GBPS,
	FB_HANDOFF_WIRE_GBPS,
	FB_HANDOFF_CPU_S_PER_GIB,
	FB_HANDOFF_SM_S_PER_GIB,
	FB_HANDOFF_QUANTISE_ERROR,
	FB_HANDOFF_BESIDE_LAYERS,
	FB_HANDOFF_A_US,
	FB_HANDOFF_A_LOW_US,
	FB_HANDOFF_A_HIGH_US,
	FB_HANDOFF_B_NS,
	FB_HANDOFF_B_LOW_NS,
	FB_HANDOFF_B_HIGH_NS,
	FB_HANDOFF_RATE_GBPS,
	FB_HANDOFF_RATE_LOW_GBPS,
	FB_HANDOFF_RATE_HIGH_GBPS,
	FB_HANDOFF_BREAKEVEN_BYTES,
	FB_HANDOFF_PAIR_PIECES,
	FB_HANDOFF_PAIRS,
	FB_HANDOFF_CROSSING,
	FB_HANDOFF_PLAN_US,
	FB_HANDOFF_TRANSFER_US,
	FB_HANDOFF_CLOCK_ERROR_US,
	FB_HANDOFF_COLUMNS,
};

/* Lives as long as the run. Members are equal on all ranks but for pointers. */
struct fb_handoff_state {
	struct fb_kv_machine machine;
	const struct fb_handoff_settings *own; /* of handoff; stream's begin with them */
	uint64_t cases;			       /* that were set up */
};

/* What a case asks for; from its keys. */
struct fb_handoff_plan {
	enum fb_handoff_operation operation;
	bool by_layer; /* a move covers one layer, else all layers */
	enum fb_kv_cut cut; /* and one unit of this kind (plan.h) */
	uint32_t chunk_tokens;
	enum fb_kv_wire wire;
	enum fb_kv_staging staging;
	uint64_t chunk; /* bytes of a copy of pipelined */
	enum fb_kv_mode mode; /* of handover */
	enum fb_kv_placement placement;
	const char *form; /* NULL: the mover's usual one */
	const struct fb_kv_model *beside; /* model that ranks compute meanwhile; NULL: none */
	/* Each request registers its memory; contiguous pages are separate pieces all the same. */
	bool registers, apart;
	enum fb_handoff_notify notify;
	bool get, send, cold; /* neither get nor send: put */
	struct fb_kv_shape shape; /* of all layers; tp: senders and receivers */
	struct fb_kv_shape list[FB_KV_LISTS]; /* [lists]: what moves, by layers with equal pages */
	int lists, flight;		      /* flight: requests at once */
	const char *unlike;		      /* why layers cannot be streamed, or NULL */
};

/* The part of a message that one move carries: a whole message, except with staging pipelined. */
struct fb_handoff_chunk {
	uint32_t packing; /* index of its message */
	bool first, last; /* of that */
	char *device, *host; /* staged: this rank's end of it */
	uint64_t bytes;
};

/* A list of pieces between two ranks, and the moves that carry it. */
struct fb_handoff_link {
	int from, to;
	struct fb_piece *piece; /* [pieces * copies] */
	uint64_t pieces;	/* of all moves together, in one region if repeated */
	struct fb_transfer *transfer; /* [moves]: of who posts */
	struct fb_move **move;	      /* [moves]; NULL: built in each call */
	struct fb_move *note;	      /* FREE or READY; of the first link of a pair */
	struct fb_move *last;	      /* the same; of --notify last */
	bool follows, said; /* an earlier link has the same ranks; this call's notice was sent */
	uint64_t count_base, note_base; /* notices before this case */
	uint64_t bytes, from_at, to_at; /* all of it; where both ends' pages begin */
	uint64_t wire_bytes;		/* of all moves: less where pages are quantised */
	uint32_t moves, open;
	struct fb_kv_packing *packing; /* [packings]: this rank's end; NULL: moves carry pages */
	struct fb_handoff_chunk *chunk; /* [moves] of packings */
	uint32_t packings;
	uint64_t moves_before;	       /* moves of earlier links between the same two ranks */
	uint32_t unpacked;	       /* moves of this call that are in the receiver's pages */
	uint64_t come;		       /* receivers: messages of this call that have arrived */
	uint64_t told;		       /* receivers: the last call that is known to have arrived */
	const struct fb_kv_job *job;   /* the job of which this is a pair */
	const struct fb_kv_pair *pair;
	unsigned char *hidden;	       /* receivers, watched: [repeats][runs], see watch.c */
};

/* The moments of a call, in seconds; NAN: this rank has no such moment. */
struct fb_handoff_times {
	double begin;	      /* senders: the pages are ready to be sent */
	double build, post;   /* durations, on the rank that posts */
	double registered;    /* duration, on senders, if requests register memory */
	double pack, unpack;  /* durations, on senders and on receivers */
	double released;      /* senders: their pages may be overwritten again */
	double visible;	      /* receivers, if watched: the last byte of each run is in its page */
	double notified;      /* receivers: they have been notified, or their own moves are done */
	double usable;	      /* receivers: notified, and all is unpacked into their pages */
};

enum fb_handoff_stage {
	FB_STAGE_BEGIN,
	FB_STAGE_REGISTER,
	FB_STAGE_BUILD,
	FB_STAGE_PACK,
	FB_STAGE_POST,
	FB_STAGE_RELEASED,
	FB_STAGE_VISIBLE,
	FB_STAGE_NOTIFIED,
	FB_STAGE_UNPACK,
	FB_STAGE_USABLE,
	FB_STAGES
};

struct fb_handoff_instance {
	struct fb_handoff_state *state;
	const struct fb_case *key;
	struct fb_kv_backend *engine;
	bool automatic; /* the engine was chosen by the path table */
	struct fb_handoff_plan plan;
	const struct fb_kv_pages_ops *pages;
	struct fb_kv_job *job; /* [jobs] */
	int jobs;
	struct fb_handoff_link *link; /* [links]: those that this rank has a part in */
	int links;
	bool posts, waits; /* this rank, of some link */
	bool receives;	   /* it is the receiver of all its links, else their sender */
	struct fb_handoff_times *times; /* [calls, rounded up to a power of two] */
	size_t calls;
	uint64_t handed; /* requests, since setup */
	double cpu_s;	 /* of this process, in calls */
	double sm_s;	 /* of this rank's multiprocessors, in a call */
	bool watches;	 /* calls in which receivers look at their pages (watch.c) */
	bool early;	 /* in one of them this rank was notified before its bytes were there */
	struct {
		int link;
		uint32_t repeat, run;
	} seen; /* in this call: all runs before */
	struct fb_handoff_clock clock;
	double worst;	 /* relative error of quantised elements */
	double bulk_us, bytes, value[FB_HANDOFF_COLUMNS];
	struct fb_kv_beside *beside; /* NULL: nothing is computed, or this rank has no part */
	double fastest_s;	     /* of requests on this rank; 0: none so far */
	struct fb_data data; /* fit */
	struct fb_fit *fit;
	const struct fb_kv_carrier *carrier; /* of handover */
	struct fb_kv_request *request;
	struct fb_kv_stage *stage; /* staged: copies of this rank */
};

/* --- cases.c ---------------------------------------------------------------------------------- */

int fb_handoff_open(struct fb_run *run, void **state); /* fb_program.open */
int fb_handoff_expand(struct fb_run *run, void *state);
bool fb_handoff_can(void *state, const struct fb_case *c, char reason[FB_REASON_CHARS]);
struct fb_kv_backend *fb_handoff_engine_of(struct fb_handoff_state *state,
					       const struct fb_case *c);
struct fb_handoff_plan fb_handoff_plan_of(const struct fb_case *c);
/* True if the engine lacks the plan's verb where "all" was asked, or its mode: it gets no row. */
bool fb_handoff_lacks(const struct fb_handoff_state *state, const struct fb_kv_backend *e,
		      const struct fb_handoff_plan *p);

/* --- instance.c: one case, from setup to teardown --------------------------------------------- */

int fb_handoff_set_up(void *state, const struct fb_case *c, void **instance);
/* Also measures what needs extra requests (watch.c), for programs that report it. */
int fb_handoff_set_up_watched(void *state, const struct fb_case *c, void **instance);
void fb_handoff_tear_down(void *instance);
int fb_handoff_prime(void *instance);
int fb_handoff_check(void *instance, int calls, struct fb_mismatch *bad);
bool fb_handoff_counts(void *instance);
/* Collective, not timed: deregisters the memory, which no move may use. */
int fb_handoff_forget(struct fb_handoff_instance *i);
/* Collective: registers the memory again, which is a sender's first stage. */
int fb_handoff_register(struct fb_handoff_instance *i, struct fb_handoff_times *t);

/* Seconds. */
double fb_handoff_now(const struct fb_handoff_instance *i);

/* --- call.c: a request's way ------------------------------------------------------------------ */

int fb_handoff_run(void *instance, int calls);
/* Moves of all links between the link's two ranks. */
uint64_t fb_handoff_pair_moves(const struct fb_handoff_instance *i,
			       const struct fb_handoff_link *link);
/*
 * Gathers a move's message (on the sender, before it posts or lets the receiver read), or scatters
 * it (on the receiver, when it has arrived). Does nothing if moves carry pages.
 */
int fb_handoff_repack(const struct fb_handoff_instance *i, const struct fb_handoff_link *link,
		      uint32_t move);
/* One request, the `call`th since the bases of the links' notices. An error ends the job. */
void fb_handoff_once(struct fb_handoff_instance *i, uint64_t call);
int fb_handoff_await_leave(const struct fb_handoff_instance *i, uint64_t call);
/* Whether this rank posts the link's moves, as both ends of a SEND do, or gets notices. */
bool fb_handoff_posts(const struct fb_handoff_instance *i, const struct fb_handoff_link *link);
bool fb_handoff_waits(const struct fb_handoff_instance *i, const struct fb_handoff_link *link);

/* --- watch.c: what is measured in requests of its own -------------------------------------- */

/* Whether the last bytes of all runs have arrived at this receiver; puts other bytes there. */
bool fb_handoff_seen(struct fb_handoff_instance *i);
void fb_handoff_hide(struct fb_handoff_instance *i);
/* Collective: when bytes are visible, and the multiprocessors' time, as far as either is known. */
int fb_handoff_watch(struct fb_handoff_instance *i);

/* --- describe.c ------------------------------------------------------------------------------- */

void fb_handoff_describe(void *instance, struct fb_traits *traits);
/*
 * Collective: [FB_STAGES][calls] in s of rank 0's clock: when the first rank began (negated), and
 * for other stages the moment of the last rank; -HUGE_VAL if no rank has one. [calls] numbers of
 * scratch space follow. The caller frees it; NULL on all ranks: out of memory.
 */
double *fb_handoff_reduce(const struct fb_handoff_instance *i);
/* Median and its 95% interval, NAN where there are too few. */
void fb_handoff_interval(const double *x, size_t n, double value[3]);

/* --- links.c: lists and moves ----------------------------------------------------------------- */

int fb_handoff_jobs_open(struct fb_handoff_instance *i);
void fb_handoff_jobs_close(struct fb_handoff_instance *i);
/* Local: the links of this rank. 0 or an error (printed). */
int fb_handoff_links_open(struct fb_handoff_instance *i);
void fb_handoff_links_close(struct fb_handoff_instance *i);
/* Local: a link's moves, where they are built anew; and their release. */
int fb_handoff_build(const struct fb_handoff_instance *i, struct fb_handoff_link *link);
void fb_handoff_unbuild(const struct fb_handoff_instance *i, struct fb_handoff_link *link);

/*
 * Local: replaces moves of a link's pages by moves of messages, which follow each other in memory,
 * and prepares this rank's end of each message. 0 or an error (printed).
 */
int fb_handoff_messages(const struct fb_handoff_instance *i, const struct fb_kv_job *job,
			const struct fb_kv_pair *pair, struct fb_handoff_link *link);
/* Bytes of host memory that a staged case needs in addition; 0: the case is not staged. */
uint64_t fb_handoff_stage_bytes(const struct fb_handoff_plan *plan);
/* Bytes that a case needs in each rank's part, equal on all ranks; and bytes of all caches. */
uint64_t fb_handoff_part_bytes(const struct fb_handoff_plan *plan);
uint64_t fb_handoff_bytes(const struct fb_handoff_plan *plan);

/* --- handover.c ------------------------------------------------------------------------------ */

/* The job of a plan without runs, segment and data; as fb_kv_job_open. */
int fb_handover_job(const struct fb_handoff_plan *plan, int rank, int nranks,
		    struct fb_kv_job *job);
/* Collective: plan, request, and the times of its phases. */
int fb_handover_open(struct fb_handoff_instance *i);
void fb_handover_close(struct fb_handoff_instance *i);
void fb_handover_describe(struct fb_handoff_instance *i, struct fb_traits *traits);

#endif
