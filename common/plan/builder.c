/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records an algorithm's calls as one rank's operations. Calls that do not concern the rank
 * return before anything is translated, so building is cheap even for thousands of ranks.
 */
#include "common/plan/ops.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* One level of views; frames[0] is the whole algorithm. */
struct frame {
	struct fb_shape shape;
	const struct fb_view *view; /* NULL at level 0 */
	uint32_t split;
	int self;
};

enum { MAX_DEPTH = 6 };

struct fb_builder {
	struct fb_ops ops;
	struct frame frames[MAX_DEPTH];
	int depth; /* index of the current frame */
	uint32_t round;
	uint8_t lane;
	int err;
};

int fb_grow(void *array, size_t used, size_t *room, size_t size)
{
	void **p = array;
	size_t wanted = *room ? *room * 2 : 16;
	void *more;

	if (used < *room)
		return FB_OK;
	more = realloc(*p, wanted * size);
	if (!more)
		return FB_ENOMEM;
	*p = more;
	*room = wanted;
	return FB_OK;
}

static struct frame *top(const struct fb_builder *b)
{
	return (struct frame *)(uintptr_t)&b->frames[b->depth];
}

int fb_nranks(const struct fb_builder *b)
{
	return top(b)->shape.nranks;
}

int fb_root(const struct fb_builder *b)
{
	return top(b)->shape.root;
}

const struct fb_shape *fb_shape(const struct fb_builder *b)
{
	return &top(b)->shape;
}

uint32_t fb_split(const struct fb_builder *b)
{
	return top(b)->split;
}

int fb_self(const struct fb_builder *b)
{
	return top(b)->self;
}

/* Whether one of the two is the rank that the plan is built for. */
static bool concerns(const struct fb_builder *b, int rank_a, int rank_b)
{
	int self = top(b)->self;

	return rank_a == self || rank_b == self;
}

void fb_round(struct fb_builder *b)
{
	b->round++;
}

void fb_lane(struct fb_builder *b, int lane)
{
	if (lane < 0 || lane >= FB_MAX_LANES) {
		b->err = FB_EPLAN;
		return;
	}
	b->lane = (uint8_t)lane;
	if (lane >= b->ops.nlanes)
		b->ops.nlanes = lane + 1;
}

/* Resolves a chunk of the current view into a canonical place of the whole. */
static struct fb_place place(struct fb_builder *b, struct fb_chunk c, uint32_t *count)
{
	struct fb_place p = {.peer = -1, .buffer = (uint8_t)c.buffer, .index = c.index};
	uint32_t n = c.count;
	int rank = c.rank;

	for (int depth = b->depth; depth > 0; depth--) {
		const struct fb_view *v = b->frames[depth].view;
		const struct fb_window *w = &v->window[p.buffer];

		p.index = w->base + (uint32_t)rank * w->rank_stride + p.index * v->scale;
		p.buffer = (uint8_t)w->buffer;
		n *= v->scale;
		if (v->ranks)
			rank = v->ranks[rank];
	}
	if (p.index + (uint64_t)n > fb_buffer_units(&b->ops.shape, rank, b->ops.split,
						    b->ops.scratch_blocks,
						    (enum fb_buffer)p.buffer) && !b->err)
		b->err = fb_error(FB_EPLAN, "plan %s/%s: chunk [%u, +%u) of buffer %d of rank %d "
				  "is outside the buffer", b->ops.algorithm->name,
				  fb_collective_info(b->ops.shape.collective)->name, p.index, n,
				  p.buffer, rank);
	fb_plan_canonical(&b->ops.shape, rank, b->ops.split, &p.buffer, &p.index);
	if (rank != b->ops.rank)
		p.peer = rank;
	*count = n;
	return p;
}

static int add_src(struct fb_ops *ops, struct fb_place p)
{
	if (fb_grow(&ops->srcs, ops->nsrcs, &ops->srcs_room, sizeof(*ops->srcs)))
		return FB_ENOMEM;
	ops->srcs[ops->nsrcs++] = p;
	return FB_OK;
}

static int add_op(struct fb_builder *b, struct fb_op op)
{
	struct fb_ops *ops = &b->ops;

	if (fb_grow(&ops->ops, ops->nops, &ops->ops_room, sizeof(*ops->ops)))
		return FB_ENOMEM;
	op.round = b->round;
	op.lane = b->lane;
	ops->ops[ops->nops++] = op;
	return FB_OK;
}

static bool same_place(struct fb_place x, struct fb_place y)
{
	return x.peer == y.peer && x.buffer == y.buffer && x.index == y.index;
}

/* This rank sends one source to the rank that executes the operation. */
static int record_send(struct fb_builder *b, struct fb_place src, struct fb_place dst,
		       uint32_t count, bool copies)
{
	struct fb_op op = {.copies = copies, .count = count, .dst = dst, .nsrc = 1,
			   .first_src = (uint32_t)b->ops.nsrcs};
	int err = add_src(&b->ops, src);

	return err ? err : add_op(b, op);
}

static void check_phase(struct fb_builder *b, uint32_t count, struct fb_place dst, uint32_t n,
			struct fb_place src)
{
	if (n == count && (dst.index % b->ops.split) == (src.index % b->ops.split))
		return;
	if (!b->err)
		b->err = fb_error(FB_EPLAN, "plan %s/%s: %u units at %u and %u units at %u differ "
				  "in size", b->ops.algorithm->name,
				  fb_collective_info(b->ops.shape.collective)->name, count,
				  dst.index, n, src.index);
}

void fb_reduce_many(struct fb_builder *b, struct fb_chunk dst, const struct fb_chunk *src, int n,
		    enum fb_reduce_flags flags)
{
	int self = top(b)->self;
	bool complete = flags == FB_COMPLETE, mine = dst.rank == self;
	struct fb_op op = {.nsrc = (uint32_t)n};
	struct fb_place to, from;
	uint32_t count, m;

	for (int i = 0; i < n && !mine; i++)
		mine = src[i].rank == self;
	if (!mine || b->err)
		return;
	for (int depth = b->depth; depth > 0 && complete; depth--)
		complete = b->frames[depth].view->complete;
	to = place(b, dst, &count);
	if (to.peer < 0) {
		op.first_src = (uint32_t)b->ops.nsrcs;
		op.count = count;
		op.dst = to;
		op.flags = complete ? FB_FINISH : 0;
	}
	for (int i = 0; i < n; i++) {
		if (to.peer >= 0 && src[i].rank != self)
			continue;
		from = place(b, src[i], &m);
		check_phase(b, count, to, m, from);
		if (b->err)
			return;
		if (to.peer < 0 && n == 1 && same_place(to, from))
			return; /* the same memory: nothing to copy */
		b->err = to.peer < 0 ? add_src(&b->ops, from)
				     : record_send(b, from, to, count, n == 1);
		if (b->err)
			return;
	}
	if (to.peer < 0)
		b->err = add_op(b, op);
}

void fb_copy(struct fb_builder *b, struct fb_chunk dst, struct fb_chunk src)
{
	if (!concerns(b, dst.rank, src.rank) || !dst.count)
		return;
	fb_reduce_many(b, dst, &src, 1, FB_PARTIAL);
}

void fb_reduce(struct fb_builder *b, struct fb_chunk dst, struct fb_chunk x, struct fb_chunk y,
	       enum fb_reduce_flags flags)
{
	struct fb_chunk src[2] = {x, y};

	if (dst.count)
		fb_reduce_many(b, dst, src, 2, flags);
}

int fb_build_part(struct fb_builder *b, const struct fb_algorithm *part,
		  const struct fb_view *view)
{
	struct frame *f = top(b), *g;
	int err, self = -1;

	if (b->err)
		return b->err;
	if (b->depth + 1 == MAX_DEPTH)
		return b->err = fb_error(FB_EPLAN, "plan %s: parts nest too deep", part->name);
	if (!view->ranks)
		self = f->self;
	for (int i = 0; view->ranks && i < view->n && self < 0; i++)
		if (view->ranks[i] == f->self)
			self = i;
	g = &b->frames[b->depth + 1];
	*g = (struct frame){
		.shape = {.collective = view->collective, .nranks = view->n, .root = view->root,
			  .in_place = false, .channel = f->shape.channel,
			  .nchannels = f->shape.nchannels},
		.view = view, .split = view->split, .self = self,
	};
	b->depth++;
	err = part->build(b);
	b->depth--;
	if (err && !b->err)
		b->err = err;
	return b->err;
}

uint32_t fb_buffer_units(const struct fb_shape *shape, int rank, uint32_t split,
			 uint32_t scratch_blocks, enum fb_buffer buffer)
{
	if (buffer == FB_SCRATCH)
		return scratch_blocks * split;
	/* In place, a broadcast's input is the output's memory, which all ranks have. */
	if (buffer == FB_IN && shape->in_place && shape->collective == FB_BROADCAST)
		return split;
	return (uint32_t)fb_collective_blocks(shape->collective, buffer == FB_OUT, rank,
					      shape->nranks, shape->root) * split;
}

void fb_plan_canonical(const struct fb_shape *shape, int rank, uint32_t split, uint8_t *buffer,
		       uint32_t *unit)
{
	if (!shape->in_place || *buffer == FB_SCRATCH)
		return;
	switch (shape->collective) {
	case FB_ALL_GATHER:
	case FB_ALL_GATHER_V:
		if (*buffer == FB_IN)
			*unit += (uint32_t)rank * split;
		break;
	case FB_GATHER:
		if (rank != shape->root)
			return;
		if (*buffer == FB_IN)
			*unit += (uint32_t)rank * split;
		break;
	case FB_REDUCE_SCATTER:
	case FB_REDUCE_SCATTER_V:
		if (*buffer == FB_OUT)
			*unit += (uint32_t)rank * split;
		*buffer = FB_IN;
		return;
	case FB_SCATTER:
		if (rank != shape->root)
			return;
		if (*buffer == FB_OUT)
			*unit += (uint32_t)rank * split;
		*buffer = FB_IN;
		return;
	case FB_REDUCE:
		if (rank != shape->root)
			return;
		break;
	default:
		break;
	}
	*buffer = FB_OUT;
}

int fb_plan_build(const struct fb_algorithm *algorithm, const struct fb_shape *shape, int rank,
		  const struct fb_build_options *options, struct fb_plan **plan)
{
	struct fb_builder *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return FB_ENOMEM;
	b->ops = (struct fb_ops){
		.algorithm = algorithm, .shape = *shape, .rank = rank, .options = options,
		.split = algorithm->split ? algorithm->split(shape) : 1,
		.scratch_blocks = algorithm->scratch ? algorithm->scratch(shape) : 0,
		.nlanes = 1,
	};
	b->frames[0] = (struct frame){.shape = *shape, .split = b->ops.split, .self = rank};
	err = algorithm->build(b);
	if (!err)
		err = b->err;
	if (!err)
		err = fb_lower(&b->ops, plan);
	free(b->ops.ops);
	free(b->ops.srcs);
	free(b);
	return err;
}
