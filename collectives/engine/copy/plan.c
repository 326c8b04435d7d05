/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of copies and flags; see plan.h for the protocol and why it is right. */
#include "collectives/engine/copy/plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "collectives/engine/copy/chain.h"
#include "collectives/engine/copy/parts.h"
#include "collectives/engine/copy/sums.h"

uint32_t fb_copy_flags(int nranks)
{
	return (uint32_t)nranks * (1 + FB_COPY_MOST_PIECES);
}

bool fb_copy_can(const struct fb_operation *op, bool pull, char *reason, size_t n)
{
	const struct fb_collective_info *info = fb_collective_info(op->collective);
	bool exchanges = op->collective == FB_ALL_TO_ALL || op->collective == FB_ALL_TO_ALL_V ||
			 op->collective == FB_SEND_RECV;

	if (op->collective == FB_BARRIER || op->collective == FB_REDUCE_SCATTER_V)
		snprintf(reason, n, "copy engines cannot do %s", info->name);
	else if (pull && fb_copy_is_sum(op))
		snprintf(reason, n, "data that is summed can only be pushed");
	else if (exchanges && op->in_place)
		snprintf(reason, n, "%s in place needs memory between", info->name);
	else
		return true;
	return false;
}

/* READY to all who copy from or to this rank, in the order in which they come to it. */
static void tell_ready(struct fb_copy_maker *m)
{
	for (int step = 1, peer; step < m->nranks; step++)
		if (fb_copy_others(m, m->rank, step, &peer).count)
			fb_copy_signal(m, 0, peer, FB_COPY_READY);
}

/* The rank's own block on a stream of its own, if there is any. */
static void begin_own(struct fb_copy_maker *m, int stream)
{
	size_t before = m->list.count;

	fb_copy_after(m, stream, 0);
	fb_copy_own_block(m, stream);
	if (m->list.count == before + 1)
		m->list.count = before;
	else
		m->list.streams = stream;
}

/*
 * All copies on the caller's stream, next to each other: so they can go as one batch, and large
 * ones follow each other without an edge between streams or a flag, which cost some us each.
 * `apart`: the own block is copied beside them.
 */
static void plan_one_stream(struct fb_copy_maker *m, bool apart)
{
	enum { OWN = 1 };
	struct fb_copy_part part;
	int peer;

	if (apart)
		begin_own(m, OWN);
	tell_ready(m);
	for (int step = 1; step < m->nranks; step++)
		if (fb_copy_own(m, m->rank, step, &peer).count)
			fb_copy_await(m, 0, peer, FB_COPY_READY);
	for (int step = 1; step < m->nranks; step++) {
		part = fb_copy_own(m, m->rank, step, &peer);
		if (part.count)
			fb_copy_add(m, fb_copy_part_move(m, 0, peer, &part));
	}
	if (!apart)
		fb_copy_own_block(m, 0);
	fb_copy_join(m);
	for (int step = 1; step < m->nranks; step++)
		if (fb_copy_own(m, m->rank, step, &peer).count)
			fb_copy_signal(m, 0, peer, FB_COPY_DONE);
	fb_copy_await_done(m);
}

static int min(int a, int b)
{
	return a < b ? a : b;
}

/* Each copy begins when its own peer is ready, and notifies only that one. */
static void plan_streams(struct fb_copy_maker *m)
{
	int copies = 0, streams, stream = 0, peer;
	struct fb_copy_part part;

	for (int step = 1; step < m->nranks; step++)
		copies += fb_copy_own(m, m->rank, step, &peer).count > 0;
	streams = min(m->tuning->streams, copies);
	tell_ready(m);
	fb_copy_fork(m, streams);
	for (int step = 1; step < m->nranks; step++) {
		part = fb_copy_own(m, m->rank, step, &peer);
		if (!part.count || streams == 0) /* there is a stream if there is a copy */
			continue;
		stream = stream % streams + 1;
		fb_copy_await(m, stream, peer, FB_COPY_READY);
		fb_copy_add(m, fb_copy_part_move(m, stream, peer, &part));
		fb_copy_signal(m, stream, peer, FB_COPY_DONE);
	}
	fb_copy_own_block(m, 0);
	fb_copy_join(m);
	fb_copy_await_done(m);
}

/* Two ranks have nobody to relay for. */
static bool is_relayed(const struct fb_copy_maker *m)
{
	return m->op->collective == FB_BROADCAST && !m->tuning->pull && m->nranks > 2 &&
	       m->op->count * m->size >= m->tuning->relay_bytes && m->op->count > 0;
}

/* Two ranks have no more than one copy each anyway. */
static bool by_turns(const struct fb_copy_maker *m)
{
	return m->tuning->streams > 0 && m->nranks > 2 &&
	       m->op->count * m->size >= m->tuning->round_bytes;
}

static void plan(struct fb_copy_maker *m)
{
	if (fb_copy_is_chained(m->op, m->tuning, m->nranks)) {
		m->list.way = "in a row";
		fb_copy_plan_chain(m);
	} else if (fb_copy_is_sum(m->op)) {
		fb_copy_plan_sum(m);
	} else if (is_relayed(m)) {
		m->list.way = "relayed";
		fb_copy_plan_relay(m);
	} else if (by_turns(m)) {
		m->list.way = "by turns";
		plan_one_stream(m, true);
	} else if (m->tuning->streams) {
		plan_streams(m);
	} else {
		plan_one_stream(m, false);
	}
}

int fb_copy_plan(const struct fb_operation *op, const struct fb_copy_tuning *tuning, int rank,
		 int nranks, struct fb_copy_list *list)
{
	struct fb_copy_maker m = {.op = op, .tuning = tuning, .rank = rank, .nranks = nranks,
			  .size = fb_datatype_size(op->datatype)};

	plan(&m);
	if (m.err)
		fb_copy_list_free(&m.list);
	*list = m.list;
	return m.err;
}

void fb_copy_list_free(struct fb_copy_list *list)
{
	free(list->op);
	*list = (struct fb_copy_list){.op = NULL};
}

static char *area(const struct fb_operation *op, char *const *scratch, enum fb_copy_area area,
		  int rank)
{
	if (area == FB_COPY_SCRATCH)
		return scratch[rank];
	return area == FB_COPY_IN ? fb_operation_in(op, rank) : fb_operation_out(op, rank);
}

const void *fb_copy_source(const struct fb_operation *op, char *const *scratch,
			   const struct fb_copy_op *move)
{
	const char *base = area(op, scratch, move->from_area, move->from);

	return base ? base + move->from_byte : NULL;
}

void *fb_copy_destination(const struct fb_operation *op, char *const *scratch,
			  const struct fb_copy_op *move)
{
	char *base = area(op, scratch, move->to_area, move->to);

	return base ? base + move->to_byte : NULL;
}
