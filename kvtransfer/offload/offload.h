/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program offload: moves blocks of a paged KV cache from memory to a tier below it (evict) and
 * back (onboard). Operation ttft measures the time to first token of a request that has a share of
 * its blocks in the tier and has to compute the rest.
 *
 * Engine store has the cache in host memory and the tier in files (common/mover/store.h). Movers of
 * GPU memory have the cache there and the tier in pinned host memory. Each rank moves its own
 * blocks, all ranks at the same time.
 */
#ifndef FB_KVTRANSFER_OFFLOAD_OFFLOAD_H
#define FB_KVTRANSFER_OFFLOAD_OFFLOAD_H

#include "common/base/sizes.h"
#include "common/mover/store.h"
#include "common/run/program.h"
#include "kvtransfer/compute.h"
#include "kvtransfer/machine.h"

enum fb_tier_operation { FB_TIER_EVICT, FB_TIER_ONBOARD, FB_TIER_TTFT, FB_TIER_OPERATIONS };

/* The order in the tier: all layers of a block side by side, or all blocks of a layer. */
enum fb_tier_order { FB_TIER_BLOCK_FIRST, FB_TIER_LAYER_FIRST, FB_TIER_ORDERS };

/* "evict", ..., NULL and "block", "layer", NULL. */
extern const char *const fb_tier_operations[], *const fb_tier_orders[];

/* The values of the program's own options. */
struct fb_tier_settings {
	uint64_t models, operations, orders; /* bits */
	struct fb_sizes tokens, block_tokens, hit, depth, page_run, piece, count;
	const char *folder;    /* of files; NULL: $TMPDIR */
	const char *objects;   /* URL of an object store; NULL: none */
	uint64_t connections;  /* to the object store */
	const char *crossover; /* file to write the measured table to; NULL: none */
};

enum fb_tier_column {
	FB_TIER_BLOCKS,
	FB_TIER_PIECES,
	FB_TIER_PIECE_BYTES,
	FB_TIER_HIT_TOKENS,
	FB_TIER_RECOMPUTE_US,
	FB_TIER_REST_US,
	FB_TIER_SAVED_US,
	FB_TIER_BULK_US,
	FB_TIER_BREAKEVEN_TOKENS,
	FB_TIER_COLUMNS,
};

/* Lives as long as the run. */
struct fb_tier_state {
	struct fb_kv_machine machine;
	const struct fb_tier_settings *own;
	struct fb_crossing *crossing; /* [crossings] on rank 0, see crossover.c */
	size_t crossings;
};

/* The parameters of a case, from its keys. */
struct fb_tier_job {
	enum fb_tier_operation operation;
	enum fb_tier_order order;
	const struct fb_kv_model *model;
	struct fb_kv_shape shape;
	uint32_t hits;    /* blocks that are in the tier */
	unsigned depth;
	uint64_t page_bytes;
	uint64_t area;    /* bytes of one cache; a rank's memory has two of them in a row */
	bool crossover;   /* a list of equal pieces, not the cache of a model */
};

/* --- cases.c ---------------------------------------------------------------------------------- */

/* fb_program.expand and .can */
int fb_tier_expand(struct fb_run *run, void *state);
bool fb_tier_can(void *state, const struct fb_case *c, char reason[FB_REASON_CHARS]);

/*
 * The backend of a case, and its form: that of --algorithm, or with --engine auto that of the path
 * table; NULL: the mover chooses the form.
 */
struct fb_kv_backend *fb_tier_engine_of(struct fb_tier_state *state, const struct fb_case *c,
					const char **form);
struct fb_tier_job fb_tier_job_of(const struct fb_case *c);

/* --- tier.c: one case, from setup to teardown ------------------------------------------------- */

/* Blocks are evicted from the first cache and come back to the second one. */
enum { FB_TIER_OUT, FB_TIER_BACK, FB_TIER_CACHES };

struct fb_tier_instance {
	struct fb_tier_state *state;
	struct fb_kv_backend *engine;
	bool automatic; /* the engine was chosen by the path table */
	struct fb_tier_job job;
	const char *form; /* NULL: the mover chooses */
	uint32_t *table[FB_TIER_CACHES]; /* [blocks]: the page of a block */
	struct fb_piece *piece;  /* [most]: scratch for another list */
	struct fb_piece *pieces[FB_TIER_CACHES];
	struct fb_piece bulk;
	struct fb_move *move[FB_TIER_CACHES]; /* out: all blocks; back: those that hit */
	struct fb_kv_compute *compute; /* ttft only */
	struct fb_data data;
	uint64_t npieces[FB_TIER_CACHES];
	bool wrong;   /* a check found something */
	double bytes; /* of the timed move */
	double value[FB_TIER_COLUMNS];
};

int fb_tier_set_up(void *state, const struct fb_case *c, void **instance);
void fb_tier_tear_down(void *instance);
int fb_tier_prime(void *instance);
int fb_tier_run(void *instance, int calls);
int fb_tier_check(void *instance, int calls, struct fb_mismatch *bad);
void fb_tier_describe(void *instance, struct fb_traits *traits);
void fb_tier_summarise(void *instance, const double *samples_us, size_t n,
		       struct fb_traits *traits);

/*
 * --- crossover.c: which mover and form is the fastest for lists of equal pieces ------------------
 *
 * _open: checks that rank 0 can write the file; else FB_EINPUT (printed) on all ranks. _add: notes,
 * on rank 0, the time of a case if it belongs to the crossover. _write: collective, writes a table
 * of the lists for which at least two ways were measured, and frees the times.
 */
int fb_tier_crossover_open(const struct fb_tier_state *state);
void fb_tier_crossover_add(const struct fb_tier_instance *i, double us);
void fb_tier_crossover_write(struct fb_tier_state *state);

/* For ttft.c. The pieces of the first `blocks` blocks, in the tier's order; returns how many. */
uint64_t fb_tier_list(const struct fb_tier_instance *i, int cache, uint32_t blocks,
		      struct fb_piece *piece);
int fb_tier_prepare(const struct fb_tier_instance *i, enum fb_move_verb verb,
		    const struct fb_piece *piece, uint64_t n, struct fb_move **move);
double fb_tier_now_us(const struct fb_tier_instance *i);
/* Collective: the least time of at most `tries` moves, each with the time of its slowest rank. */
int fb_tier_fastest(const struct fb_tier_instance *i, struct fb_move *move, int tries, double *us);

/*
 * --- ttft.c ------------------------------------------------------------------------------------
 *
 * Collective: opens the computing, and measures its time without a tier, and the length of a prompt
 * from which on a tier is faster.
 */
int fb_tier_open_compute(struct fb_tier_instance *i);
uint32_t fb_tier_hit_tokens(const struct fb_tier_instance *i);

#endif
