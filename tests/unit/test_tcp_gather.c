/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * By how many calls the tcp transport sends, and what it sends: small messages in a row leave
 * together and in order, at the next progress(), whether sockets are tried in turn or by epoll; one
 * alone leaves at once; headroom makes one part of memory of a frame and a payload, and what the
 * kernel does not take is sent later though the headroom has been used by others meanwhile.
 *
 * The peer is this program: it reads the bytes from the other end of a pair of sockets.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/transport/tcp.h"
#include "tests/unit/check.h"
#include "tests/unit/tcp_pair.h"

enum {
	SLOTS = 256,
	MOST = 600000, /* bytes of a message: more than the kernel holds */
	WIRE = 1 << 20,
	MANY = 90,     /* more than parts of memory in one call */
};

enum kind { SLOTTED, POSTED, HEADROOM };

struct bench {
	struct tcp_pair pair;
	struct fb_tcp_link *link;
	unsigned char user[FB_TCP_LEAD + MOST], got[WIRE];
	size_t n, taken; /* bytes that arrived, and that were looked at */
	int turn;
};

static unsigned char content(int turn, size_t i)
{
	return (unsigned char)(turn * 29 + (int)(i * 3 + (i >> 8) * 5) + 1);
}

static bool bench_open(struct bench *b, enum kind kind, bool epoll)
{
	struct fb_link_request request = {.sends = true, .slots = SLOTS, .slot_bytes = MOST,
					  .posted = kind != SLOTTED, .headroom = kind == HEADROOM};

	memset(b, 0, sizeof(*b));
	if (kind == SLOTTED)
		request.slot_bytes = FB_TCP_GATHER;
	if (!tcp_pair_open(&b->pair, 0))
		return false;
	if (fb_tcp_link_new(&b->pair.tcp, &request, &b->link))
		return false;
	b->link->unreleased = 0; /* the peer has posted as many */
	return !epoll || tcp_pair_watch(&b->pair);
}

static void bench_close(struct bench *b)
{
	fb_tcp_link_free(&b->pair.tcp, b->link);
	tcp_pair_close(&b->pair);
}

static void commit(struct bench *b, size_t bytes)
{
	struct fb_port *port = &b->link->port;
	unsigned char *at = port->ops->acquire(port, bytes);

	if (!CHECK(at))
		return;
	if (b->link->posted)
		at = b->user + FB_TCP_LEAD;
	for (size_t i = 0; i < bytes; i++)
		at[i] = content(b->turn, i);
	b->turn++;
	if (b->link->posted)
		fb_tcp_commit_user(port, at, bytes);
	else
		port->ops->commit(port, bytes);
}

/* Reads what has been sent. */
static void drain(struct bench *b)
{
	ssize_t n;

	while ((n = recv(b->pair.wire, b->got + b->n, WIRE - b->n, 0)) > 0)
		b->n += (size_t)n;
}

/* Whether the next thing on the wire is message `turn`, as it should be. */
static bool arrived(struct bench *b, int turn, size_t bytes)
{
	struct fb_tcp_frame frame = {.kind = FB_TCP_PAD};

	drain(b);
	while (frame.kind == FB_TCP_PAD) {
		if (b->n - b->taken < sizeof(frame))
			return false;
		memcpy(&frame, b->got + b->taken, sizeof(frame));
		b->taken += sizeof(frame);
	}
	if (frame.kind != FB_TCP_DATA || frame.turn != turn || frame.bytes != bytes ||
	    b->n - b->taken < bytes)
		return false;
	for (size_t i = 0; i < bytes; i++)
		if (b->got[b->taken + i] != content(turn, i))
			return false;
	b->taken += bytes;
	return true;
}

static void progress(struct bench *b)
{
	CHECK_INT(fb_tcp_progress(&b->pair.tcp.transport), FB_OK);
}

/* Messages in a row. */
static void test_row(struct bench *b, bool epoll)
{
	static const size_t sizes[] = {8, 1, 0, 300, 3000, 40, 8};
	enum { N = sizeof(sizes) / sizeof(sizes[0]) };
	int turn = 0;

	if (!CHECK(bench_open(b, SLOTTED, epoll)))
		return;
	/* The first of a row leaves at once; after a row the first one of the next waits too. */
	for (unsigned round = 0; round < 3; round++) {
		sends = 0;
		for (int k = 0; k < N; k++)
			commit(b, sizes[k]);
		CHECK_INT(sends, round == 0);
		CHECK(!fb_tcp_rests(&b->pair.tcp.transport));
		CHECK(!fb_tcp_idle(&b->pair.tcp.transport));
		CHECK(!b->link->port.ops->settled(&b->link->port));
		progress(b);
		CHECK_INT(sends, 1 + (round == 0));
		CHECK(fb_tcp_idle(&b->pair.tcp.transport));
		CHECK(b->link->port.ops->settled(&b->link->port));
		for (int k = 0; k < N; k++)
			CHECK(arrived(b, turn++, sizes[k]));
	}
	/* Once one was alone, it leaves at once again. */
	for (int k = 0; k < 3; k++) {
		sends = 0;
		commit(b, 8);
		CHECK_INT(sends, k > 0);
		progress(b);
		CHECK_INT(sends, 1);
		CHECK(arrived(b, turn++, 8));
	}
	bench_close(b);
}

/* More than is kept back, and more parts than one call takes; a large one has all before it go. */
static void test_limits(struct bench *b, bool epoll)
{
	int turn = 0;

	if (!CHECK(bench_open(b, SLOTTED, epoll)))
		return;
	for (int k = 0; k < MANY; k++)
		commit(b, 5000);
	sends = 0;
	commit(b, 5000);
	progress(b);
	for (int k = 0; k < MANY + 1; k++) {
		CHECK(arrived(b, turn++, 5000));
		progress(b);
	}
	for (int k = 0; k < MANY; k++)
		commit(b, 3);
	CHECK(!arrived(b, turn, 3));
	commit(b, FB_TCP_GATHER);
	for (int k = 0; k < MANY; k++)
		CHECK(arrived(b, turn++, 3));
	CHECK(arrived(b, turn, FB_TCP_GATHER));
	bench_close(b);
}

/* Posted messages of all sizes, of which the kernel takes the largest in parts. */
static void test_posted(struct bench *b, enum kind kind)
{
	static const size_t sizes[] = {1, 8, 1023, 1024, 4096, 20000, MOST, 17};
	int n = 0;

	if (!CHECK(bench_open(b, kind, false)))
		return;
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		sends = 0;
		commit(b, sizes[k]);
		CHECK_INT(sends, 1);
		CHECK_INT(parts, kind == HEADROOM ? 1 : 2);
		if (kind == HEADROOM)
			memset(b->user, 0x55, FB_TCP_LEAD);
		for (n = 0; n < 100 && !b->link->port.ops->settled(&b->link->port); n++) {
			drain(b);
			progress(b);
		}
		CHECK((n > 0) == (sizes[k] == MOST));
		CHECK(arrived(b, (int)k, sizes[k]));
		b->n = b->taken = 0;
		progress(b);
	}
	bench_close(b);
}

int main(void)
{
	struct bench *b = malloc(sizeof(*b));

	if (!b)
		return 1;
	for (int epoll = 0; epoll < 2; epoll++) {
		test_row(b, epoll);
		test_limits(b, epoll);
	}
	test_posted(b, POSTED);
	test_posted(b, HEADROOM);
	free(b);
	return check_done("tcp_gather");
}
