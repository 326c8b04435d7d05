/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One case of the operation handover: a request's cache between groups of ranks, by a carrier
 * (carrier.h); see handoff.h. Its row has the size of its plan, and what each phase takes alone.
 */
#include <math.h>

#include "common/base/error.h"
#include "kvtransfer/handoff/handoff.h"

enum { PLANS = 3, PHASE_RUNS = 5 };

int fb_handover_job(const struct fb_handoff_plan *plan, int rank, int nranks,
		    struct fb_kv_job *job)
{
	int shift = plan->placement == FB_KV_SHARED	 ? 0
		    : plan->placement == FB_KV_SHIFTED ? nranks / 2
						       : (int)plan->shape.tp[FB_KV_PREFILL];

	return fb_kv_job_open(job, &plan->shape, plan->mode, rank, nranks, shift);
}

/* Collective: the slowest rank's time since `began`, in microseconds. */
static double slowest_us(const struct fb_handoff_instance *i, double began)
{
	double us = (fb_handoff_now(i) - began) * 1e6;

	MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, i->state->machine.world->comm);
	return us;
}

static int make_plan(struct fb_handoff_instance *i)
{
	const struct fb_group *w = i->state->machine.world;
	double best = (double)INFINITY;

	for (int k = 0; k < PLANS; k++) {
		double began, us;
		int err;

		MPI_Barrier(w->comm);
		began = fb_handoff_now(i);
		err = fb_kv_job_plan(i->job);
		us = slowest_us(i, began);
		err = fb_group_agree(w, err);
		if (err)
			return err;
		best = us < best ? us : best;
	}
	i->value[FB_HANDOFF_PLAN_US] = best;
	if (i->state->own->spoil)
		i->state->own->spoil(i->job);
	return FB_OK;
}

/* Pieces of all pairs, counted by their receivers. */
static void count_pieces(struct fb_handoff_instance *i)
{
	MPI_Comm comm = i->state->machine.world->comm;
	const struct fb_kv_job *job = i->job;
	double all = 0, most = 0;
	struct fb_kv_sums sums;

	for (uint32_t p = 0; p < job->plan.pairs; p++) {
		const struct fb_kv_pair *pair = &job->plan.pair[p];
		double runs = (double)pair->runs * fb_kv_regions(&job->plan.shape) /
			      fb_kv_span(&job->plan);

		if (fb_kv_receiver(job, pair) != job->rank)
			continue;
		all += runs;
		most = runs > most ? runs : most;
	}
	MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_DOUBLE, MPI_SUM, comm);
	MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, comm);
	fb_kv_sum(job, &sums);
	i->value[FB_HANDOFF_PIECES] = all;
	i->value[FB_HANDOFF_PAIR_PIECES] = most;
	i->value[FB_HANDOFF_PIECE_BYTES] = sums.delivered_bytes / all;
	i->value[FB_HANDOFF_PAIRS] = job->plan.pairs;
	i->value[FB_HANDOFF_CROSSING] = sums.crossing_bytes / sums.delivered_bytes;
}

/* Each phase alone. What is moved are zeroes or an earlier case's bytes; prime() comes later. */
static void time_phases(struct fb_handoff_instance *i)
{
	static const struct {
		enum fb_kv_phase phase;
		enum fb_handoff_column column;
	} phases[] = {{FB_KV_GATHER, FB_HANDOFF_PACK_US}, {FB_KV_MOVE, FB_HANDOFF_TRANSFER_US},
		      {FB_KV_SCATTER, FB_HANDOFF_UNPACK_US}};
	bool staged = i->plan.mode == FB_KV_PACK || i->plan.mode == FB_KV_LAYERWISE;

	for (size_t k = 0; k < sizeof(phases) / sizeof(phases[0]); k++)
		for (int n = 0; n < PHASE_RUNS && (staged || phases[k].phase == FB_KV_MOVE); n++) {
			double began, us, *best = &i->value[phases[k].column];
			int err;

			MPI_Barrier(i->state->machine.world->comm);
			began = fb_handoff_now(i);
			err = i->carrier->run(i->request, (unsigned)phases[k].phase, 1);
			/* The others wait for what this rank moves. */
			if (err)
				fb_fail(i->state->machine.session, "a hand-over", err);
			us = slowest_us(i, began);
			*best = n && *best < us ? *best : us;
		}
}

int fb_handover_open(struct fb_handoff_instance *i)
{
	struct fb_kv_machine *m = &i->state->machine;
	int err;

	i->carrier = i->engine->device ? &fb_kv_carrier_gpu : &fb_kv_carrier_host;
	i->posts = i->job->index[FB_KV_PREFILL] >= 0;
	i->waits = i->job->index[FB_KV_DECODE] >= 0;
	err = make_plan(i);
	if (err)
		return err;
	count_pieces(i);
	err = i->carrier->prepare(m, i->engine, i->job, &i->request);
	if (!err)
		time_phases(i);
	return err;
}

void fb_handover_close(struct fb_handoff_instance *i)
{
	if (i->request)
		i->carrier->release(i->request);
}

void fb_handover_describe(struct fb_handoff_instance *i, struct fb_traits *traits)
{
	struct fb_kv_sums sums;

	fb_kv_sum(i->job, &sums);
	i->carrier->describe(i->request, traits);
	traits->algorithm_bytes = sums.delivered_bytes;
	traits->bus_factor = sums.port_bytes / sums.delivered_bytes;
	/* transfer_us is what the same mover takes otherwise, not the least that is possible. */
	traits->bound_us = (double)NAN;
}
