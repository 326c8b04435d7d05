/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages dealt to queue pairs: every byte by one lane, and never more at once than asked. */
#include "p2p/engine/rdma_verb.h"

#include <string.h>

#include "tests/unit/check.h"

enum { MESSAGES = 50, MOST = 4096 };

/* How often each byte of each message is carried. */
static unsigned char carried[MESSAGES][MOST];

static void carry(const struct fb_raw_share *share)
{
	uint64_t parts = fb_raw_parts(share, MESSAGES);

	for (uint64_t i = 0; i < parts; i++) {
		uint64_t message = fb_raw_message(share, i);

		if (!CHECK(message < MESSAGES && share->offset + share->bytes <= MOST))
			return;
		CHECK_INT(fb_raw_parts(share, message), i);
		CHECK_INT(fb_raw_parts(share, message + 1), i + 1);
		for (size_t b = 0; b < share->bytes; b++)
			carried[message][share->offset + b]++;
	}
	CHECK(fb_raw_message(share, parts) >= MESSAGES);
}

static void test_deal(const struct fb_raw_deal *deal)
{
	static struct fb_raw_share shares[FB_RAW_LANES];
	int n = fb_raw_share_out(deal, shares), wrong = 0;
	bool cut = false;

	memset(carried, 0, sizeof(carried));
	CHECK(n >= 1 && n <= FB_RAW_LANES);
	for (int i = 0; i < n; i++) {
		const struct fb_raw_share *share = &shares[i];

		CHECK(share->rail < deal->rails && share->queue < deal->qps);
		CHECK(share->bytes >= 1 && share->window >= 1 && share->window <= deal->depth);
		for (int k = 0; k < i; k++)
			CHECK(shares[k].rail != share->rail || shares[k].queue != share->queue);
		cut |= share->bytes < deal->bytes;
		carry(share);
	}
	for (int m = 0; m < MESSAGES; m++)
		for (size_t b = 0; b < MOST; b++)
			wrong += carried[m][b] != (b < deal->bytes);
	CHECK_INT(wrong, 0);
	CHECK(!cut || deal->bytes >= deal->stripe);
}

/* Parts under way: with nothing cut, the lanes' windows add up to the job's. */
static void test_windows(void)
{
	static const int windows[] = {1, 2, 3, 64, 1000};
	static struct fb_raw_share shares[FB_RAW_LANES];

	for (size_t w = 0; w < sizeof(windows) / sizeof(windows[0]); w++)
		for (int qps = 1; qps <= 64; qps += 9) {
			const struct fb_raw_deal deal = {
				.bytes = 8, .window = windows[w], .rails = 3, .qps = qps,
				.stripe = 64, .depth = 4096};
			int n = fb_raw_share_out(&deal, shares), sum = 0;

			for (int i = 0; i < n; i++)
				sum += (int)shares[i].window;
			CHECK_INT(sum, windows[w]);
		}
}

static void test_deals(void)
{
	static const size_t sizes[] = {1, 8, 63, 64, 65, 1000, MOST};
	static const int windows[] = {1, 2, 7, 64};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (size_t w = 0; w < sizeof(windows) / sizeof(windows[0]); w++)
			for (int rails = 1; rails <= 4; rails++)
				for (int qps = 1; qps <= 5; qps += 2) {
					struct fb_raw_deal deal = {
						.bytes = sizes[s], .window = windows[w],
						.rails = rails, .qps = qps, .depth = 16,
						.stripe = 512,
					};

					test_deal(&deal);
					deal.stripe = 1;
					test_deal(&deal);
				}
}

static void test_verbs(void)
{
	CHECK_INT(fb_raw_verb_of("read"), FB_RAW_READ);
	CHECK_INT(fb_raw_verb_of("simple"), FB_RAW_VERBS);
	CHECK(!fb_raw_verb_fits(FB_RAW_VERBS, FB_SEND, FB_ONE_WAY));
	CHECK(fb_raw_verb_fits(FB_RAW_WRITE, FB_SEND, FB_PING_PONG));
	CHECK(!fb_raw_verb_fits(FB_RAW_WRITE, FB_SEND, FB_ONE_WAY));
	CHECK(fb_raw_verb_fits(FB_RAW_WRITE, FB_PUT, FB_ONE_WAY));
	CHECK(fb_raw_verb_fits(FB_RAW_FETCH_ADD, FB_GET, FB_TWO_WAY));
	CHECK(!fb_raw_verb_fits(FB_RAW_READ, FB_PUT, FB_ONE_WAY));
	/* Each verb serves somebody. */
	for (int verb = 0; verb < FB_RAW_VERBS; verb++) {
		bool serves = false;

		for (int algorithm = 0; algorithm < FB_VERBS; algorithm++)
			serves |= fb_raw_verb_fits((enum fb_raw_verb)verb,
						   (enum fb_verb)algorithm, FB_ONE_WAY);
		CHECK(serves);
	}
}

int main(void)
{
	test_verbs();
	test_windows();
	test_deals();
	return check_done("raw_verb");
}
