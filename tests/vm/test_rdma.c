/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rdma transport by itself, between ranks in a ring: each protocol with few and many slots, all
 * lengths around its boundaries, flags that wrap, several links on one queue pair; then the same
 * with every option that changes the way on the wire. Runs where there is an RDMA device.
 *
 *	test_rdma [DEVICES]        as --rdma-device; two of them test striping
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/error.h"
#include "common/transport/rdma_cm.h"
#include "common/transport/rdma_internal.h"
#include "tests/unit/check.h"

#if FB_HAVE_VERBS

enum { LINKS = 3, MESSAGES = 40, LONGEST = 70000, AREA = 1 << 20 };

struct bench {
	struct fb_group world;
	struct fb_rdma_settings settings;
	struct fb_transport *t;
	int next, previous;
};

/* Lengths of the messages of a link, in turn. */
static size_t length_of(uint32_t link, int message)
{
	static const size_t lengths[] = {8, 0, 1, 7, 64, 3, 4096, 4097, LONGEST, 129, 16384};

	return lengths[((uint32_t)message + link) % (sizeof(lengths) / sizeof(lengths[0]))];
}

static char byte_of(int rank, uint32_t link, int message, size_t i)
{
	return (char)(rank * 31 + (int)link * 7 + message * 13 + (int)(i * 5 + i / 256));
}

static void fill(char *at, size_t n, int rank, uint32_t link, int message)
{
	for (size_t i = 0; i < n; i++)
		at[i] = byte_of(rank, link, message, i);
}

static bool holds(const char *at, size_t n, int rank, uint32_t link, int message)
{
	for (size_t i = 0; i < n; i++)
		if (at[i] != byte_of(rank, link, message, i))
			return false;
	return true;
}

/* Sends and receives on all links until all messages are through. */
static void exchange(struct bench *b, struct fb_port **ports)
{
	int sent[LINKS] = {0}, received[LINKS] = {0}, left = 2 * LINKS * MESSAGES, err = 0;

	while (left && !err) {
		for (uint32_t l = 0; l < LINKS; l++) {
			struct fb_port *out = ports[l], *in = ports[LINKS + l];
			size_t n = length_of(l, sent[l]);
			const char *got;
			char *at;

			at = sent[l] < MESSAGES ? out->ops->acquire(out, n) : NULL;
			if (at) {
				fill(at, n, b->world.rank, l, sent[l]++);
				out->ops->commit(out, n);
				left--;
			}
			n = length_of(l, received[l]);
			got = received[l] < MESSAGES ? in->ops->peek(in, n) : NULL;
			if (got) {
				CHECK(holds(got, n, b->previous, l, received[l]++));
				in->ops->release(in);
				left--;
			}
		}
		err = b->t->ops->progress(b->t);
		sched_yield();
	}
	CHECK_INT(err, 0);
}

static void test_slots(struct bench *b, const char *protocol, uint32_t slots, uint32_t first_flag)
{
	struct fb_link_request requests[2 * LINKS];
	struct fb_port *ports[2 * LINKS];

	for (uint32_t l = 0; l < LINKS; l++) {
		requests[l] = (struct fb_link_request){
			.peer = b->next, .id = l, .sends = true, .slots = slots,
			.slot_bytes = LONGEST, .protocol = protocol, .first_flag = first_flag,
		};
		requests[LINKS + l] = requests[l];
		requests[LINKS + l].peer = b->previous;
		requests[LINKS + l].sends = false;
	}
	if (!CHECK_INT(b->t->ops->connect(b->t, requests, 2 * LINKS, ports), 0))
		return;
	exchange(b, ports);
	b->t->ops->disconnect(b->t, ports, 2 * LINKS);
}

/* Waits for a condition of the peer's, moving the transport on. */
#define UNTIL(b, condition)                                                                        \
	do {                                                                                       \
		int until_err = 0;                                                                 \
		while (!(condition) && !until_err) {                                               \
			until_err = (b)->t->ops->progress((b)->t);                                 \
			sched_yield();                                                             \
		}                                                                                  \
		CHECK_INT(until_err, 0);                                                           \
	} while (0)

static void push_whole(struct bench *b, struct fb_port *out, const char *from, const char *place,
		       size_t n)
{
	struct fb_ticket ticket;

	for (size_t done = 0; done < n && !b->t->ops->progress(b->t);)
		done += out->ops->direct->push(out, from + done, place + done, n - done);
	UNTIL(b, out->ops->direct->announce(out, true));
	out->ops->direct->ticket(out, &ticket);
	UNTIL(b, out->ops->direct->reached(out, &ticket));
}

static void pull_whole(struct bench *b, struct fb_port *in, char *to, const char *place, size_t n)
{
	struct fb_ticket ticket;

	for (size_t done = 0; done < n && !b->t->ops->progress(b->t);)
		done += in->ops->direct->pull(in, to + done, place + done, n - done);
	in->ops->direct->ticket(in, &ticket);
	UNTIL(b, in->ops->direct->reached(in, &ticket));
}

/* Round by round: push into the next rank's area, then pull out of the previous one's. */
static void rounds(struct bench *b, struct fb_port *out, struct fb_port *in, char *area, char *own)
{
	const struct fb_direct_ops *d = b->t->ops->direct;

	for (int i = 0; i < 12; i++) {
		size_t n = length_of(0, i), at = (size_t)i * 4096;

		d->credit(in);
		UNTIL(b, d->may_push(out));
		fill(own, n, b->world.rank, 0, i);
		push_whole(b, out, own, area + at, n);
		UNTIL(b, d->announced(in));
		CHECK(holds(area + at, n, b->previous, 0, i));
		d->done(in, false);
		/* What was pushed here is now offered to whoever is next. */
		UNTIL(b, d->announce(out, false));
		UNTIL(b, d->announced(in));
		pull_whole(b, in, own, area + at, n);
		CHECK(holds(own, n, (b->previous + b->world.nranks - 1) % b->world.nranks, 0, i));
		d->done(in, true);
		UNTIL(b, d->drained(out, (uint64_t)i + 1));
	}
}

static void test_direct(struct bench *b)
{
	const struct fb_direct_ops *d = b->t->ops->direct;
	struct fb_link_request requests[2] = {
		{.peer = b->next, .sends = true, .slots = 1, .protocol = "direct"},
		{.peer = b->previous, .slots = 1, .protocol = "direct"},
	};
	struct fb_port *ports[2];
	struct fb_rdma_counts before, after;
	char *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *own = malloc(LONGEST);

	if (!CHECK(area != MAP_FAILED && own))
		exit(1);
	CHECK_INT(d->expose(b->t, area, AREA), 0);
	CHECK_INT(d->lend(b->t, own, LONGEST), 0);
	fb_rdma_count(b->t, &before);
	CHECK_INT(d->expose(b->t, area, AREA), 0);
	CHECK_INT(d->lend(b->t, own, LONGEST / 2), 0);
	fb_rdma_count(b->t, &after);
	CHECK_INT(after.misses, before.misses);
	CHECK_INT(after.hits, before.hits + 1);
	CHECK(before.register_us > 0 && before.registered_bytes >= AREA + LONGEST);
	if (CHECK_INT(b->t->ops->connect(b->t, requests, 2, ports), 0)) {
		rounds(b, ports[0], ports[1], area, own);
		b->t->ops->disconnect(b->t, ports, 2);
	}
	d->conceal(b->t, area, AREA);
	d->take_back(b->t, own, LONGEST);
	fb_rdma_count(b->t, &after);
	CHECK_INT(after.registered_bytes, 0);
	munmap(area, AREA);
	free(own);
}

static void test_all(struct bench *b, const char *what)
{
	char why[256] = "";

	if (!b->world.rank)
		printf("%s\n", what);
	fflush(stdout);
	if (!CHECK_INT(fb_rdma_open(&b->t, &b->world, &b->settings, why, sizeof(why)), 0)) {
		printf("%s\n", why);
		return;
	}
	test_slots(b, "simple", 1, 0);
	test_slots(b, "simple", 8, 0);
	test_slots(b, "ll", 1, 0);
	test_slots(b, "ll", 3, UINT32_MAX - 10);
	test_direct(b);
	b->t->ops->close(b->t);
}

/* Queue pairs that the connection manager connects; messages in pieces. */
static void test_manager(struct bench *b)
{
	struct fb_rdma_cm *cm;
	char why[256];
	int err;

	b->settings.connect = FB_RDMA_CONNECT_CM;
	b->settings.sges = 5;
	err = fb_rdma_cm_open(&cm, &b->settings, why, sizeof(why));
	if (err) {
		/* The modules are there, so the headers are what is not. */
		CHECK_STR(why, "built without librdmacm headers");
		return;
	}
	fb_rdma_cm_close(cm);
	test_all(b, "connection manager, 5 pieces a request");
}

/* Links that only one end asks for, or with other slots, end with an error on all ranks. */
static void test_mismatch(struct bench *b)
{
	struct fb_link_request request = {.peer = b->next, .sends = true, .slots = 1,
					  .slot_bytes = 8, .protocol = "simple"};
	struct fb_port *port;
	char why[256];

	if (fb_rdma_open(&b->t, &b->world, &b->settings, why, sizeof(why)))
		return;
	CHECK_INT(b->t->ops->connect(b->t, &request, b->world.rank == 0, &port), FB_EPLAN);
	b->t->ops->close(b->t);
}

int main(int argc, char **argv)
{
	struct bench b = {.settings = fb_rdma_defaults};
	int failed, result;

	if (fb_group_open(&b.world, &argc, &argv))
		return 1;
	b.next = (b.world.rank + 1) % b.world.nranks;
	b.previous = (b.world.rank + b.world.nranks - 1) % b.world.nranks;
	b.settings.device = argc > 1 ? argv[1] : "auto";
	b.settings.stripe = 1024;
	b.settings.timeout = 19;
	test_all(&b, "defaults");
	b.settings.notify = FB_RDMA_NOTIFY_IMM;
	test_all(&b, "immediate data");
	b.settings.relaxed_ordering = true;
	b.settings.qps = 3;
	b.settings.depth = 16;
	test_all(&b, "relaxed ordering, 3 queue pairs, 16 requests deep");
	b.settings = (struct fb_rdma_settings){
		.device = b.settings.device, .gid_index = -1, .timeout = 19, .retry = 7,
		.rnr_retry = 7, .qps = 2, .depth = 64, .inline_bytes = 8, .signal = 1, .batch = 1,
		.sges = 1, .stripe = 1, .reads = 1, .mtu = 1,
	};
	test_all(&b, "every request signalled and alone, small packets");
	test_mismatch(&b);
	b.settings = fb_rdma_defaults;
	b.settings.device = argc > 1 ? argv[1] : "auto";
	b.settings.stripe = 1024;
	b.settings.timeout = 19;
	test_manager(&b);
	failed = check_failures;
	MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, b.world.comm);
	result = failed != 0;
	if (!b.world.rank || check_failures)
		result |= check_done("rdma transport");
	fb_group_close(&b.world);
	return result;
}

#else

int main(void)
{
	printf("SKIP rdma transport: built without libibverbs headers\n");
	return 77;
}

#endif
