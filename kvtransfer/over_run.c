/* SPDX-License-Identifier: BSD-3-Clause */
/* Hand-overs by movers in host memory: carrying calls out; see over.c. */
#include "kvtransfer/over.h"

#include "common/base/error.h"
#include "common/base/spin.h"
#include "kvtransfer/stage.h"

static bool is_staged(const struct fb_kv_job *job, unsigned phases)
{
	return (job->mode != FB_KV_DIRECT && job->mode != FB_KV_DATATYPE) || phases != FB_KV_ALL;
}

static struct fb_move *move_of(const struct fb_kv_job *job, const struct fb_kv_over_pair *o,
			       unsigned phases, uint32_t step)
{
	return is_staged(job, phases) ? o->staged[step] : o->pages;
}

/* One step of a pair that this rank sends. */
static int send_step(const struct fb_kv_over_request *r, uint32_t p, unsigned phases, uint32_t step)
{
	const struct fb_kv_job *job = r->request.job;
	const struct fb_kv_pair *pair = &job->plan.pair[p];
	const struct fb_kv_over_pair *o = &r->pair[p];
	struct fb_mover *mover = r->request.engine->mover;
	struct fb_move *move = move_of(job, o, phases, step);
	int err = FB_OK;

	if (is_staged(job, phases)) {
		if (phases & FB_KV_GATHER)
			fb_kv_gather(job, pair, step);
		if (!(phases & FB_KV_MOVE))
			return FB_OK;
		if (!step && fb_kv_has_put(r->request.engine))
			err = fb_mover_await(mover, fb_kv_receiver(job, pair), FB_KV_FREE,
					     o->free_base + r->calls - 1);
	}
	if (!err && move)
		err = mover->ops->post(move);
	else if (!err)
		fb_kv_keep(job, pair, step, is_staged(job, phases));
	return err;
}

/* Whether a step of a pair that this rank receives is here. */
static int has_come(const struct fb_kv_over_request *r, uint32_t p, unsigned phases, uint32_t step,
		    bool *come)
{
	const struct fb_kv_job *job = r->request.job;
	const struct fb_kv_over_pair *o = &r->pair[p];
	struct fb_mover *mover = r->request.engine->mover;
	uint64_t count = 0;
	int err;

	*come = true;
	/* Bytes that stay with their rank came by send_step. */
	if (!(phases & FB_KV_MOVE) || (!fb_kv_has_put(r->request.engine) && o->sends))
		return FB_OK;
	if (!fb_kv_has_put(r->request.engine))
		return mover->ops->test(move_of(job, o, phases, step), come);
	err = mover->ops->arrived(mover, fb_kv_sender(job, &job->plan.pair[p]), FB_KV_DONE, &count);
	*come = count >= o->done_base + (r->calls - 1) * job->steps + step + 1;
	return err;
}

/* Unpacks what has come of a pair, in order. */
static int receive_some(const struct fb_kv_over_request *r, uint32_t p, unsigned phases)
{
	const struct fb_kv_job *job = r->request.job;
	struct fb_kv_over_pair *o = &r->pair[p];
	bool come = true;
	int err = FB_OK;

	while (o->next < job->steps && !err) {
		err = has_come(r, p, phases, o->next, &come);
		if (err || !come)
			return err;
		if ((phases & FB_KV_SCATTER) && is_staged(job, phases))
			fb_kv_scatter(job, &job->plan.pair[p], o->next);
		if (++o->next == job->steps && (phases & FB_KV_MOVE) && o->free)
			err = r->request.engine->mover->ops->post(o->free);
	}
	return err;
}

static int receive_all(const struct fb_kv_over_request *r, unsigned phases)
{
	const struct fb_kv_machine *machine = r->request.machine;
	struct fb_spin spin = {.yields = machine->world->oversubscribed};
	bool all = false;
	int err = FB_OK;

	while (!all && !err) {
		all = true;
		for (uint32_t p = 0; p < r->request.job->plan.pairs && !err; p++) {
			if (!r->pair[p].receives)
				continue;
			err = receive_some(r, p, phases);
			all &= r->pair[p].next == r->request.job->steps;
		}
		if (!all && !err)
			err = fb_mover_again(r->request.engine->mover, &spin,
					     "waiting for a peer's pages");
	}
	return fb_mover_waited(r->request.engine->mover, err);
}

/* Until this rank's own places are free again, and nobody needs its help. */
static int finish(const struct fb_kv_over_request *r, unsigned phases)
{
	const struct fb_kv_job *job = r->request.job;
	int err = FB_OK;

	for (uint32_t p = 0; p < job->plan.pairs && (phases & FB_KV_MOVE); p++) {
		const struct fb_kv_over_pair *o = &r->pair[p];
		uint32_t moves = is_staged(job, phases) ? job->steps : 1;

		for (uint32_t i = 0; i < moves && o->sends && !err; i++)
			if (move_of(job, o, phases, i))
				err = fb_move_wait(move_of(job, o, phases, i));
		if (!err && o->free)
			err = fb_move_wait(o->free);
	}
	return err;
}

static int call_once(struct fb_kv_over_request *r, unsigned phases)
{
	const struct fb_kv_job *job = r->request.job;
	const struct fb_mover_ops *ops = r->request.engine->mover->ops;
	bool meets = !fb_kv_has_put(r->request.engine) && (phases & FB_KV_MOVE);
	int err = FB_OK;

	r->calls += phases & FB_KV_MOVE ? 1 : 0;
	for (uint32_t step = 0; step < job->steps; step++)
		for (uint32_t p = 0; p < job->plan.pairs && !err; p++) {
			r->pair[p].next = 0;
			if (meets && r->pair[p].receives && !r->pair[p].sends)
				err = ops->post(move_of(job, &r->pair[p], phases, step));
		}
	for (uint32_t step = 0; step < job->steps; step++)
		for (uint32_t p = 0; p < job->plan.pairs && !err; p++)
			if (r->pair[p].sends)
				err = send_step(r, p, phases, step);
	if (!err)
		err = receive_all(r, phases);
	return err ? err : finish(r, phases);
}

int fb_kv_over_run(struct fb_kv_request *request, unsigned phases, int calls)
{
	struct fb_kv_over_request *r = (struct fb_kv_over_request *)request;
	int err = FB_OK;

	for (int i = 0; i < calls && !err; i++)
		err = call_once(r, phases);
	return err;
}
