/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A step on processors, one thread for all: the all_reduces that have begun are moved on between
 * parts of the computing (--polls of a tensor), as a framework does whose library has no thread
 * of its own. What is still under way behind backward is waited for in order.
 */
#include <string.h>

#include "common/base/error.h"
#include "common/base/spin.h"
#include "overlap/program.h"

/* The buckets of a step: [done, begun) are under way. */
struct flight {
	struct fb_ddp_instance *i;
	size_t done, begun;
};

static struct fb_request *request_of(const struct flight *f, size_t bucket)
{
	return f->i->reductions[bucket].instance.request;
}

static int begin(struct flight *f)
{
	struct fb_ddp_reduction *r = &f->i->reductions[f->begun++];

	r->done = false;
	return r->instance.ops->start(r->instance.request);
}

/* Moves on all that are under way. */
static int progress(struct flight *f)
{
	int err = FB_OK;

	for (size_t b = f->done; b < f->begun && !err; b++) {
		struct fb_ddp_reduction *r = &f->i->reductions[b];

		if (!r->done)
			err = r->instance.ops->test(request_of(f, b), &r->done);
	}
	while (f->done < f->begun && f->i->reductions[f->done].done)
		f->done++;
	return err;
}

static int finish(struct flight *f)
{
	struct fb_spin spin = {.yields = f->i->state->collective->world->oversubscribed};
	int err = progress(f);

	while (!err && f->done < f->begun) {
		if (fb_spin_again(&spin))
			err = fb_alive(f->i->state->collective->session, "reducing a bucket");
		if (!err)
			err = progress(f);
	}
	return err;
}

/* Computes a tensor in parts, then puts its gradient into the bucket. */
static int compute(struct flight *f, const struct fb_tensor *tensor)
{
	const struct fb_operation *op = &f->i->whole.op;
	int rank = f->i->state->collective->world->rank, err = FB_OK;
	size_t size = fb_datatype_size(op->datatype), at = (size_t)tensor->first * size;
	uint64_t rows = fb_ddp_rows(f->i->state, tensor), polls = f->i->state->own->polls;

	for (uint64_t part = 0; part < polls && !err; part++) {
		uint64_t first = rows * part / polls;

		fb_host_compute_rows(&f->i->compute, first, rows * (part + 1) / polls - first);
		if (part + 1 < polls)
			err = progress(f);
	}
	memcpy((char *)fb_operation_out(op, rank) + at, (char *)fb_operation_in(op, rank) + at,
	       (size_t)tensor->count * size);
	return err;
}

int fb_ddp_host_step(struct fb_ddp_instance *i, enum fb_schedule schedule)
{
	const struct fb_gradients *g = &i->gradients;
	size_t tensors = fb_schedule_computes(schedule) ? g->ntensors : 0;
	size_t buckets = fb_schedule_communicates(schedule) ? g->nbuckets : 0;
	struct flight f = {.i = i};
	int err = FB_OK;

	for (size_t t = 0; t < tensors && !err; t++) {
		err = compute(&f, &g->tensors[t]);
		while (!err && schedule == FB_OVERLAP && f.begun < buckets &&
		       g->buckets[f.begun].last <= t)
			err = begin(&f);
		if (!err)
			err = progress(&f);
	}
	while (!err && f.begun < buckets) {
		err = begin(&f);
		if (!err)
			err = finish(&f);
	}
	return err ? err : finish(&f);
}
