/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port that is down is given up when all retries must be over, not before, and not when it was up
 * in between; and its state is asked for once a second. By a library that is made up here.
 */
#include "common/transport/rdma_queue.h"

#include "tests/unit/check.h"

#if FB_HAVE_VERBS

#include <errno.h>

#include "common/base/error.h"

static struct {
	enum ibv_port_state state;
	int fails, asked;
	uint8_t number;
} port;

static int query_port(struct ibv_context *context, uint8_t number, struct ibv_port_attr *attr)
{
	(void)context;
	port.asked++;
	port.number = number;
	if (port.fails)
		return ENODEV;
	attr->state = port.state;
	return 0;
}

static const struct fb_verbs verbs = {.query_port = query_port};
static const struct fb_rdma_rail rail = {.verbs = &verbs, .name = "made_up_0", .number = 2};

/* Retries of 7 x 4 x 4.096 us x 2^17 = 15.03 s. */
static const struct fb_rdma_settings settings = {.timeout = 17, .retry = 6};

/* The state from `from` on until `until`, asked ten times a second. When it was given up, or -1. */
static double wait_for(struct fb_rdma_watch *watch, enum ibv_port_state state, double from,
		       double until)
{
	port.state = state;
	for (int i = 0; from + i * 0.1 < until; i++)
		if (fb_rdma_watch(watch, &rail, from + i * 0.1))
			return from + i * 0.1;
	return -1;
}

static void test_given_up(void)
{
	static const enum ibv_port_state down[] = {IBV_PORT_DOWN, IBV_PORT_INIT, IBV_PORT_ARMED};

	for (size_t i = 0; i < sizeof(down) / sizeof(down[0]); i++) {
		struct fb_rdma_watch watch = fb_rdma_watch_begin(&settings);
		double when;

		CHECK(wait_for(&watch, IBV_PORT_ACTIVE, 1000, 1100) < 0);
		when = wait_for(&watch, down[i], 1100, 1200);
		if (!CHECK(when > 1100 + 20.03 && when < 1100 + 20.03 + 2.1))
			printf("\tstate %d: given up at %g\n", down[i], when);
		CHECK(port.number == 2);
		/* Again, as whoever has not heard goes on asking. */
		CHECK(wait_for(&watch, down[i], when + 1, when + 3) >= 0);
	}
}

static void test_not_given_up(void)
{
	struct fb_rdma_watch watch = fb_rdma_watch_begin(&settings);

	CHECK(wait_for(&watch, IBV_PORT_DOWN, 0, 18) < 0);
	CHECK(wait_for(&watch, IBV_PORT_ACTIVE, 18, 20) < 0);
	CHECK(wait_for(&watch, IBV_PORT_DOWN, 20, 38) < 0);
	CHECK(wait_for(&watch, IBV_PORT_ACTIVE_DEFER, 38, 40) < 0);
	CHECK(wait_for(&watch, IBV_PORT_DOWN, 40, 58) < 0);
	CHECK(wait_for(&watch, IBV_PORT_NOP, 58, 100) < 0);
	port.fails = true;
	CHECK(wait_for(&watch, IBV_PORT_DOWN, 100, 200) < 0);
	port.fails = false;
}

/* The device's own retries are waited for, however long they may be. */
static void test_patience(void)
{
	const struct fb_rdma_settings least = {.timeout = 1, .retry = 0};
	const struct fb_rdma_settings most = {.timeout = 22, .retry = 6};
	const struct fb_rdma_settings for_ever = {.timeout = 1, .retry = 7};
	struct fb_rdma_watch watch = fb_rdma_watch_begin(&least);

	CHECK(wait_for(&watch, IBV_PORT_DOWN, 50, 55.9) < 0);
	CHECK(wait_for(&watch, IBV_PORT_DOWN, 56, 58) >= 0);
	watch = fb_rdma_watch_begin(&most);
	CHECK(wait_for(&watch, IBV_PORT_DOWN, 50, 50 + 7 * 4 * 17.17 + 5) < 0);
	CHECK(wait_for(&watch, IBV_PORT_DOWN, 50 + 7 * 4 * 17.2 + 5, 600) >= 0);
	watch = fb_rdma_watch_begin(&for_ever);
	CHECK(wait_for(&watch, IBV_PORT_DOWN, 50, 500) < 0);
}

/* Once a second, and not in a wait's first: in most nobody asks. */
static void test_asked(void)
{
	struct fb_rdma_watch watch = fb_rdma_watch_begin(&settings);
	int before = port.asked;

	wait_for(&watch, IBV_PORT_ACTIVE, 0, 0.95);
	CHECK(port.asked == before);
	wait_for(&watch, IBV_PORT_ACTIVE, 1, 11);
	CHECK(port.asked >= before + 9 && port.asked <= before + 11);
	before = port.asked;
	for (int i = 0; i < 100; i++) {
		watch.waits = false;
		wait_for(&watch, IBV_PORT_DOWN, 20 + i, 20.9 + i);
	}
	CHECK(port.asked == before);
}

/* A link that was down in an earlier wait, and came back unseen, begins anew. */
static void test_waits(void)
{
	struct fb_rdma_watch watch = fb_rdma_watch_begin(&settings);

	CHECK(wait_for(&watch, IBV_PORT_DOWN, 0, 18) < 0);
	watch.waits = false;
	CHECK(wait_for(&watch, IBV_PORT_DOWN, 60, 60 + 20) < 0);
	CHECK(wait_for(&watch, IBV_PORT_DOWN, 60 + 20, 60 + 23) >= 0);
}

enum { RAILS = 2 };

/*
 * As a wait finds it, of all rails; what any has completed ends a wait. What follows a failure is
 * not printed again, nor asked of the completion queue.
 */
static void test_look_up(void)
{
	struct fb_rdma_completions c[RAILS] = {{.rail = &rail}, {.rail = &rail}};

	port.state = IBV_PORT_DOWN;
	for (int i = 0; i < 2; i++) {
		CHECK(!fb_rdma_look_up(c, RAILS));
		for (int r = 0; r < RAILS; r++) {
			CHECK(c[r].watch.waits && !c[r].broken);
			/* Long ago; but the other rail carries. */
			c[r].watch.asked_s = c[r].watch.down_s = -1;
			c[r].watch.down = true;
		}
		c[1].taken++;
	}
	CHECK(!fb_rdma_look_up(c, RAILS));
	c[1].watch = (struct fb_rdma_watch){.waits = true, .down = true, .asked_s = -1,
					    .down_s = -1};
	CHECK(fb_rdma_look_up(c, RAILS) == FB_EPEER);
	CHECK(!c[0].broken && c[1].broken);
	CHECK(fb_rdma_poll(&c[1]) == FB_EPEER);
}

int main(void)
{
	test_given_up();
	test_not_given_up();
	test_patience();
	test_asked();
	test_waits();
	test_look_up();
	return check_done("rdma_watch");
}

#else

int main(void)
{
	printf("SKIP rdma_watch: built without the verbs' header\n");
	return CHECK_SKIP;
}

#endif
