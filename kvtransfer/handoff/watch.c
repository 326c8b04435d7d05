/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two measurements that have requests of their own, because they would change the times of others.
 * The first is when bytes become visible: before a request the receiver puts another value in the
 * last byte of each run, and it looks at its pages while it waits for notices. The second is how
 * long multiprocessors are busy.
 */
#include <math.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/cuda/gpu_busy.h"
#include "common/measure/stats.h"
#include "common/measure/watchdog.h"
#include "kvtransfer/handoff/handoff.h"

/*
 * Watched requests. Where they take long there are fewer. If the request before them takes more
 * than most_s, one of them proves the order and no time is given; if it takes more than
 * most_order_s, none is watched.
 */
enum { WATCHED = 15, LEAST_WATCHED = 3 };
static const double most_s = 0.5, most_order_s = 10;

/* Counters are coarse, but movers with few blocks keep less than 1% of a GPU busy. */
static const double least_share = 1e-4;

/* How often a list of runs is carried out, to pass all regions. */
static uint32_t repeats_of(const struct fb_handoff_link *link)
{
	return fb_kv_regions(&link->job->plan.shape) / fb_kv_span(&link->job->plan);
}

/* The last byte of a run in this rank's pages. */
static volatile unsigned char *last_byte(const struct fb_handoff_link *link, uint32_t repeat,
					 uint32_t run)
{
	const struct fb_kv_run *r = &link->pair->run[run];
	char *at = fb_kv_region_of(link->job, link->to, FB_KV_DECODE,
				   repeat * fb_kv_span(&link->job->plan));

	return (volatile unsigned char *)at + r->dst + r->bytes - 1;
}

/* hide() has put values there that the request does not bring, so any change shows its bytes. */
bool fb_handoff_seen(struct fb_handoff_instance *i)
{
	for (; i->seen.link < i->links; i->seen.link++, i->seen.repeat = 0) {
		const struct fb_handoff_link *link = &i->link[i->seen.link];

		for (; i->seen.repeat < repeats_of(link); i->seen.repeat++, i->seen.run = 0)
			for (; i->seen.run < link->pair->runs; i->seen.run++)
				if (*last_byte(link, i->seen.repeat, i->seen.run) ==
				    link->hidden[(uint64_t)i->seen.repeat * link->pair->runs +
						 i->seen.run])
					return false;
	}
	return true;
}

void fb_handoff_hide(struct fb_handoff_instance *i)
{
	for (int k = 0; k < i->links; k++) {
		const struct fb_handoff_link *link = &i->link[k];
		unsigned char *hidden = link->hidden;

		for (uint32_t repeat = 0; repeat < repeats_of(link); repeat++)
			for (uint32_t r = 0; r < link->pair->runs; r++) {
				volatile unsigned char *byte = last_byte(link, repeat, r);

				*byte = *hidden++ = (unsigned char)~*byte;
			}
	}
}

/* Medians of watched requests: from the first sender's begin until the last receiver. */
static int put_visible(struct fb_handoff_instance *i)
{
	size_t n = i->calls;
	double *all, *visible, *notified, scratch[2 * WATCHED];
	int err = fb_handoff_mark(i);

	if (err)
		return err;
	all = fb_handoff_reduce(i);
	if (!all)
		return FB_ENOMEM;
	visible = all + FB_STAGE_VISIBLE * n;
	notified = all + FB_STAGE_NOTIFIED * n;
	for (size_t k = 0; k < n; k++) {
		notified[k] = (notified[k] - visible[k]) * 1e6;
		visible[k] = (visible[k] + all[FB_STAGE_BEGIN * n + k]) * 1e6;
	}
	i->value[FB_HANDOFF_VISIBLE_US] =
		fb_handoff_known(i, fb_median(visible, n, scratch), FB_ENDS_BOTH);
	i->value[FB_HANDOFF_NOTICE_US] =
		fb_handoff_known(i, fb_median(notified, n, scratch), FB_ENDS_RECEIVERS);
	free(all);
	return FB_OK;
}

/* One request, for which the watchdog waits as long as for a timed one. */
static void request(struct fb_handoff_instance *i)
{
	struct fb_watchdog *watchdog = i->state->machine.session->watchdog;

	if (watchdog)
		fb_watchdog_step(watchdog, FB_PHASE_SETUP);
	fb_handoff_once(i, ++i->handed);
}

static int watch_pages(struct fb_handoff_instance *i)
{
	const struct fb_group *w = i->state->machine.world;
	double began, spent_s = 0;
	int least = LEAST_WATCHED, err = FB_OK;

	for (int k = 0; k < i->links && i->receives && !err; k++) {
		struct fb_handoff_link *link = &i->link[k];

		link->hidden = calloc((uint64_t)repeats_of(link) * link->pair->runs, 1);
		err = link->hidden ? FB_OK : FB_ENOMEM;
	}
	err = fb_group_agree(w, err);
	i->watches = true;
	began = fb_handoff_now(i);
	/* Before the first one nothing is hidden. All ranks agree on when to stop. */
	for (int k = 0; k <= WATCHED && !err &&
			(spent_s < (k > 1 ? most_s : most_order_s) || (k > 1 && k <= least)); k++) {
		request(i);
		i->calls = k ? i->calls : 0;
		i->early &= k > 0;
		spent_s = fb_handoff_now(i) - began;
		MPI_Allreduce(MPI_IN_PLACE, &spent_s, 1, MPI_DOUBLE, MPI_MAX, w->comm);
		if (!k && spent_s >= most_s)
			least = 1;
	}
	i->watches = false;
	return err || i->calls < LEAST_WATCHED ? err : put_visible(i);
}

/* fb_gpu_busy_run_fn */
static int run_requests(void *arg, int calls)
{
	for (int k = 0; k < calls; k++)
		request(arg);
	return FB_OK;
}

int fb_handoff_watch(struct fb_handoff_instance *i)
{
	const struct fb_kv_machine *m = &i->state->machine;
	const struct fb_handoff_plan *p = &i->plan;
	struct fb_gpu_busy_shares shares;
	double call_s;
	int err = FB_OK;

	if (i->engine->device && !p->beside) {
		err = fb_gpu_busy_measure(&m->gpu, m->world, m->session->clock, run_requests, i,
					  least_share, &shares, &call_s);
		/* The GPU of an end that does nothing looks as one without counters. */
		i->sm_s = isnan(shares.sms) ? 0 : shares.sms * m->gpu.sms * call_s;
	} else if (!i->engine->device && !p->get && !p->send && !p->wire) {
		err = watch_pages(i);
	}
	i->calls = 0;
	i->cpu_s = 0;
	return err;
}
