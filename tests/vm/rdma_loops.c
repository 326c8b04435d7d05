/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engine rdma's loops and the plainest there are, those of perftest's latency programs: post a
 * request that asks for its completion, poll until that is there; and in a ping-pong of WRITE, look
 * at memory until the peer's message is. Both by turns of batches in one process, on one queue pair
 * and the same buffers. Two programs that are compared differ in what their starts happened to get
 * as well, by ten and more percent in a virtual machine; here 1 % shows, beside other work too.
 *
 *	rdma_loops OPTION...       as latency
 *
 * For --algorithm send --protocol write, and for --algorithm get, with any protocol. Prints a line
 * "VERB BYTES OURS_US THEIRS_US" for each two batches that follow one another, times of a message,
 * on the rank that posts first.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/measure/clock.h"
#include "p2p/engine/rdma.h"
#include "p2p/program.h"

static const struct fb_default defaults[] = {
	{"bytes", "8"}, {"datatype", "u8"}, {"engine", "rdma"}, {"cadence", "streaming"},
	{"algorithm", "send"}, {"protocol", "write"}, {NULL, NULL},
};

static const enum fb_pattern patterns[] = {FB_PING_PONG, FB_PATTERNS};

static const struct fb_p2p_program program = {
	.name = "latency",
	.summary = "the rdma engine's loops and the plainest ones",
	.description = "A test's program: see its source.",
	.patterns = patterns,
	.grouping = FB_ONE_BY_ONE,
	.pairs = "first",
	.defaults = defaults,
};

#if FB_HAVE_VERBS

enum { MOST = 1 << 20 };

/*
 * Whether the n-th batch is the plain loop's. One of each two is, the first or the second by the
 * sequence of Thue and Morse: a batch after a pause, which comes every so many, is slower, and
 * shall not be the same loop's each time.
 */
static bool is_plain(unsigned n)
{
	return (n + (unsigned)__builtin_popcount(n / 2)) % 2;
}

/* Batches in the order in which they ran. */
static struct batch {
	const char *verb;
	size_t bytes;
	uint64_t messages;
	double us;
} *batches;
static int nbatches;

/* Nothing is kept of what is too much, or where there is no memory. */
static void note(const struct fb_raw_lane *lane, uint64_t messages, double us)
{
	if (!batches)
		batches = calloc(MOST, sizeof(*batches));
	if (batches && nbatches < MOST)
		batches[nbatches++] = (struct batch){fb_raw_verbs[lane->verb], lane->share.bytes,
						     messages, us / (double)messages};
}

static void print(void)
{
	for (int i = 0; i + 1 < nbatches; i += 2) {
		const struct batch *ours = &batches[i + is_plain((unsigned)i)];
		const struct batch *theirs = &batches[i + !is_plain((unsigned)i)];

		if (ours->verb == theirs->verb && ours->bytes == theirs->bytes &&
		    ours->messages == theirs->messages)
			printf("%s %zu %.3f %.3f\n", ours->verb, ours->bytes, ours->us, theirs->us);
	}
	free(batches);
}

/* The lane's next message, and its completion; of the engine's there may be some before it. */
static int post(struct fb_raw_lane *lane)
{
	struct ibv_send_wr *wr = lane->wr, *next = wr->next, *bad;
	struct ibv_wc wc;
	int n, error;

	lane->posted++;
	lane->unsignalled = 0;
	wr->send_flags = lane->flags | IBV_SEND_SIGNALED;
	wr->wr_id = lane->identity | lane->posted;
	wr->next = NULL;
	error = ibv_post_send(lane->queue->qp, wr, &bad);
	wr->next = next;
	if (error)
		return fb_error(FB_ESYS, "rdma_loops: ibv_post_send: error %d", error);
	do
		n = ibv_poll_cq(lane->queue->completions->cq, 1, &wc);
	while (!n || (n > 0 && wc.status == IBV_WC_SUCCESS &&
		      wc.wr_id != (lane->identity | lane->posted)));
	lane->done = lane->posted;
	if (n > 0 && wc.status == IBV_WC_SUCCESS)
		return FB_OK;
	return fb_error(FB_EPEER, "rdma_loops: no completion");
}

/* The peer's next message, as the engine's watch_next(). */
static void watch(struct fb_raw_lane *lane)
{
	volatile unsigned char *last = (unsigned char *)lane->local + lane->share.bytes - 1;

	while (*last == lane->mark)
		;
	if (++lane->done < lane->announced)
		*last = lane->mark;
}

static int plain_ping_pong(struct fb_raw_request *r, int calls)
{
	int err = FB_OK;

	for (int call = 0; call < calls && !err; call++)
		for (int i = 0; i < 2 && !err; i++) {
			if (r->ends[i].role == FB_RAW_POSTS)
				err = post(r->ends[i].lanes);
			else
				watch(r->ends[i].lanes);
		}
	return err;
}

static double since(const struct fb_clock *clock, uint64_t start)
{
	return fb_clock_seconds(clock, fb_clock_ticks(clock) - start) * 1e6;
}

/* The linker has the engine call these, and names its own functions so (--wrap). */
int __real_fb_raw_ping_pong(struct fb_raw_request *r, int calls);
int __wrap_fb_raw_ping_pong(struct fb_raw_request *r, int calls);
int __real_fb_raw_drive_alone(struct fb_raw_engine *e, struct fb_raw_lane *lane);
int __wrap_fb_raw_drive_alone(struct fb_raw_engine *e, struct fb_raw_lane *lane);

int __wrap_fb_raw_ping_pong(struct fb_raw_request *r, int calls)
{
	static unsigned turn; /* the same at both ends */
	const struct fb_clock *clock = r->engine->engine.session->clock;
	uint64_t start;
	int err;

	if (r->nends != 2 || r->nlanes != 2 || r->verb != FB_RAW_WRITE || r->lanes->moves)
		return __real_fb_raw_ping_pong(r, calls);
	start = fb_clock_ticks(clock);
	err = is_plain(turn++) ? plain_ping_pong(r, calls) : __real_fb_raw_ping_pong(r, calls);
	if (r->ends[0].role == FB_RAW_POSTS)
		note(r->ends[0].lanes, 2 * (uint64_t)calls, since(clock, start));
	return err;
}

int __wrap_fb_raw_drive_alone(struct fb_raw_engine *e, struct fb_raw_lane *lane)
{
	static unsigned turn;
	uint64_t messages = lane->target - lane->posted, start;
	int err = FB_OK;

	if (lane->window != 1 || lane->moves)
		return __real_fb_raw_drive_alone(e, lane);
	start = fb_clock_ticks(e->engine.session->clock);
	if (!is_plain(turn++))
		err = __real_fb_raw_drive_alone(e, lane);
	while (lane->posted < lane->target && !err)
		err = post(lane);
	note(lane, messages, since(e->engine.session->clock, start));
	return err;
}

#else

static void print(void)
{
	printf("SKIP rdma_loops: built without libibverbs\n");
}

#endif

int main(int argc, char **argv)
{
	int rc = fb_p2p_main(&program, argc, argv);

	print();
	return rc;
}
