/* SPDX-License-Identifier: BSD-3-Clause */
/* Raw verbs, and messages dealt to queue pairs; see rdma_verb.h. */
#include "p2p/engine/rdma_verb.h"

#include <string.h>

const char *const fb_raw_verbs[] = {
	[FB_RAW_SEND] = "send",
	[FB_RAW_WRITE] = "write",
	[FB_RAW_WRITE_IMM] = "write_imm",
	[FB_RAW_READ] = "read",
	[FB_RAW_FETCH_ADD] = "fetch_add",
	[FB_RAW_COMPARE_SWAP] = "compare_swap",
	[FB_RAW_VERBS] = NULL,
};

enum fb_raw_verb fb_raw_verb_of(const char *name)
{
	int verb = 0;

	while (fb_raw_verbs[verb] && strcmp(fb_raw_verbs[verb], name))
		verb++;
	return (enum fb_raw_verb)verb;
}

bool fb_raw_verb_fits(enum fb_raw_verb verb, enum fb_verb algorithm, enum fb_pattern pattern)
{
	static const bool fits[FB_RAW_VERBS][FB_VERBS] = {
		[FB_RAW_SEND] = {[FB_SEND] = true},
		[FB_RAW_WRITE] = {[FB_SEND] = true, [FB_PUT] = true},
		[FB_RAW_WRITE_IMM] = {[FB_SEND] = true},
		[FB_RAW_READ] = {[FB_GET] = true},
		[FB_RAW_FETCH_ADD] = {[FB_GET] = true},
		[FB_RAW_COMPARE_SWAP] = {[FB_GET] = true},
	};

	if (verb == FB_RAW_WRITE && algorithm == FB_SEND && pattern != FB_PING_PONG)
		return false;
	return verb < FB_RAW_VERBS && algorithm < FB_VERBS && fits[verb][algorithm];
}

/* How many of a window's messages the share has under way, as far as the queue is deep enough. */
static uint32_t share_window(const struct fb_raw_deal *deal, const struct fb_raw_share *share)
{
	uint64_t window = fb_raw_parts(share, (uint64_t)deal->window);

	return (uint32_t)(window < deal->depth ? window : deal->depth);
}

int fb_raw_share_out(const struct fb_raw_deal *deal, struct fb_raw_share *shares)
{
	bool striped = deal->rails > 1 && deal->bytes >= deal->stripe;
	int queues = striped ? deal->qps : deal->qps * deal->rails, n = 0;

	/* More queues than messages under way would only wait for each other. */
	if (queues > deal->window)
		queues = deal->window;
	for (int q = 0; q < queues; q++)
		for (int r = 0; r < (striped ? deal->rails : 1); r++) {
			struct fb_raw_share *share = &shares[n];

			*share = (struct fb_raw_share){
				.rail = striped ? r : q % deal->rails,
				.queue = striped ? q : q / deal->rails,
				.first = (uint64_t)q, .step = (uint64_t)queues,
				.bytes = deal->bytes,
			};
			if (striped)
				fb_rdma_stripe(deal->bytes, r, deal->rails, &share->offset,
					       &share->bytes);
			share->window = share_window(deal, share);
			n += share->bytes > 0;
		}
	return n;
}
