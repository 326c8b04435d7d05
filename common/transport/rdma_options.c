/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of everything that uses verbs; see rdma_options.h. */
#include "common/option/rdma_options.h"

#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/transport/rdma_choice.h"

const char *const fb_rdma_mtu_names[] = {"auto", "256", "512", "1024", "2048", "4096", NULL};
const char *const fb_rdma_notify_names[] = {"write", "imm", NULL};
const char *const fb_rdma_connect_names[] = {"mpi", "cm", NULL};
const char *const fb_rdma_wait_names[] = {"poll", "event", "hybrid", NULL};

const struct fb_rdma_settings fb_rdma_defaults = {
	.device = "auto", .gid_index = -1, .timeout = 14, .retry = 6, .rnr_retry = 7, .qps = 1,
	.depth = 512, .inline_bytes = 512, .signal = 32, .batch = 16, .sges = 1,
	.stripe = 32 << 10, .reads = 16, .waits = 1 << FB_RDMA_WAIT_POLL,
	.spin_us = 20,
};

int fb_rdma_check_device(const char *value, char *accepted, size_t n)
{
	struct fb_rdma_rail_name rails[FB_RDMA_RAILS];

	int near = fb_rdma_parse_auto(value);

	if (near > 0 || (!near && fb_rdma_parse_rails(value, rails) > 0))
		return FB_OK;
	snprintf(accepted, n, "auto, auto:1 to auto:%d, auto:all, or up to %d of device or "
		 "device:port, separated by commas", FB_RDMA_RAILS, FB_RDMA_RAILS);
	return FB_EINPUT;
}

static void add(char *text, size_t n, const char *key, const char *value)
{
	size_t used = strlen(text), more = strlen(key) + strlen(value) + 2;

	if (used + more < n)
		snprintf(text + used, n - used, "%s%s=%s", used ? ";" : "", key, value);
}

static void add_number(char *text, size_t n, const char *key, uint64_t value, uint64_t fallback)
{
	char digits[24];

	if (value == fallback)
		return;
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	add(text, n, key, digits);
}

/* In the order of the keys' names. The device is not a key: column `path` has it. */
void fb_rdma_variant(const struct fb_rdma_settings *s, char *text, size_t n)
{
	const struct fb_rdma_settings *d = &fb_rdma_defaults;

	add_number(text, n, "rdma_batch", s->batch, d->batch);
	if (s->connect != d->connect)
		add(text, n, "rdma_connect", fb_rdma_connect_names[s->connect]);
	add_number(text, n, "rdma_depth", s->depth, d->depth);
	add_number(text, n, "rdma_inline", s->inline_bytes, d->inline_bytes);
	if (s->mtu)
		add(text, n, "rdma_mtu", fb_rdma_mtu_names[s->mtu]);
	if (s->notify != d->notify)
		add(text, n, "rdma_notify", fb_rdma_notify_names[s->notify]);
	add_number(text, n, "rdma_odp", s->odp, d->odp);
	add_number(text, n, "rdma_qps", s->qps, d->qps);
	add_number(text, n, "rdma_reads", (uint64_t)s->reads, (uint64_t)d->reads);
	add_number(text, n, "rdma_relaxed_ordering", s->relaxed_ordering, d->relaxed_ordering);
	add_number(text, n, "rdma_retry", (uint64_t)s->retry, (uint64_t)d->retry);
	add_number(text, n, "rdma_rnr_retry", (uint64_t)s->rnr_retry, (uint64_t)d->rnr_retry);
	add_number(text, n, "rdma_service_level", (uint64_t)s->service_level,
		   (uint64_t)d->service_level);
	add_number(text, n, "rdma_sges", s->sges, d->sges);
	add_number(text, n, "rdma_signal", s->signal, d->signal);
	add_number(text, n, "rdma_spin", s->spin_us, d->spin_us);
	add_number(text, n, "rdma_stripe", s->stripe, d->stripe);
	add_number(text, n, "rdma_timeout", (uint64_t)s->timeout, (uint64_t)d->timeout);
	add_number(text, n, "rdma_traffic_class", (uint64_t)s->traffic_class,
		   (uint64_t)d->traffic_class);
	if (fb_rdma_wait_of(s) != FB_RDMA_WAIT_POLL)
		add(text, n, "rdma_wait", fb_rdma_wait_names[fb_rdma_wait_of(s)]);
}
