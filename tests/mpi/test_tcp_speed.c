/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tcp transport costs over a plain socket: latency of 8 bytes and bandwidth of 1 MiB,
 * both measured in turn so that a busy machine is unfair to neither.
 *
 * The numbers are for reading; only a third of the plain socket's speed is demanded, because
 * other work on the machine must not fail a test.
 * ranks: 2
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/error.h"
#include "common/measure/clock.h"
#include "common/transport/tcp.h"
#include "tests/unit/check.h"

enum {
	ROUNDS = 15,
	TRIPS = 500,
	MESSAGES = 30,
	LARGE = 1024 * 1024,
	SMALL = 8,
	SLOTS = 16,
};

struct pair {
	const struct fb_group *world;
	struct fb_transport *t;
	struct fb_port *to, *from; /* the peer */
	size_t slot_bytes;
	int fd; /* a plain socket to the peer */
	char *memory;
};

/* After a while something else must be running where the peer should. */
static void relax(const struct pair *p, int *looks)
{
	if (++*looks > (p->world->oversubscribed ? 10 : 1000))
		sched_yield();
}

/* Ends the job: a test of speed has nothing to clean up. */
static void need(const struct pair *p, bool good)
{
	if (!good) {
		CHECK(good);
		fb_group_abort(p->world, 1);
	}
}

static void plain_send(const struct pair *p, size_t bytes)
{
	int looks = 0;

	for (size_t at = 0; at < bytes;) {
		ssize_t n = send(p->fd, p->memory + at, bytes - at, MSG_NOSIGNAL);

		need(p, n >= 0 || errno == EAGAIN);
		at += n > 0 ? (size_t)n : 0;
		if (n <= 0)
			relax(p, &looks);
	}
}

static void plain_receive(const struct pair *p, size_t bytes)
{
	int looks = 0;

	for (size_t at = 0; at < bytes;) {
		ssize_t n = recv(p->fd, p->memory + at, bytes - at, 0);

		need(p, n > 0 || (n < 0 && errno == EAGAIN));
		at += n > 0 ? (size_t)n : 0;
		if (n <= 0)
			relax(p, &looks);
	}
}

static void own_send(const struct pair *p, size_t bytes)
{
	for (size_t at = 0; at < bytes;) {
		size_t n = bytes - at < p->slot_bytes ? bytes - at : p->slot_bytes;
		int looks = 0;

		while (!p->to->ops->acquire(p->to, n)) {
			need(p, p->t->ops->progress(p->t) == 0);
			relax(p, &looks);
		}
		p->to->ops->commit(p->to, n);
		at += n;
	}
}

static void own_receive(const struct pair *p, size_t bytes)
{
	for (size_t at = 0; at < bytes;) {
		size_t n = bytes - at < p->slot_bytes ? bytes - at : p->slot_bytes;
		int looks = 0;

		while (!p->from->ops->peek(p->from, n)) {
			need(p, p->t->ops->progress(p->t) == 0);
			relax(p, &looks);
		}
		p->from->ops->release(p->from);
		at += n;
	}
}

/* How bytes are moved. */
struct way {
	void (*send)(const struct pair *p, size_t bytes);
	void (*receive)(const struct pair *p, size_t bytes);
};

/* Half of a round trip, in seconds. */
static double latency(const struct pair *p, const struct fb_clock *clock, const struct way *way)
{
	double start;

	MPI_Barrier(p->world->comm);
	start = fb_clock_now(clock);
	for (int i = 0; i < TRIPS; i++) {
		if (p->world->rank == 0)
			way->send(p, SMALL);
		way->receive(p, SMALL);
		if (p->world->rank == 1)
			way->send(p, SMALL);
	}
	return (fb_clock_now(clock) - start) / TRIPS / 2;
}

/* Seconds per large message from rank 0 to rank 1. */
static double transfer(const struct pair *p, const struct fb_clock *clock, const struct way *way)
{
	double start;

	MPI_Barrier(p->world->comm);
	start = fb_clock_now(clock);
	for (int i = 0; i < MESSAGES; i++) {
		if (p->world->rank == 0)
			way->send(p, LARGE);
		else
			way->receive(p, LARGE);
	}
	/* The answer says that all has arrived; it also sends the last bytes on their way. */
	if (p->world->rank == 1)
		way->send(p, SMALL);
	else
		way->receive(p, SMALL);
	return (fb_clock_now(clock) - start) / MESSAGES;
}

/* Compares both ways by their best round and prints one line. */
static void compare(const struct pair *p, const struct fb_clock *clock, const char *what,
		    double (*measure)(const struct pair *, const struct fb_clock *,
				      const struct way *))
{
	static const struct way plain = {plain_send, plain_receive};
	static const struct way own = {own_send, own_receive};
	double a = HUGE_VAL, b = HUGE_VAL;

	for (int i = 0; i < ROUNDS; i++) {
		a = fmin(a, measure(p, clock, &plain));
		b = fmin(b, measure(p, clock, &own));
	}
	if (p->world->rank)
		return;
	printf("%s, %zu byte slots: plain socket %.2f us, tcp transport %.2f us, %.2f times\n",
	       what, p->slot_bytes, a * 1e6, b * 1e6, b / a);
	CHECK(b * 0.3 <= a);
}

/* Connects one link in each direction. */
static void connect_pair(struct pair *p, struct fb_transport *t, size_t slot_bytes)
{
	struct fb_link_request requests[2];
	struct fb_port *ports[2];

	for (int i = 0; i < 2; i++)
		requests[i] = (struct fb_link_request){
			.peer = 1 - p->world->rank, .id = 0, .sends = i == 0, .slots = SLOTS,
			.slot_bytes = slot_bytes, .protocol = "simple"};
	need(p, t->ops->connect(t, requests, 2, ports) == 0);
	p->to = ports[0];
	p->from = ports[1];
	p->slot_bytes = slot_bytes;
}

int main(int argc, char **argv)
{
	static const size_t slot_bytes[] = {64 * 1024, 256 * 1024};
	struct fb_transport *plain;
	struct fb_group world;
	struct fb_clock clock;
	struct pair p = {.world = &world};
	int result = 0;

	if (fb_group_open(&world, &argc, &argv))
		return 1;
	if (world.nranks != 2) {
		printf("SKIP tcp_speed: for 2 ranks, not %d\n", world.nranks);
		fb_group_close(&world);
		return 77;
	}
	p.memory = calloc(1, LARGE);
	need(&p, p.memory && fb_clock_open(&clock) == 0);
	/* The plain socket is that of a second transport, which never sends anything. */
	need(&p, fb_transport_tcp.open(&plain, &world) == 0);
	connect_pair(&p, plain, SMALL);
	p.fd = ((struct fb_tcp *)plain)->sockets[1 - world.rank]->fd;
	need(&p, fb_transport_tcp.open(&p.t, &world) == 0);
	for (size_t i = 0; i < sizeof(slot_bytes) / sizeof(slot_bytes[0]); i++) {
		connect_pair(&p, p.t, slot_bytes[i]);
		compare(&p, &clock, "8 bytes there", latency);
		compare(&p, &clock, "1 MiB", transfer);
		p.t->ops->disconnect(p.t, (struct fb_port *[]){p.to, p.from}, 2);
	}
	p.t->ops->close(p.t);
	MPI_Barrier(world.comm);
	plain->ops->close(plain);
	free(p.memory);
	if (world.rank == 0)
		result = check_done("tcp_speed");
	fb_group_close(&world);
	return result;
}
