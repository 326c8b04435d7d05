/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping until a completion comes, instead of polling; see rdma_queue.h. */
#include "common/transport/rdma_queue.h"

#if FB_HAVE_VERBS

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "common/base/error.h"
#include "common/measure/clock.h"

enum {
	NAP_MS = 50,     /* longest sleep of a call, so that the watchdog can end the wait */
	GRACE_MS = 5000, /* longest time from a completion to its event */
};

/* Asks for an event at the next completion. */
static int arm(struct fb_rdma_completions *c)
{
	int error = ibv_req_notify_cq(c->cq, 0);

	c->armed = !error;
	c->asleep = false;
	return error ? fb_error(FB_ESYS, "rdma: %s gives no events of completions: %s",
				c->rail->name, strerror(error))
		     : FB_OK;
}

/* Takes the event that has come. */
static int take_event(struct fb_rdma_completions *c)
{
	const struct fb_verbs *v = c->rail->verbs;
	struct ibv_cq *cq;
	void *arg;

	if (v->get_cq_event(c->channel, &cq, &arg))
		return fb_error(FB_ESYS, "rdma: %s: an event of completions cannot be read: %s",
				c->rail->name, strerror(errno));
	v->ack_cq_events(cq, 1);
	c->armed = c->asleep = false;
	return FB_OK;
}

/* After a sleep without an event, a poll found completions: now their event must be there. */
static int check_event(struct fb_rdma_completions *c)
{
	struct pollfd fd = {.fd = c->channel->fd, .events = POLLIN};

	if (!c->asleep || c->taken == c->slept)
		return FB_OK;
	if (poll(&fd, 1, GRACE_MS) > 0)
		return take_event(c);
	c->broken = true;
	return fb_error(FB_EPEER, "rdma: %s: a completion came without an event, which had been "
			"asked for (check that the device's interrupts arrive: /proc/interrupts, "
			"and the kernel's log)", c->rail->name);
}

static int sleep_for_events(struct fb_rdma_completions *rails, int n, bool *idle)
{
	struct pollfd fds[FB_RDMA_RAILS];
	int err = FB_OK, came;

	for (int r = 0; r < n; r++) {
		fds[r] = (struct pollfd){.fd = rails[r].channel->fd, .events = POLLIN};
		rails[r].asleep = true;
		rails[r].slept = rails[r].taken;
	}
	came = poll(fds, (nfds_t)n, NAP_MS);
	*idle = came <= 0;
	for (int r = 0; r < n && came > 0 && !err; r++)
		if (fds[r].revents)
			err = take_event(&rails[r]);
	return err;
}

int fb_rdma_rest(struct fb_rdma_completions *rails, int n, uint64_t spin_us, bool *idle)
{
	uint64_t taken = 0;
	bool armed = true;
	int err = FB_OK;

	*idle = false;
	for (int r = 0; r < n && !err; r++) {
		taken += rails[r].taken;
		err = check_event(&rails[r]);
	}
	if (err)
		return err;
	/* Completions have come since the last call, and the caller may not have used them yet. */
	if (taken != rails->rested) {
		rails->rested = taken;
		rails->rested_us = spin_us ? 1e6 * fb_monotonic_s() : 0;
		return FB_OK;
	}
	if (spin_us && 1e6 * fb_monotonic_s() - rails->rested_us < (double)spin_us)
		return FB_OK;
	for (int r = 0; r < n && !err; r++) {
		if (rails[r].armed)
			continue;
		armed = false;
		err = arm(&rails[r]);
	}
	/* Completions from before the request cause no event, so the caller polls once more. */
	return err || !armed ? err : sleep_for_events(rails, n, idle);
}

#endif
