/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hand-overs by movers between GPUs. The moves of a request are made beforehand (over_moves.c).
 *
 * direct      a move with all runs of all regions to all receivers; batch and strided are the same
 *             by other forms of the mover
 * pack        gathered by a kernel, a message to each receiver, scattered by a kernel
 * layerwise   the same for each layer; kernels that push gather straight into the receivers'
 *             staging memory
 *
 * Notices are as in over.c. Pages need no FREE: each call writes the same bytes to the same places.
 */
#include "kvtransfer/over_gpu.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"

/* More copies than that in a call are no way to move pages, and take minutes to measure. */
static const double most_copies = 1e6;

bool fb_kv_carrier_can(const struct fb_mover_ops *mover, const struct fb_kv_shape *s,
		       enum fb_kv_mode mode, char reason[FB_REASON_CHARS])
{
	const struct fb_kv_plan plan = {.shape = *s};
	uint32_t most_tp = s->tp[0] > s->tp[1] ? s->tp[0] : s->tp[1], span = fb_kv_span(&plan);
	/* The runs of one sender, before neighbours are merged. */
	double runs = fb_kv_about_pieces(&plan) * most_tp / s->tp[FB_KV_PREFILL];

	if (mover->forms && runs > most_copies && mode == FB_KV_BATCH)
		snprintf(reason, FB_REASON_CHARS, "about %.2g copies in a call of a rank, more "
			 "than %.0g", runs, most_copies);
	else if (mode == FB_KV_STRIDED && fb_kv_regions(s) > span &&
		 (fb_kv_region_at(s, FB_KV_PREFILL, span) > INT32_MAX ||
		  fb_kv_region_at(s, FB_KV_DECODE, span) > INT32_MAX))
		snprintf(reason, FB_REASON_CHARS, "a region of more than 2 GiB");
	else
		return true;
	return false;
}

/* --- requests --------------------------------------------------------------------------------- */

/* The ranks whose notices are waited for. */
static int find_peers(struct fb_kv_gpu_request *r)
{
	const struct fb_kv_job *job = r->request.job;
	struct fb_mover *mover = r->request.engine->mover;
	int err = FB_OK;

	for (uint32_t p = 0; p < job->plan.pairs && !err && fb_kv_has_put(r->request.engine); p++) {
		int from = fb_kv_sender(job, &job->plan.pair[p]);
		int to = fb_kv_receiver(job, &job->plan.pair[p]);

		if (to == job->rank) {
			r->done[r->senders] = (struct fb_wait){from, FB_KV_DONE, 0};
			err = mover->ops->arrived(mover, from, FB_KV_DONE,
						  &r->done_base[r->senders++]);
		}
		if (from == job->rank && !err) {
			r->leave[r->receivers] = (struct fb_wait){to, FB_KV_FREE, 0};
			err = mover->ops->arrived(mover, to, FB_KV_FREE,
						  &r->leave_base[r->receivers++]);
		}
	}
	return err;
}

/* A library may know that a peer has failed. */
static int poll(void *request)
{
	const struct fb_kv_gpu_request *r = request;
	const struct fb_mover_ops *ops = r->request.engine->mover->ops;
	struct fb_move *move = fb_kv_gpu_move(r, FB_KV_PUSH, 0);
	bool ignored;

	return move ? ops->test(move, &ignored) : FB_OK;
}

static void release_move(struct fb_move *move)
{
	if (move)
		move->mover->ops->release(move);
}

static void close_request(struct fb_kv_gpu_request *r)
{
	const struct fb_kv_job *job = r->request.job;

	for (uint32_t i = 0; r->move && i < FB_KV_LEGS * job->steps; i++)
		release_move(r->move[i]);
	for (uint32_t i = 0; r->keep && i < job->steps; i++)
		release_move(r->keep[i]);
	release_move(r->freeing);
	release_move(r->last);
	for (uint32_t i = 0; r->list && i < FB_KV_LEGS * job->plan.pairs; i++)
		free(r->list[i]);
	free(r->list);
	free(r->move);
	free(r->keep);
	free(r->done);
	free(r->leave);
	free(r->done_base);
	free(r->leave_base);
	free(r);
}

static void gpu_release(struct fb_kv_request *request)
{
	struct fb_kv_gpu_request *r = (struct fb_kv_gpu_request *)request;

	fb_gpu_stream_close(r->stream);
	MPI_Barrier(request->machine->world->comm);
	fb_kv_streams_close(r);
	close_request(r);
}

static struct fb_kv_gpu_request *new_request(const struct fb_kv_machine *machine,
					     struct fb_kv_backend *engine,
					     const struct fb_kv_job *job)
{
	struct fb_kv_gpu_request *r = calloc(1, sizeof(*r));
	size_t pairs = job->plan.pairs + 1;

	if (!r)
		return NULL;
	r->request = (struct fb_kv_request){machine, engine, job};
	r->list = calloc(pairs * FB_KV_LEGS, sizeof(struct fb_piece *));
	r->move = calloc((size_t)job->steps * FB_KV_LEGS, sizeof(struct fb_move *));
	r->keep = calloc(job->steps, sizeof(struct fb_move *));
	r->done = calloc(pairs, sizeof(*r->done));
	r->leave = calloc(pairs, sizeof(*r->leave));
	r->done_base = calloc(pairs, sizeof(*r->done_base));
	r->leave_base = calloc(pairs, sizeof(*r->leave_base));
	if (r->list && r->move && r->keep && r->done && r->leave && r->done_base && r->leave_base)
		return r;
	close_request(r);
	return NULL;
}

/* Collective, at the first request of an engine. Kernels pack and unpack, whoever moves. */
static int open_packer(const struct fb_kv_machine *m, struct fb_kv_backend *e)
{
	char why[FB_REASON_CHARS];
	int err;

	if (e->packer)
		return FB_OK;
	if (e->ops == &fb_mover_cuda) {
		e->packer = e->mover;
		e->packs = e->region;
		return FB_OK;
	}
	err = fb_mover_open(&e->packer, &fb_mover_cuda, m->session, m->world, why);
	if (err) {
		e->packer = NULL;
		return fb_error(err, "kernels that pack: %s", why);
	}
	err = fb_mover_add(e->packer, e->memory, &e->packs);
	if (err) {
		fb_mover_close(e->packer);
		e->packer = NULL;
	}
	return err;
}

static int gpu_prepare(const struct fb_kv_machine *machine, struct fb_kv_backend *engine,
		       const struct fb_kv_job *job, struct fb_kv_request **request)
{
	int err = open_packer(machine, engine);
	struct fb_kv_gpu_request *r = err ? NULL : new_request(machine, engine, job);

	err = err ? err : fb_group_agree(machine->world, r ? FB_OK : FB_ENOMEM);
	if (err || !r) {
		if (r)
			close_request(r);
		return err;
	}
	err = fb_kv_moves_make(r);
	if (!err)
		err = find_peers(r);
	if (!err)
		err = fb_kv_streams_open(r);
	if (!err)
		err = fb_gpu_stream_open(&r->stream, &machine->gpu, false, fb_kv_enqueue_call,
					 r, machine->session);
	err = fb_group_agree(machine->world, err);
	if (err) {
		gpu_release(&r->request);
		return err;
	}
	fb_gpu_stream_watch(r->stream, poll, r);
	*request = &r->request;
	return FB_OK;
}

static int gpu_run(struct fb_kv_request *request, unsigned phases, int calls)
{
	struct fb_kv_gpu_request *r = (struct fb_kv_gpu_request *)request;

	r->phases = phases;
	return fb_gpu_stream_run(r->stream, calls);
}

static void gpu_describe(struct fb_kv_request *request, struct fb_traits *traits)
{
	const struct fb_kv_gpu_request *r = (const struct fb_kv_gpu_request *)request;
	const struct fb_mover_ops *ops = r->request.engine->mover->ops;
	struct fb_move *move = fb_kv_gpu_move(r, fb_kv_gpu_leg(r), 0);

	/* A rank that only receives describes the move that frees the senders' staging memory. */
	move = move ? move : r->freeing ? r->freeing : r->keep[0];
	if (move)
		ops->describe(move, traits);
}

const struct fb_kv_carrier fb_kv_carrier_gpu = {
	.prepare = gpu_prepare, .run = gpu_run, .describe = gpu_describe, .release = gpu_release,
};
