/* SPDX-License-Identifier: BSD-3-Clause */
/* Prices of algorithms; see price.h. */
#include "collectives/tuning/price.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "common/base/error.h"
#include "common/plan/check.h"
#include "collectives/tuning/solve.h"

enum { SLOTS = 8, CUTS = 8 }; /* the host engine cuts what is forwarded into as many pieces */

/*
 * Orders of magnitude only: what counts is that ll has the least latency and moves every byte
 * twice, ll128 almost so, and direct links copy once. Nobody measured tma and striped: they never
 * win, and are there for those who ask for them. By [on a GPU].
 */
static const struct fb_link_cost costs[2][6] = {
	{{"ll", 0.3, 2e3}, {"ll128", 0.4, 4e3}, {"direct", 0.5, 8e3}, {"simple", 0.6, 5e3},
	 {"tma", 0.6, 8e3}, {"striped", 0.6, 8e3}},
	{{"ll", 1.0, 120e3}, {"ll128", 1.2, 300e3}, {"direct", 3, 350e3}, {"simple", 3, 300e3},
	 {"tma", 4, 350e3}, {"striped", 4, 350e3}},
};

bool fb_protocol_is_direct(const char *protocol)
{
	return !strcmp(protocol, "direct") || !strcmp(protocol, "tma") ||
	       !strcmp(protocol, "striped");
}

const struct fb_link_cost *fb_link_cost(bool device, const char *protocol)
{
	for (size_t i = 0; i < sizeof(costs[0]) / sizeof(costs[0][0]); i++)
		if (!strcmp(costs[device][i].protocol, protocol))
			return &costs[device][i];
	return NULL;
}

/* Time on the longest chain, for a slice of a block in each of `slices` pieces. */
static int chain(const struct fb_algorithm *algorithm, const struct fb_shape *shape, bool direct,
		 int slices, double alpha_us, double block_us, double *time_us)
{
	double split = algorithm->split ? algorithm->split(shape) : 1;
	const struct fb_check_options options = {
		.slots = SLOTS, .slices = slices, .runs = 1, .no_clocks = true,
		.alpha_us = alpha_us, .unit_us = block_us / split / slices,
	};
	struct fb_check_report report;
	int err = fb_check(algorithm, shape, direct ? FB_ALL_DIRECT_LINKS : FB_NO_DIRECT_LINKS,
			   &options, &report);

	*time_us = report.time_us;
	return err;
}

/* Computes the price from the plans of all ranks. */
static int price_plans(const struct fb_algorithm *algorithm, const struct fb_shape *shape,
		       bool direct, struct fb_price *price)
{
	struct fb_price made = {0};
	const struct {
		int slices;
		double alpha_us, block_us, *result;
	} questions[] = {
		{1, 1, 0, &made.messages}, {1, 0, 1, &made.blocks},
		{CUTS, 1, 0, &made.cut_messages}, {CUTS, 0, 1, &made.cut_blocks},
	};

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		int err = chain(algorithm, shape, direct, questions[i].slices,
				questions[i].alpha_us, questions[i].block_us, questions[i].result);

		if (err)
			return err;
	}
	*price = made;
	return FB_OK;
}

/* The terms of which docs/algorithms.md makes steps and bytes: 1, n, log n and 1/n. */
static double term(int which, double n)
{
	const double terms[] = {1, n, ceil(log2(n)), 1 / n};

	return terms[which];
}

/* Prices of 2^k nodes (or ranks of one node), the most first; see fb_price. */
enum { POINTS_MOST = FB_SOLVE_MOST + 1, POINTS_LEAST = FB_SOLVE_MOST - 1 };
struct points {
	int count;
	double at[POINTS_MOST];
	struct fb_price price[POINTS_MOST];
};

static double value_of(const struct points *points, size_t field, int i)
{
	double value;

	memcpy(&value, (const char *)&points->price[i] + field, sizeof(value));
	return value;
}

/* Through `count` points from `first` on, with as many terms. */
static double through(const struct points *points, size_t field, int first, int count, double n)
{
	double a[FB_SOLVE_MOST][FB_SOLVE_MOST], b[FB_SOLVE_MOST], x[FB_SOLVE_MOST], sum = 0;

	for (int i = 0; i < count; i++) {
		for (int k = 0; k < count; k++)
			a[i][k] = term(k, points->at[first + i]);
		b[i] = value_of(points, field, first + i);
	}
	if (!fb_solve(a, b, count, x))
		return (double)NAN;
	for (int k = 0; k < count; k++)
		sum += x[k] * term(k, n);
	return sum;
}

/*
 * Where the points before the last one do not lead to it, the terms are not those of the algorithm:
 * then a line through the last two.
 */
static double extend(const struct points *points, size_t field, double n)
{
	int count = points->count < FB_SOLVE_MOST ? points->count : FB_SOLVE_MOST;
	double last = value_of(points, field, 0);

	if (points->count > POINTS_LEAST &&
	    !(fabs(through(points, field, 1, points->count - 1, points->at[0]) - last) <=
	      0.1 * last))
		count = 2;
	return through(points, field, 0, count, n);
}

/* `each` ranks on each of so many nodes, as in the shape that is wanted. */
static int price_point(const struct fb_algorithm *algorithm, const struct fb_shape *shape,
		       bool direct, int each, int nodes, struct fb_price *price)
{
	int node_of[FB_PRICE_MODEL_RANKS], local[FB_PRICE_MODEL_RANKS];
	const struct fb_topology topology = {.nranks = each * nodes, .nnodes = nodes,
					     .node_of = node_of, .local_rank_of = local};
	struct fb_shape less = *shape;

	for (int r = 0; r < each * nodes; r++) {
		node_of[r] = r / each;
		local[r] = r % each;
	}
	less.nranks = each * nodes;
	less.root = 0;
	less.topology = shape->topology && shape->topology->nnodes > 1 ? &topology : NULL;
	return price_plans(algorithm, &less, direct, price);
}

/* Extrapolates the price from the largest numbers of ranks that plans are built for. */
static int price_many(const struct fb_algorithm *algorithm, const struct fb_shape *shape,
		      bool direct, struct fb_price *price)
{
	int nodes = shape->topology ? shape->topology->nnodes : 1, last = 2;
	int each = nodes > 1 ? shape->nranks / nodes : 1;
	double n = (double)shape->nranks / each;
	struct points points = {0};

	if (nodes > 1 && each * nodes != shape->nranks)
		return FB_EUNSUPPORTED;
	while (2 * last * each <= FB_PRICE_MODEL_RANKS)
		last *= 2;
	for (int x = last; x >= 2 && x * each <= FB_PRICE_MODEL_RANKS &&
	     points.count < POINTS_MOST; x /= 2) {
		int err = price_point(algorithm, shape, direct, each, x,
				      &points.price[points.count]);

		if (err)
			return err;
		points.at[points.count++] = x;
	}
	if (points.count < POINTS_LEAST)
		return FB_EUNSUPPORTED;
	*price = (struct fb_price){
		.messages = extend(&points, offsetof(struct fb_price, messages), n),
		.blocks = extend(&points, offsetof(struct fb_price, blocks), n),
		.cut_messages = extend(&points, offsetof(struct fb_price, cut_messages), n),
		.cut_blocks = extend(&points, offsetof(struct fb_price, cut_blocks), n),
	};
	return FB_OK;
}

int fb_price(const struct fb_algorithm *algorithm, const struct fb_shape *shape, bool direct,
	     struct fb_price *price)
{
	return shape->nranks > FB_PRICE_MOST_RANKS ? price_many(algorithm, shape, direct, price)
						   : price_plans(algorithm, shape, direct, price);
}

double fb_price_us(const struct fb_price *price, const struct fb_link_cost *cost,
		   double block_bytes)
{
	double block_us = block_bytes / cost->bytes_per_us;

	return fmin(price->messages * cost->message_us + price->blocks * block_us,
		    price->cut_messages * cost->message_us + price->cut_blocks * block_us);
}
