/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model of times by number of ranks, fitted to measured rows. It is the cost model of
 * collectives/tuning/price.h, with rates fitted to rows in place of assumed orders of magnitude:
 *
 *	time = start + messages(n) * a message's time + blocks(n) * block bytes * a byte's time
 */
#ifndef FB_SCRIPTS_TOOLS_PREDICT_PREDICT_H
#define FB_SCRIPTS_TOOLS_PREDICT_PREDICT_H

#include "collectives/algorithm/algorithm.h"
#include "collectives/tuning/price.h"
#include "scripts/tools/lib/cells.h"

/* A job as the model sees it: its ranks, `each` of them on a node; 0: all on one node. */
struct fb_job {
	int ranks, each;
};

/* The job that a row was measured in; 0 ranks if its nodes have different numbers of ranks. */
struct fb_job fb_job_of(const struct fb_cell *cell);

/* One measured time. */
struct fb_model_time {
	struct fb_price price; /* of its ranks and nodes */
	double block_bytes, us;
	int ranks;
};

/* All times of one algorithm, protocol, engine and so on, and what was fitted to them. */
struct fb_model_series {
	const struct fb_cell *cell; /* its first one, for the keys. Borrowed */
	const struct fb_algorithm *algorithm;
	bool direct;
	struct fb_model_time *time; /* [count] */
	size_t count;
	double us[3];	     /* of the start, of a message, of a byte */
	double error, worst; /* |model / measured - 1|: median, and the greatest */
	/*
	 * The errors at the most ranks of a fit without the rows of the most ranks. NAN: there is
	 * one number of ranks, or the rows of fewer ranks are too few for a fit.
	 */
	double held_error, held_worst;
	int least_ranks, most_ranks;
	uint64_t least_bytes, most_bytes;
};

/* A price that was computed, kept so that it is computed once. */
struct fb_model_price {
	const struct fb_algorithm *algorithm;
	bool direct;
	struct fb_job job;
	int err;
	struct fb_price price;
};

struct fb_model {
	struct fb_model_series *series; /* [count] */
	size_t count;
	struct fb_model_price *price; /* [prices] */
	size_t prices;
};

/* Fits all series of collectives with at least four times. */
void fb_model_fit(struct fb_model *model, const struct fb_cells *cells);

/* Whether two cells differ in nothing but their ranks, nodes and sizes. */
bool fb_model_alike(const struct fb_cell *a, const struct fb_cell *b);

/*
 * The model's time in us for `bytes` (as in the column) on a job; NAN: it cannot be priced, as with
 * ranks that do not fill their nodes.
 */
double fb_model_us(struct fb_model *model, const struct fb_model_series *series, uint64_t bytes,
		   struct fb_job job);

/*
 * The expected maximum of so many independent draws from x[0 .. count), which is sorted. With more
 * draws than values it is a lower bound: nothing worse than the worst value is known.
 */
double fb_expected_maximum(const double *x, size_t count, double draws);

#endif
