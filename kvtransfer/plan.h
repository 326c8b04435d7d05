/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transfers of a KV cache from prefill ranks to decode ranks: pairs of ranks, each with a list
 * of runs (the descriptors of its transfer).
 *
 * Every decode rank gets each of its heads from one prefill rank. If several prefill ranks hold a
 * head (replicated heads), the decode ranks that need it are divided evenly among them.
 *
 * All regions (layer, K or V) have the same runs, so the list of one region serves for all. If
 * pages of several regions are contiguous in both layouts, and are moved whole, one list covers all
 * these regions, so that they become one run. fb_kv_span() is the number of regions that a list
 * covers. The number of descriptors is runs times regions / span.
 *
 * If elements in a page have another order on the other side, a run is one token of one head.
 */
#ifndef FB_KVTRANSFER_PLAN_H
#define FB_KVTRANSFER_PLAN_H

#include "kvtransfer/shape.h"

/* Bytes that are neighbours on both sides, as long as can be, or of one page each. */
struct fb_kv_run {
	uint64_t src, dst; /* behind the list's first region of the sender and of the receiver */
	uint64_t at;       /* offset in the list's packed regions: the sum of all runs before */
	uint64_t bytes;
};

/* How a pair's runs are divided into units: runs are never merged across units. */
enum fb_kv_cut {
	FB_KV_CUT_NONE,  /* all runs are one unit */
	FB_KV_CUT_RUN,   /* each run is one */
	FB_KV_CUT_BLOCK, /* the runs of a block */
	FB_KV_CUT_HEAD,  /* those of one head in a block */
	FB_KV_CUT_CHUNK, /* those of `chunk_tokens` tokens */
};

struct fb_kv_pair {
	uint32_t prefill, decode; /* indices in their groups */
	uint32_t head, heads;     /* which heads of the model */
	uint64_t region_bytes;    /* of all runs, in one region */
	uint64_t out_at, in_at;   /* its packed regions in the sender's and receiver's staging */
	struct fb_kv_run *run;    /* [runs]; NULL: not planned */
	uint32_t *unit;           /* [units + 1]: the first run of each, and `runs` */
	uint32_t runs, units, room; /* room: runs that there is memory for */
};

struct fb_kv_plan {
	struct fb_kv_shape shape;
	uint32_t *table[FB_KV_SIDES];   /* [fb_kv_blocks()] */
	int32_t *inverse[FB_KV_SIDES];  /* [fb_kv_pool()]: the block in a page, -1: none */
	struct fb_kv_pair *pair;        /* [pairs], rising in decode, then in head */
	uint32_t pairs;
	uint64_t out_bytes, in_bytes;   /* staging of the rank that needs most */
	enum fb_kv_cut cut;             /* of runs that are made from now on */
	uint32_t chunk_tokens;
	bool by_layer;                  /* so that lists are of one layer at most */
	bool apart; /* runs that are made from now on have bytes of one page each */
};

/* Whether pairs pass whole pages, in the same order on both sides. */
bool fb_kv_whole_pages(const struct fb_kv_shape *shape);

/* Returns the regions of a list: 1, those of a layer, or all. Reads shape, cut and by_layer. */
uint32_t fb_kv_span(const struct fb_kv_plan *plan);

/*
 * An estimate of a pair's runs in one region, if no pages of the tables are contiguous; and of its
 * pieces in all regions.
 */
double fb_kv_about_runs(const struct fb_kv_shape *shape);
double fb_kv_about_pieces(const struct fb_kv_plan *plan);

/* Pairs and tables, without runs. The shape divides. 0 or FB_ENOMEM (not printed). */
int fb_kv_plan_open(struct fb_kv_plan *plan, const struct fb_kv_shape *shape, uint64_t seed);

/* The runs and units of a pair, in place of those it has. 0 or FB_ENOMEM (not printed). */
int fb_kv_plan_runs(const struct fb_kv_plan *plan, struct fb_kv_pair *pair);

/* Safe on a zeroed structure. */
void fb_kv_plan_close(struct fb_kv_plan *plan);

#endif
