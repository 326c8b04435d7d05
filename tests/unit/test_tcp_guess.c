/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large messages, whose place the tcp transport guesses before they are there: cut at every byte
 * near a frame, with others in front of them and behind, longer and shorter ones, more and fewer
 * frames than usual. Everything must be where it belongs, and one read must be enough where the
 * guess is right.
 *
 * The peer is this program: it writes the bytes of frames and payloads into a pair of sockets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/transport/tcp.h"
#include "tests/unit/check.h"
#include "tests/unit/tcp_pair.h"

enum { NONE, POSTED, SLOTTED, CREDIT, LINKS, PAD };
enum {
	SLOTS = 8,     /* no more messages of a link */
	MOST = 300000, /* bytes of a message */
	GUARD = 64,
	ITEMS = 24,
	ROUNDS = 10000,
	EPOCH = 7,
	USUAL = FB_TCP_LARGE + 100, /* bytes, large enough to be guessed */
	NEAR = 70,                  /* bytes from an end of something */
#ifdef __SANITIZE_ADDRESS__ /* ten times slower, and the same code */
	EVERY = 7,
#else
	EVERY = 1,
#endif
};

/* A message of the link, or a credit for it; or a frame that says nothing. */
struct item {
	int link;
	size_t bytes;
};

struct bench {
	struct tcp_pair pair;
	struct fb_tcp_link *links[LINKS];
	unsigned char user[SLOTS][FB_TCP_LEAD + MOST + GUARD];
	unsigned char *stream;
	size_t bytes, sent;         /* of the stream */
	const struct item *items;
	int nitems, turn[LINKS];    /* of the next message to be looked at */
};

static unsigned char content(int link, int turn, size_t i)
{
	return (unsigned char)(link * 101 + turn * 29 + (int)(i * 3 + (i >> 8) * 5) + 1);
}

/* The posted link's messages have headroom, or not. */
static int bench_open(struct bench *b, bool headroom)
{
	memset(b, 0, sizeof(*b));
	b->stream = malloc((size_t)ITEMS * (MOST + sizeof(struct fb_tcp_frame)));
	if (!b->stream || !tcp_pair_open(&b->pair, EPOCH))
		return FB_ESYS;
	for (int i = POSTED; i < LINKS; i++) {
		struct fb_link_request request = {
			.id = (uint32_t)i, .sends = i == CREDIT, .slots = SLOTS,
			.slot_bytes = MOST, .posted = i == POSTED, .headroom = headroom};

		if (fb_tcp_link_new(&b->pair.tcp, &request, &b->links[i]))
			return FB_ENOMEM;
	}
	b->links[CREDIT]->unreleased = SLOTS;
	memset(b->user, 0xc7, sizeof(b->user));
	for (int i = 0; i < SLOTS; i++)
		fb_tcp_post(&b->links[POSTED]->port, b->user[i] + FB_TCP_LEAD);
	return FB_OK;
}

static void bench_close(struct bench *b)
{
	for (int i = POSTED; i < LINKS; i++)
		fb_tcp_link_free(&b->pair.tcp, b->links[i]);
	tcp_pair_close(&b->pair);
	free(b->stream);
}

/* Puts frames and payloads of the items behind one another. */
static void lay_out(struct bench *b, const struct item *items, int n)
{
	uint16_t turn[LINKS] = {0};

	b->items = items;
	b->nitems = n;
	b->bytes = 0;
	for (int k = 0; k < n; k++) {
		struct fb_tcp_frame frame = {.kind = FB_TCP_PAD};

		if (items[k].link != PAD)
			frame = (struct fb_tcp_frame){
				.link = b->links[items[k].link]->index, .epoch = EPOCH,
				.kind = items[k].link == CREDIT ? FB_TCP_CREDIT : FB_TCP_DATA,
				.turn = turn[items[k].link]++,
				.bytes = items[k].link == CREDIT
						 ? 1 : items[k].bytes & FB_TCP_LONGEST,
			};
		memcpy(b->stream + b->bytes, &frame, sizeof(frame));
		b->bytes += sizeof(frame);
		for (size_t i = 0; i < items[k].bytes; i++)
			b->stream[b->bytes++] = content(items[k].link, frame.turn, i);
	}
}

/* Bytes of the first n items. */
static size_t length(const struct item *items, int n)
{
	size_t sum = 0;

	for (int k = 0; k < n; k++)
		sum += sizeof(struct fb_tcp_frame) + items[k].bytes;
	return sum;
}

/* The bytes of the link's next message; returns false if there is none to come. */
static bool next_of(const struct bench *b, int link, size_t *bytes)
{
	int turn = 0;

	for (int k = 0; k < b->nitems; k++)
		if (b->items[k].link == link && turn++ == b->turn[link]) {
			*bytes = b->items[k].bytes;
			return true;
		}
	return false;
}

/* Looks for the link's next message, and at it. Returns whether it was there. */
static bool look(struct bench *b, int link, size_t bytes)
{
	struct fb_port *port = &b->links[link]->port;
	const unsigned char *at = port->ops->peek(port, bytes);
	size_t wrong = 0;

	if (!at)
		return false;
	for (size_t i = 0; i < bytes; i++)
		wrong += at[i] != content(link, b->turn[link], i);
	CHECK_INT(wrong, 0);
	if (link == POSTED) {
		CHECK(at == b->user[b->turn[link]] + FB_TCP_LEAD);
		/* What is in front of it belongs to the link where it is headroom only. */
		CHECK(b->links[POSTED]->headroom || at[-1] == 0xc7);
		CHECK(at[MOST] == 0xc7 && at[MOST + GUARD - 1] == 0xc7);
	}
	port->ops->release(port);
	b->turn[link]++;
	return true;
}

/* Writes the stream up to byte `limit`, while the link `first` is waited for, then the other. */
static void feed(struct bench *b, size_t limit, int first)
{
	int idle = 0;

	for (int i = 0; i < ROUNDS && idle < 2 && !b->pair.tcp.err; i++) {
		bool moved = false;
		size_t bytes;

		if (b->sent < limit) {
			ssize_t n = send(b->pair.wire, b->stream + b->sent, limit - b->sent, 0);

			if (n < 0)
				CHECK_INT(errno, EAGAIN);
			b->sent += n > 0 ? (size_t)n : 0;
			moved = n > 0;
		}
		fb_tcp_progress(&b->pair.tcp.transport);
		if (next_of(b, first, &bytes))
			moved |= look(b, first, bytes);
		else if (next_of(b, POSTED + SLOTTED - first, &bytes))
			moved |= look(b, POSTED + SLOTTED - first, bytes);
		idle = moved || b->sent < limit ? 0 : idle + 1;
	}
}

/* All of the items come, cut at two places, of which the first chooses the kind of memory too. */
static void deliver(struct bench *b, const struct item *items, int n, size_t cut, size_t second)
{
	int want[PAD + 1] = {0}, first = SLOTTED;

	if (!CHECK_INT(bench_open(b, (cut + second) % 2), FB_OK))
		return;
	for (int k = 0; k < n; k++)
		if (items[k].link == POSTED || items[k].link == SLOTTED)
			first = items[k].link;
	lay_out(b, items, n);
	feed(b, cut, first);
	feed(b, second, first);
	feed(b, b->bytes, first);
	for (int k = 0; k < n; k++)
		want[items[k].link]++;
	CHECK_INT(b->pair.tcp.err, FB_OK);
	CHECK_INT(b->turn[POSTED], want[POSTED]);
	CHECK_INT(b->turn[SLOTTED], want[SLOTTED]);
	CHECK_INT(SLOTS - b->links[CREDIT]->unreleased, want[CREDIT]);
	bench_close(b);
}

#define LEAD {PAD, 0}, {CREDIT, 0}, {PAD, 0}

/* The link waited for is that of the last message. Up to the first item that is NONE. */
static const struct item stories[][ITEMS] = {
	/* As guessed, once and again, and with other things behind it in the same read. */
	{LEAD, {POSTED, USUAL}},
	{LEAD, {POSTED, USUAL}, LEAD, {POSTED, USUAL}},
	{LEAD, {POSTED, USUAL}, {SLOTTED, 40}, {CREDIT, 0}, LEAD, {POSTED, USUAL + 9},
	 {CREDIT, 0}, {POSTED, 3}},
	/* Frames in front are none, fewer, more. */
	{{POSTED, USUAL}, LEAD, {POSTED, USUAL}},
	{{CREDIT, 0}, {POSTED, USUAL}, {POSTED, 0}},
	{{CREDIT, 0}, LEAD, {POSTED, USUAL}, {PAD, 0}, {POSTED, 77}},
	/* Another link's message first: small, empty, as long, shorter, longer. */
	{{SLOTTED, 5}, LEAD, {POSTED, USUAL}},
	{{SLOTTED, 0}, {SLOTTED, 0}, LEAD, {POSTED, USUAL}},
	{LEAD, {SLOTTED, USUAL}, LEAD, {POSTED, USUAL}},
	{LEAD, {SLOTTED, USUAL - 99}, LEAD, {POSTED, USUAL}},
	{LEAD, {SLOTTED, 2 * USUAL}, LEAD, {POSTED, USUAL}},
	/* Small, alone; and of the length that is waited for, from another link. */
	{{POSTED, 40}},
	{{SLOTTED, 40}, {CREDIT, 0}, {POSTED, 40}, {POSTED, 40}},
	{{SLOTTED, 40}, {SLOTTED, 41}, {POSTED, 40}},
	/* Many small ones. */
	{{SLOTTED, 1}, {SLOTTED, 20}, {SLOTTED, 300}, {SLOTTED, 4000}, {SLOTTED, 17}, LEAD,
	 {POSTED, USUAL}},
};

/* Whether something begins or ends near the byte. */
static bool is_near(const struct item *items, int n, size_t byte)
{
	for (int k = 0; k <= n; k++) {
		size_t end = length(items, k);

		if (byte + NEAR > end && byte < end + NEAR)
			return true;
	}
	return false;
}

/* swapped: what goes to the one link goes to the other instead. */
static void test_cuts(struct bench *b, const struct item *story, bool swapped)
{
	struct item items[ITEMS];
	int n = 0;
	size_t to;

	for (; n < ITEMS && story[n].link; n++) {
		items[n] = story[n];
		if (swapped && (items[n].link == POSTED || items[n].link == SLOTTED))
			items[n].link = POSTED + SLOTTED - items[n].link;
	}
	to = length(items, n);
	for (size_t cut = 0; cut <= to && !check_failures; cut += EVERY) {
		size_t second = cut + 1 + cut * 7 % 50;

		if (cut % 997 < EVERY || is_near(items, n, cut))
			deliver(b, items, n, cut, second < to ? second : to);
	}
}

/* Messages of which a guess takes only a part. */
static void test_longer(struct bench *b)
{
	static const struct item items[] = {
		LEAD, {POSTED, MOST}, LEAD, {SLOTTED, FB_TCP_GUESS}, LEAD, {POSTED, MOST},
		LEAD, {SLOTTED, 20000}, LEAD, {POSTED, 20000}, LEAD, {POSTED, MOST}};
	enum { N = sizeof(items) / sizeof(items[0]) };
	static const size_t places[] = {0, 63, 64, 65, 600, FB_TCP_GUESS, FB_TCP_GUESS + 64,
					FB_TCP_GUESS + 99, MOST};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		for (size_t j = i; j < sizeof(places) / sizeof(places[0]); j++)
			deliver(b, items, N, places[i], places[j] + 3);
}

/* A message comes whole, and is waited for. Returns by how many reads it was taken. */
static unsigned take_one(struct bench *b, const struct item *items, int n, int link, size_t bytes)
{
	lay_out(b, items, n);
	/* The next message has the next number, and only the last four items are new. */
	b->sent = length(items, n - 4);
	CHECK_INT(send(b->pair.wire, b->stream + b->sent, b->bytes - b->sent, 0),
		  b->bytes - b->sent);
	reads = 0;
	fb_tcp_progress(&b->pair.tcp.transport);
	CHECK(look(b, link, bytes));
	return reads;
}

/* A message that is all there takes one read; if one was in vain, it goes to its place by it. */
static void test_reads(struct bench *b)
{
	static const size_t sizes[] = {8, 4096, FB_TCP_LARGE, 64 * 1024};
	enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

	for (size_t i = 0; i < 8 * SIZES; i++) {
		int link = i % 2 ? POSTED : SLOTTED;
		bool headroom = i / 2 % 2, vain = i / 4 % 2;
		const struct item items[] = {LEAD, {link, sizes[i / 8]}};
		size_t bytes = items[3].bytes;

		if (!CHECK_INT(bench_open(b, headroom), FB_OK))
			return;
		CHECK(!look(b, link, bytes));
		if (vain)
			fb_tcp_progress(&b->pair.tcp.transport);
		CHECK(!look(b, link, bytes));
		CHECK_INT(take_one(b, items, 4, link, bytes), 1);
		/* The last frame is still where a guess has put it. */
		if (link == POSTED && headroom && (vain || bytes >= FB_TCP_LARGE))
			CHECK((b->user[0][FB_TCP_LEAD - 1] != 0xc7) == (bytes >= FB_TCP_LED));
		bench_close(b);
	}
}

/* Two links are waited for at once: as soon as their order is known, one read for each message. */
static void test_order(struct bench *b)
{
	static const struct item items[] = {
		LEAD, {POSTED, USUAL}, LEAD, {SLOTTED, USUAL}, LEAD, {POSTED, USUAL},
		LEAD, {SLOTTED, USUAL}, LEAD, {POSTED, USUAL}, LEAD, {SLOTTED, USUAL}};

	if (!CHECK_INT(bench_open(b, true), FB_OK))
		return;
	for (int k = 0; k < 6; k++) {
		int link = k % 2 ? SLOTTED : POSTED;
		unsigned taken;

		CHECK(!look(b, POSTED, USUAL));
		CHECK(!look(b, SLOTTED, USUAL));
		taken = take_one(b, items, 4 * (k + 1), link, USUAL);
		/* The order is known when each has come after the other once. */
		if (k > 2)
			CHECK_INT(taken, 1);
	}
	bench_close(b);
}

int main(void)
{
	struct bench *b = malloc(sizeof(*b));

	if (!b)
		return 1;
	for (size_t s = 0; s < 2 * sizeof(stories) / sizeof(stories[0]); s++) {
		test_cuts(b, stories[s / 2], s % 2);
		if (check_failures)
			printf("story %zu, %s\n", s / 2, s % 2 ? "swapped" : "as it is");
	}
	test_longer(b);
	test_reads(b);
	test_order(b);
	free(b);
	return check_done("tcp_guess");
}
