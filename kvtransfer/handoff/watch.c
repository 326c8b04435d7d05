/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is measured in requests of their own, as it would change the times of others: when bytes are
 * visible to a receiver, which puts another value in the last byte of each run before a request,
 * and looks at its pages while it waits for notices; and how long multiprocessors are busy.
 */
#include <math.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/cuda/gpu_busy.h"
#include "common/measure/stats.h"
#include "kvtransfer/handoff/handoff.h"

enum { WATCHED = 15 };

/* The last byte of a run in this rank's pages. */
static volatile unsigned char *last_byte(const struct fb_handoff_link *link, uint32_t region,
					 uint32_t run)
{
	const struct fb_kv_run *r = &link->pair->run[run];

	return (volatile unsigned char *)fb_kv_region_of(link->job, link->to, FB_KV_DECODE,
							 region) + r->dst + r->bytes - 1;
}

/* What hide() has left there is not what the request brings. */
bool fb_handoff_seen(struct fb_handoff_instance *i)
{
	for (; i->seen.link < i->links; i->seen.link++, i->seen.region = 0) {
		const struct fb_handoff_link *link = &i->link[i->seen.link];

		for (; i->seen.region < fb_kv_regions(&link->job->plan.shape);
		     i->seen.region++, i->seen.run = 0)
			for (; i->seen.run < link->pair->runs; i->seen.run++)
				if (*last_byte(link, i->seen.region, i->seen.run) ==
				    link->hidden[(uint64_t)i->seen.region * link->pair->runs +
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

		for (uint32_t region = 0; region < fb_kv_regions(&link->job->plan.shape); region++)
			for (uint32_t r = 0; r < link->pair->runs; r++) {
				volatile unsigned char *byte = last_byte(link, region, r);

				*byte = *hidden++ = (unsigned char)~*byte;
			}
	}
}

/* Medians of watched requests: from the first sender's begin until the last receiver. */
static int put_visible(struct fb_handoff_instance *i)
{
	size_t n = i->calls;
	double *all = fb_handoff_reduce(i), *visible, *notified, scratch[2 * WATCHED];

	if (!all)
		return FB_ENOMEM;
	visible = all + FB_STAGE_VISIBLE * n;
	notified = all + FB_STAGE_NOTIFIED * n;
	for (size_t k = 0; k < n; k++) {
		notified[k] = (notified[k] - visible[k]) * 1e6;
		visible[k] = (visible[k] + all[FB_STAGE_BEGIN * n + k]) * 1e6;
	}
	i->value[FB_HANDOFF_VISIBLE_US] = fb_median(visible, n, scratch);
	i->value[FB_HANDOFF_NOTICE_US] = fb_median(notified, n, scratch);
	free(all);
	return FB_OK;
}

static int watch_pages(struct fb_handoff_instance *i)
{
	int err = FB_OK;

	for (int k = 0; k < i->links && i->receives && !err; k++) {
		struct fb_handoff_link *link = &i->link[k];

		link->hidden = calloc((uint64_t)fb_kv_regions(&link->job->plan.shape) *
					      link->pair->runs, 1);
		err = link->hidden ? FB_OK : FB_ENOMEM;
	}
	err = fb_group_agree(i->state->machine.world, err);
	i->watches = true;
	/* Before the first one nothing is hidden. */
	for (int k = 0; k <= WATCHED && !err; k++) {
		err = fb_handoff_once(i, ++i->handed);
		i->calls = k ? i->calls : 0;
	}
	i->watches = false;
	return err ? err : put_visible(i);
}

/* fb_gpu_busy_run_fn */
static int run_requests(void *arg, int calls)
{
	struct fb_handoff_instance *i = arg;
	int err = FB_OK;

	for (int k = 0; k < calls && !err; k++)
		err = fb_handoff_once(i, ++i->handed);
	return err;
}

int fb_handoff_watch(struct fb_handoff_instance *i)
{
	const struct fb_kv_machine *m = &i->state->machine;
	const struct fb_handoff_plan *p = &i->plan;
	struct fb_gpu_busy_shares shares;
	double call_s;
	int err = FB_OK;

	if (i->engine->device) {
		err = fb_gpu_busy_measure(&m->gpu, m->world, m->session->clock, run_requests, i,
					  &shares, &call_s);
		/* The GPU of an end that does nothing looks as one without counters. */
		i->sm_s = isnan(shares.sms) ? 0 : shares.sms * m->gpu.sms * call_s;
	} else if (!p->get && !p->send && !p->wire && m->world->nnodes == 1) {
		err = watch_pages(i);
	}
	i->calls = 0;
	i->cpu_s = 0;
	return err;
}
