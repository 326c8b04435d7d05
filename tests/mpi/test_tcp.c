/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tcp transport: do all messages arrive whole, once, in order and only where they should?
 *
 * Every rank sends to every other over several links at once, with sizes, delays and the moment
 * of release all from a seed, so that frames are cut and merged in every way. With one socket for
 * each pair and with several, whose parts overtake one another, and with zero copy.
 * ranks: 2 3 4
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"
#include "common/base/rng.h"
#include "common/transport/tcp.h"
#include "tests/unit/check.h"

enum { MAX_BYTES = 300 * 1024, PATIENCE_S = 60 };

/* One end of a link under test. */
struct end {
	struct fb_port *port;
	uint64_t seed; /* of the link: sizes and contents, the same at both ends */
	bool sends;
	int done;    /* messages committed or released */
	int delay;   /* rounds until the message that is held goes on; -1: none is held */
	const void *held;
};

struct traffic {
	int links; /* per pair and direction */
	uint32_t slots;
	int messages; /* per link */
	uint64_t seed;
};

/* Bytes of a message: some empty, most small, a few large. */
static size_t size_of(const struct end *e, int message)
{
	static const uint64_t limits[] = {1, 64, 4096, 40000, MAX_BYTES + 1, 2};
	uint64_t random = fb_mix64(e->seed + (uint64_t)message);

	return (size_t)(random / 16 % limits[random % (sizeof(limits) / sizeof(limits[0]))]);
}

static unsigned char content(const struct end *e, int message, size_t i)
{
	uint64_t key = e->seed * 31 + (uint64_t)message * 7;

	return (unsigned char)(key + i + (i >> 8) * 5 + (i >> 16));
}

static void fill(const struct end *e, int message, void *memory, size_t bytes)
{
	unsigned char *at = memory;

	for (size_t i = 0; i < bytes; i++)
		at[i] = content(e, message, i);
}

static bool intact(const struct end *e, int message, const void *memory, size_t bytes)
{
	const unsigned char *at = memory;

	for (size_t i = 0; i < bytes; i++)
		if (at[i] != content(e, message, i))
			return false;
	return true;
}

static void send_some(struct end *e, struct fb_rng *rng)
{
	size_t bytes = size_of(e, e->done);
	void *memory = e->port->ops->acquire(e->port, bytes);

	if (!memory)
		return;
	if (e->delay < 0) {
		fill(e, e->done, memory, bytes);
		e->held = memory;
		e->delay = fb_rng_below(rng, 4) ? 0 : (int)fb_rng_below(rng, 20);
	}
	if (memory != e->held)
		CHECK(memory == e->held);
	if (e->delay-- > 0)
		return;
	e->port->ops->commit(e->port, bytes);
	e->done++;
}

static void receive_some(struct end *e, struct fb_rng *rng)
{
	size_t bytes = size_of(e, e->done);
	const void *memory = e->port->ops->peek(e->port, bytes);

	if (!memory)
		return;
	if (e->delay < 0) {
		e->held = memory;
		e->delay = fb_rng_below(rng, 3) ? 0 : (int)fb_rng_below(rng, 30);
	}
	if (memory != e->held)
		CHECK(memory == e->held);
	if (e->delay-- > 0)
		return;
	/* Checked as late as possible: what comes later must not have touched it. */
	CHECK(intact(e, e->done, memory, bytes));
	e->port->ops->release(e->port);
	e->done++;
}

/* Makes the ends of all links of this rank; returns how many. */
static int make_ends(struct fb_transport *t, const struct traffic *traffic, struct end *ends,
		     struct fb_port **ports)
{
	const struct fb_group *world = t->world;
	int n = 2 * traffic->links * (world->nranks - 1), at = 0;
	struct fb_link_request *requests = calloc((size_t)n, sizeof(*requests));

	if (!requests)
		return -1;
	for (int i = 0; i < traffic->links; i++)
		for (int peer = 0; peer < world->nranks; peer++)
			for (int sends = 0; sends < 2 && peer != world->rank; sends++) {
				int from = sends ? world->rank : peer;
				int to = sends ? peer : world->rank;

				ends[at].seed = fb_mix64(traffic->seed + (uint64_t)from * 1000 +
							 (uint64_t)to * 100 + (uint64_t)i);
				ends[at].sends = sends;
				ends[at].delay = -1;
				requests[at++] = (struct fb_link_request){
					.peer = peer,
					.id = (uint32_t)i + 7,
					.sends = sends,
					.slots = traffic->slots,
					.slot_bytes = MAX_BYTES,
					.protocol = "simple",
				};
			}
	if (!CHECK_INT(t->ops->connect(t, requests, n, ports), FB_OK))
		n = -1;
	for (int i = 0; i < n; i++) {
		CHECK_INT(ports[i]->peer, requests[i].peer);
		ends[i].port = ports[i];
	}
	free(requests);
	return n;
}

/* Moves all messages of the ends. Returns whether that came to an end. */
static bool move(struct fb_transport *t, const struct traffic *traffic, struct end *ends, int n)
{
	time_t end = time(NULL) + PATIENCE_S;
	struct fb_rng rng;
	int left = n;

	fb_rng_seed(&rng, traffic->seed + (uint64_t)t->world->rank);
	while (left || !fb_tcp_idle(t)) {
		left = 0;
		for (int i = 0; i < n; i++) {
			if (ends[i].done == traffic->messages)
				continue;
			left++;
			if (ends[i].sends)
				send_some(&ends[i], &rng);
			else
				receive_some(&ends[i], &rng);
		}
		if (t->ops->progress(t) || time(NULL) >= end) {
			CHECK_INT(left, 0);
			return false;
		}
		if (t->world->oversubscribed)
			sched_yield();
	}
	return true;
}

static struct end *new_ends(const struct fb_group *world, const struct traffic *traffic,
			    struct fb_port ***ports)
{
	size_t n = 2 * (size_t)traffic->links * (size_t)world->nranks;

	*ports = calloc(n, sizeof(struct fb_port *));
	return calloc(n, sizeof(struct end));
}

/* Two sets of links at once, the older of which goes first; then the newer is used again. */
static bool test_traffic(struct fb_transport *t, const struct traffic *traffic)
{
	struct traffic other = *traffic;
	struct fb_port **ports[2];
	struct end *ends[2] = {new_ends(t->world, traffic, &ports[0])};
	int n[2];
	bool good;

	other.seed += 5000;
	other.links = 1;
	ends[1] = new_ends(t->world, &other, &ports[1]);
	n[0] = make_ends(t, traffic, ends[0], ports[0]);
	n[1] = make_ends(t, &other, ends[1], ports[1]);
	good = n[0] >= 0 && n[1] >= 0 && move(t, traffic, ends[0], n[0]);
	if (good) {
		t->ops->disconnect(t, ports[0], n[0]);
		good = move(t, &other, ends[1], n[1]);
	}
	if (good)
		t->ops->disconnect(t, ports[1], n[1]);
	for (int i = 0; i < 2; i++) {
		free(ends[i]);
		free(ports[i]);
	}
	return good;
}

/* What is tested: the options, and whether sockets are tried in turn or by epoll, as many are. */
struct mode {
	const char *path; /* over loopback, but for zero copy */
	struct fb_tcp_settings settings;
	bool epoll;
};

static void test_names(const struct fb_transport *t, const char *path)
{
	char text[128];

	CHECK(t->ops->speaks(t, "simple"));
	CHECK(!t->ops->speaks(t, "ll128"));
	for (int r = 0; r < t->world->nranks; r++) {
		t->ops->describe(t, r, text, sizeof(text));
		if (r == t->world->rank) {
			CHECK_STR(text, "");
			continue;
		}
		CHECK(!strncmp(text, "tcp ", 4) && strlen(text) > 8);
		if (fb_group_one_host(t->world))
			CHECK(!strncmp(text, path, strlen(path)));
		else if (t->world->rank == 0)
			printf("rank 0 to rank %d: %s\n", r, text);
	}
}

/* Ranks listen on loopback or on addresses of the job's interfaces, never on all of them. */
static void test_listeners(const struct fb_tcp *tcp)
{
	const struct fb_group *world = tcp->transport.world;
	const struct fb_tcp_identity *own = &tcp->identity[world->rank];

	CHECK(world->nranks == 1 || tcp->nlisteners >= 1);
	CHECK(!fb_group_one_host(world) || tcp->nlisteners <= 1);
	for (int i = 0; i < tcp->nlisteners; i++) {
		struct sockaddr_storage at;
		struct fb_tcp_address address;
		socklen_t n = sizeof(at);

		CHECK_INT(getsockname(tcp->listeners[i], (struct sockaddr *)&at, &n), 0);
		fb_tcp_from_sockaddr(&at, &address);
		CHECK(strcmp(fb_tcp_interface_of(own, &address), "?") != 0);
	}
}

int main(int argc, char **argv)
{
	static const struct traffic traffics[] = {
		{.links = 3, .slots = 8, .messages = 60, .seed = 1},
		{.links = 2, .slots = 1, .messages = 40, .seed = 2},
		{.links = 4, .slots = 2, .messages = 20, .seed = 3},
		{.links = 1, .slots = 3, .messages = 20, .seed = 4},
	};
	static const struct mode modes[] = {
		{"tcp lo 127.0.0.1", {.sockets = 1, .stripe = 1}, false},
		{"tcp lo 127.0.0.1", {.sockets = 1, .stripe = 1}, true},
		{"tcp lo 127.0.0.1 x3", {.sockets = 3, .stripe = 1}, false},
		{"tcp lo 127.0.0.1 x4", {.sockets = 4, .stripe = 30000}, true},
		{"tcp lo 127.0.0.1", {.sockets = 1, .stripe = 1, .zerocopy = true}, false},
		{"tcp lo 127.0.0.1 x2", {.sockets = 2, .stripe = 9999, .zerocopy = true}, true},
	};
	struct fb_group world;
	struct fb_transport *t;
	bool good = true;
	int result = 0;

	if (fb_group_open(&world, &argc, &argv))
		return 1;
	for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]) && good; m++) {
		struct fb_tcp_settings settings = modes[m].settings;

		settings.congestion = settings.interface = "auto";
		if (!CHECK_INT(fb_tcp_open(&t, &world, &settings), FB_OK))
			break;
		if (modes[m].epoll)
			((struct fb_tcp *)t)->few = 0;
		test_listeners((struct fb_tcp *)t);
		test_names(t, "tcp lo 127.0.0.1");
		for (size_t i = 0; i < sizeof(traffics) / sizeof(traffics[0]) && good; i++)
			good = test_traffic(t, &traffics[i]);
		if (good)
			test_names(t, modes[m].path);
		t->ops->close(t);
	}
	/* A rank that could not go on would leave the others waiting. */
	if (!good)
		fb_group_abort(&world, 1);
	MPI_Allreduce(MPI_IN_PLACE, &check_failures, 1, MPI_INT, MPI_SUM, world.comm);
	if (world.rank == 0)
		result = check_done("tcp");
	fb_group_close(&world);
	return result;
}
