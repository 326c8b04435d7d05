/* SPDX-License-Identifier: BSD-3-Clause */
/* A producer before each call and a consumer behind it; see fresh.h. */
#include "collectives/fresh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/buffers.h"
#include "common/base/error.h"
#include "common/cuda/gpu_fresh.h"
#include "common/cuda/gpu_stream.h"

struct fb_fresh {
	bool early;
	uint64_t calls;		     /* since the last prime() */
	uint64_t all, wrong;	     /* calls checked, and those with wrong data, of the case */
	struct fb_mismatch found;    /* since the last check() */
	struct fb_gpu_fresh *gpu;    /* this and `stream`: for engines with streams */
	struct fb_gpu_stream *stream;
};

bool fb_fresh_can(const struct fb_case *c, enum fb_producer producer, enum fb_collective collective,
		  char reason[FB_REASON_CHARS])
{
	const struct fb_engine_ops *ops = fb_engine_find(c->engine);

	if (collective == FB_BARRIER)
		snprintf(reason, FB_REASON_CHARS, "barrier has no input to produce");
	else if (ops && !ops->device && producer == FB_PRODUCER_EARLY)
		snprintf(reason, FB_REASON_CHARS, "engine %s has no kernels behind a producer",
			 c->engine);
	else if (ops && ops->device && !ops->enqueue)
		snprintf(reason, FB_REASON_CHARS, "engine %s has no streams for a producer",
			 c->engine);
	else if (ops && ops->device && !strcmp(c->memory, "pinned"))
		snprintf(reason, FB_REASON_CHARS, "producers write to memory of the GPU");
	else
		return true;
	return false;
}

/* One block's consumer. */
struct consumer {
	struct fb_collective_instance *instance;
	void *stream;
};

static int consume(void *arg, const struct fb_output_block *block)
{
	struct consumer *c = arg;

	return fb_gpu_fresh_consume(c->instance->fresh->gpu, &c->instance->data, block->rank,
				    block->first, block->at, block->count, c->stream);
}

/* fb_gpu_enqueue_fn */
static int enqueue(void *arg, void *stream)
{
	struct fb_collective_instance *i = arg;
	struct consumer consumer = {i, stream};
	int rank = i->state->world->rank;
	uint64_t count = fb_buffers_elements(&i->op, false, rank, i->data.nranks);
	int err = fb_gpu_fresh_produce(i->fresh->gpu, &i->data, rank, fb_operation_in(&i->op, rank),
				       (size_t)count, i->fresh->early, stream);

	if (!err)
		err = i->ops->enqueue(i->request, stream);
	if (!err)
		err = fb_buffers_outputs(&i->op, i->data.nranks, rank, 1, consume, &consumer);
	return err;
}

int fb_fresh_open(struct fb_collective_instance *i)
{
	struct fb_collective_state *s = i->state;
	struct fb_fresh *fresh = calloc(1, sizeof(*fresh));
	int err = fresh ? FB_OK : fb_error(FB_ENOMEM, "out of memory");

	i->fresh = fresh;
	if (!err && fresh)
		fresh->early = s->producer == FB_PRODUCER_EARLY;
	if (!err && i->ops->enqueue)
		err = fb_gpu_fresh_open(&fresh->gpu);
	if (!err && i->ops->enqueue)
		err = fb_gpu_stream_open(&fresh->stream, &s->gpu, !strcmp(i->key->launch, "graph"),
					 enqueue, i, s->session);
	return fb_group_agree(s->world, err);
}

void fb_fresh_close(struct fb_collective_instance *i)
{
	if (i->fresh) {
		fb_gpu_stream_close(i->fresh->stream);
		fb_gpu_fresh_close(i->fresh->gpu);
	}
	free(i->fresh);
	i->fresh = NULL;
}

int fb_fresh_ready(struct fb_collective_instance *i, int calls)
{
	return i->fresh->stream ? fb_gpu_stream_ready(i->fresh->stream, calls) : FB_OK;
}

/* A call of an engine without streams: the host produces and consumes. */
static int call_once(struct fb_collective_instance *i)
{
	struct fb_fresh *fresh = i->fresh;
	int rank = i->state->world->rank;
	uint64_t count = fb_buffers_elements(&i->op, false, rank, i->data.nranks);
	uint64_t before = fresh->found.errors;
	int err = FB_OK;

	i->data.shift = fb_fresh_first(++fresh->calls);
	if (count)
		err = i->op.segment->ops->fill(&i->data, rank, i->data.shift,
					       fb_operation_in(&i->op, rank), (size_t)count);
	if (!err)
		err = i->ops->start(i->request);
	if (!err)
		err = i->ops->wait(i->request);
	if (!err)
		err = fb_buffers_check(&i->op, &i->data, rank, 1, &fresh->found);
	fresh->all++;
	fresh->wrong += fresh->found.errors != before;
	return err;
}

int fb_fresh_run(struct fb_collective_instance *i, int calls)
{
	int err = FB_OK;

	if (i->fresh->stream) {
		i->fresh->calls += (uint64_t)calls;
		return fb_gpu_stream_run(i->fresh->stream, calls);
	}
	for (int call = 0; call < calls && !err; call++)
		err = call_once(i);
	return err;
}

/* Adds what the GPU's consumers have counted since the last prime(); they report no values. */
static int collect(struct fb_collective_instance *i)
{
	struct fb_fresh *fresh = i->fresh;
	struct fb_fresh_seen seen = {.calls = 0};
	int err = fresh->gpu ? fb_gpu_fresh_read(fresh->gpu, &seen) : FB_OK;

	if (err || !fresh->gpu)
		return err;
	if (seen.calls != fresh->calls)
		return fb_error(FB_EDATA, "%llu of %llu calls had a producer",
				(unsigned long long)seen.calls, (unsigned long long)fresh->calls);
	fresh->all += seen.calls;
	fresh->wrong += seen.wrong_calls;
	if (seen.errors && !fresh->found.errors) {
		fresh->found.index = seen.first;
		snprintf(fresh->found.got, sizeof(fresh->found.got), "wrong in %llu calls",
			 (unsigned long long)seen.wrong_calls);
		snprintf(fresh->found.expected, sizeof(fresh->found.expected), "fresh data");
	}
	fresh->found.errors += seen.errors;
	i->data.shift = fb_fresh_first(fresh->calls);
	return FB_OK;
}

int fb_fresh_prime(struct fb_collective_instance *i)
{
	int err = collect(i);

	i->data.shift = 0;
	i->fresh->calls = 0;
	return err || !i->fresh->gpu ? err : fb_gpu_fresh_reset(i->fresh->gpu);
}

int fb_fresh_check(struct fb_collective_instance *i, struct fb_mismatch *bad)
{
	struct fb_fresh *fresh = i->fresh;
	uint64_t calls = fresh->calls;
	int err = collect(i);

	*bad = fresh->found;
	fresh->found = (struct fb_mismatch){0};
	if (!err && !bad->errors && calls)
		err = fb_buffers_check(&i->op, &i->data, i->state->world->rank, 1, bad);
	fresh->calls = 0;
	return err || !fresh->gpu ? err : fb_gpu_fresh_reset(fresh->gpu);
}

void fb_fresh_describe(const struct fb_collective_instance *i, struct fb_traits *traits)
{
	/* Ranks do not say which calls were wrong, so the rank with most wrong calls counts. */
	double seen[2] = {(double)i->fresh->all, (double)i->fresh->wrong};

	MPI_Allreduce(MPI_IN_PLACE, seen, 2, MPI_DOUBLE, MPI_MAX, i->state->world->comm);
	traits->extra[FB_FRESH_CALLS] = seen[0];
	traits->extra[FB_STALE_CALLS] = seen[1];
	/* Rule of three: no wrong call in n bounds the share of wrong calls by 3 / n (95%). */
	if (seen[0] > 0 && !(seen[1] > 0))
		traits->extra[FB_STALE_BOUND] = fmin(1, 3 / seen[0]);
}
