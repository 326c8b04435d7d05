/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One product with its collective, cut into one block for each rank. gather_gemm begins with the
 * block that needs no data of other ranks, gemm_scatter with the blocks for which other ranks wait.
 * So blocks move while products run, and each product has as many rows as a rank has tokens (over
 * --chunks).
 */
#include <stdlib.h>

#include "common/base/error.h"
#include "overlap/schedule/tensor.h"

/* Moves a block of each rank to the one that is `shift` further in its group. */
static void move(const struct fb_tensor_plan *p, int number, int shift, struct fb_span from,
		 struct fb_span to)
{
	int n = p->ranks;
	uint64_t *counts = calloc((size_t)n * (size_t)n, sizeof(*counts));

	for (int r = 0; counts && r < n; r++)
		counts[r * n + (r + shift) % n] = from.count;
	if (counts)
		fb_dag_all_to_all_v(p->dag, FB_LANE_COMMUNICATE, "move", number, p->group, counts,
				    from, to);
	else
		p->dag->err = FB_ENOMEM;
	free(counts);
}

/* A product of the MLP for the tokens of a block, or of a part of one. */
static int multiply(const struct fb_tensor_plan *p, const char *name, int number, uint64_t elements)
{
	const struct fb_overlap_settings *own = p->b->own;
	uint64_t inner = fb_ceil_div(own->ffn, (uint64_t)p->ranks), tokens = elements / own->hidden;
	bool first = p->b->schedule == FB_TENSOR_GATHER_GEMM;

	tokens = tokens ? tokens : 1;
	return fb_dag_compute(p->dag, FB_LANE_COMPUTE, name, number,
			      first ? fb_work_product(FB_WORK_GEMM, tokens,
						      (p->b->nn ? 2 : 1) * inner, own->hidden)
				    : fb_work_product(FB_WORK_GEMM, tokens, own->hidden, inner));
}

/* The own block needs no other rank; meanwhile those of the next ranks come. */
static void gather_gemm(const struct fb_tensor_plan *p, int layer)
{
	int me = p->b->rank % p->ranks, pieces = (p->ranks - 1) * p->chunks;
	uint64_t first = (uint64_t)layer * FB_WITNESS, block = p->part * (uint64_t)p->chunks;

	multiply(p, "own", layer, block);
	for (int i = 0; i < pieces; i++) {
		int shift = i / p->chunks + 1, number = layer * pieces + i, task;
		uint64_t at = first + (uint64_t)(i % p->chunks) * p->part;
		const struct fb_span from = {p->found, at, p->part};
		const struct fb_span to = fb_tensor_span(p, p->sums, layer, i, p->part);

		/* Move the part from the rank that is `shift` ranks further. */
		move(p, number, p->ranks - shift, from, to);
		task = multiply(p, "remote", number, p->part);
		fb_dag_witness(p->dag, task, p->seen, number, to,
			       (struct fb_content){p->data, (me + shift) % p->ranks, at});
	}
}

/* Blocks for other ranks are computed first. The own block's product hides the last moves. */
static void gemm_scatter(const struct fb_tensor_plan *p, int layer)
{
	int me = p->b->rank % p->ranks, pieces = (p->ranks - 1) * p->chunks, task;
	uint64_t first = (uint64_t)layer * FB_WITNESS, block = p->part * (uint64_t)p->chunks;
	const struct fb_content sum = {p->data, FB_ALL_MEMBERS, first + (uint64_t)me * block};
	const struct fb_span own = {p->shares, (uint64_t)(layer % FB_TENSOR_PLACES) * block, block};

	for (int i = 0; i < pieces; i++) {
		int shift = i / p->chunks + 1, number = layer * pieces + i;
		uint64_t at = first + (uint64_t)((me + shift) % p->ranks) * block +
			      (uint64_t)(i % p->chunks) * p->part;
		const struct fb_span from = fb_tensor_span(p, p->sums, layer, i, p->part);

		fb_dag_copy(p->dag, multiply(p, "remote", number, p->part),
			    (struct fb_span){p->found, at, p->part}, from);
		move(p, number, shift, from, fb_tensor_span(p, p->arrived, layer, i, p->part));
	}
	fb_dag_copy(p->dag, multiply(p, "own", layer, block),
		    (struct fb_span){p->found, sum.first, block}, own);
	task = fb_dag_compute(p->dag, FB_LANE_COMPUTE, "add", layer,
			      (struct fb_work){.kind = FB_WORK_NONE});
	for (int i = 0; i < pieces; i++)
		fb_dag_add(p->dag, task, fb_tensor_span(p, p->arrived, layer, i, p->part),
			   (struct fb_span){p->shares, own.first +
					    (uint64_t)(i % p->chunks) * p->part, p->part});
	for (int c = 0; c < p->chunks; c++) {
		uint64_t at = (uint64_t)c * p->part;

		fb_dag_witness(p->dag, task, p->seen, layer * p->chunks + c,
			       (struct fb_span){p->shares, own.first + at, p->part},
			       (struct fb_content){sum.data, sum.member, sum.first + at});
	}
}

void fb_tensor_products(const struct fb_tensor_plan *p)
{
	for (int l = 0; l < (int)p->b->own->layers; l++)
		if (p->b->schedule == FB_TENSOR_GATHER_GEMM)
			gather_gemm(p, l);
		else
			gemm_scatter(p, l);
}
