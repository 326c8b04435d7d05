/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks: 2
 *
 * Messages over several tcp sockets and without copies, slotted and posted, by a transport that is
 * wrong in one thing, to prove that wrong parts are seen: mutant_tcp MUTANT must end with code 2,
 * which tests/faults/mutants.sh wants. Run as a test by itself it uses what is right.
 *
 * The functions below take the place of the library's tcp_part.c, which is therefore not linked.
 * Races are lost for sure: whoever could win one by luck sleeps, or does not read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"
#include "common/transport/tcp_part.h"

enum {
	MESSAGES = 12,
	SLOTS = 2,
	LARGE = 40000,
	MOST = 1 << 20,
	PATIENCE_S = 20,
	NAP_MS = 3,
	WRONG = 2,
};

static const char *mutant = "none";
static int own_rank;

static bool is(const char *name, int rank)
{
	return rank == own_rank && !strcmp(mutant, name);
}

static void nap(int ms)
{
	const struct timespec t = {.tv_nsec = ms * 1000000L};

	nanosleep(&t, NULL);
}

/* --- what is right, but for the mutants ------------------------------------------------------- */

struct fb_tcp_spread fb_tcp_spread(const struct fb_tcp_link *link, uint16_t turn, size_t bytes)
{
	const struct fb_tcp *tcp = link->socket->tcp;
	int parts = bytes < tcp->settings.stripe ? 1 : tcp->width;

	/* The receiver takes the second part for the first one. */
	return (struct fb_tcp_spread){
		parts == 1 ? link->socket->index : (turn + is("order", 1)) % tcp->width, parts};
}

size_t fb_tcp_part(size_t bytes, int i, int count, size_t *offset)
{
	size_t share = bytes / (size_t)count;

	*offset = share * (size_t)i;
	/* The receiver puts the last part 8 bytes too early. */
	if (is("offset", 1) && i && i + 1 == count && *offset >= 8)
		*offset -= 8;
	/* The sender is late with the last part. */
	if (is("twice", 0) && i && i + 1 == count)
		nap(NAP_MS);
	return i + 1 < count ? share : bytes - share * (size_t)i;
}

bool fb_tcp_expected(const struct fb_tcp_guess *guess, const char *lead)
{
	struct fb_tcp_frame first, frame;

	memcpy(&first, lead, sizeof(first));
	memcpy(&frame, lead + FB_TCP_LEAD - sizeof(frame), sizeof(frame));
	/* The receiver takes any message for the one that it waits for. */
	return is("guess", 1) ||
	       (frame.kind == FB_TCP_DATA && frame.link == guess->link->index &&
		frame.turn == guess->link->turn && frame.bytes == guess->bytes &&
		first.kind == FB_TCP_PAD);
}

bool fb_tcp_part_done(struct fb_tcp_message *message)
{
	/* The receiver counts each part for two. */
	if (is("twice", 1) && message->missing > 1)
		message->missing--;
	return --message->missing == 0;
}

void fb_tcp_pin(struct fb_tcp_piece *piece)
{
	/* The sender's memory seems free again as soon as the kernel has taken it. */
	piece->pins += !is("early", 0);
}

bool fb_tcp_unpin(struct fb_tcp_piece *piece)
{
	return piece->pins && --piece->pins == 0;
}

/* --- the traffic ------------------------------------------------------------------------------ */

static size_t size_of(int message)
{
	static const size_t sizes[] = {1, 12345, MOST, 3, 65537, 1000003, 40000};

	return sizes[(size_t)message % (sizeof(sizes) / sizeof(sizes[0]))];
}

static void fill(char *memory, int message, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		memory[i] = (char)((size_t)message * 31 + i + (i >> 8) * 7 + (i >> 16) * 3 + 1);
}

/* progress() until `done` says so; false: something failed, or took too long. */
static bool until(struct fb_transport *t, struct fb_port *port, size_t bytes,
		  bool (*done)(struct fb_port *port, size_t bytes))
{
	time_t end = time(NULL) + PATIENCE_S;

	while (!done(port, bytes))
		if (t->ops->progress(t) || time(NULL) >= end)
			return false;
	return true;
}

static bool has_slot(struct fb_port *port, size_t bytes)
{
	return port->ops->acquire(port, bytes) != NULL;
}

static bool has_left(struct fb_port *port, size_t bytes)
{
	(void)bytes;
	return port->ops->settled(port);
}

static bool has_come(struct fb_port *port, size_t bytes)
{
	return port->ops->peek(port, bytes) != NULL;
}

/* Rank 0. A posted message's memory is written again as soon as it may be. */
static bool send_all(struct fb_transport *t, struct fb_port *port, char *user)
{
	for (int m = 0; m < MESSAGES; m++) {
		size_t bytes = size_of(m);

		if (!until(t, port, bytes, has_slot))
			return false;
		fill(user ? user : port->ops->acquire(port, bytes), m, bytes);
		if (!user) {
			port->ops->commit(port, bytes);
			continue;
		}
		fb_tcp_commit_user(port, user, bytes);
		if (!until(t, port, bytes, has_left))
			return false;
		memset(user, 0x55, bytes);
	}
	return until(t, port, 0, has_left);
}

/* Rank 1. Returns how many messages were wrong, or -1. */
static int receive_all(struct fb_transport *t, struct fb_port *port, char *user, char *want)
{
	int wrong = 0;

	for (int m = 0; m < MESSAGES; m++) {
		size_t bytes = size_of(m);

		if (user) {
			memset(user, 0, bytes);
			fb_tcp_post(port, user);
		}
		if (t->ops->progress(t)) /* the news of the place */
			return -1;
		nap(NAP_MS * 5); /* the sender's kernel is full meanwhile */
		if (!until(t, port, bytes, has_come))
			return -1;
		fill(want, m, bytes);
		wrong += memcmp(port->ops->peek(port, bytes), want, bytes) != 0;
		port->ops->release(port);
	}
	return wrong;
}

/*
 * Two links: rank 0 sends on the first one before the second, rank 1 waits for the second one's
 * message before the first one's.
 */
static bool send_both(struct fb_transport *t, struct fb_port **ports)
{
	for (int m = 0; m < 2 * MESSAGES; m++) {
		struct fb_port *port = ports[m % 2];

		if (!until(t, port, LARGE, has_slot))
			return false;
		fill(port->ops->acquire(port, LARGE), m, LARGE);
		port->ops->commit(port, LARGE);
	}
	return until(t, ports[0], 0, has_left) && until(t, ports[1], 0, has_left);
}

static int receive_both(struct fb_transport *t, struct fb_port **ports, char *want)
{
	int wrong = 0;

	for (int i = 0; i < 2 * MESSAGES; i++) {
		struct fb_port *port = ports[1 - i % 2];

		if (!until(t, port, LARGE, has_come))
			return -1;
		fill(want, i / 2 * 2 + 1 - i % 2, LARGE);
		wrong += memcmp(port->ops->peek(port, LARGE), want, LARGE) != 0;
		port->ops->release(port);
	}
	return wrong;
}

enum kind { SLOTTED, POSTED, BOTH, KINDS };

/* One link through such sockets, or two. Returns wrong messages on rank 1, or -1. */
static int traffic(const struct fb_group *world, const struct fb_tcp_settings *settings,
		   enum kind kind)
{
	bool posted = kind == POSTED;
	struct fb_link_request requests[2];
	char *user = calloc(1, MOST), *want = calloc(1, MOST);
	struct fb_transport *t;
	struct fb_port *ports[2];
	int n = kind == BOTH ? 2 : 1, result = -1;

	for (int i = 0; i < n; i++)
		requests[i] = (struct fb_link_request){
			.peer = 1 - world->rank, .id = (uint32_t)i, .sends = world->rank == 0,
			.slots = posted ? 1 : SLOTS, .slot_bytes = MOST, .protocol = "simple",
			.posted = posted};

	if (!user || !want || fb_tcp_open(&t, world, settings))
		goto free_memory;
	if (!t->ops->connect(t, requests, n, ports)) {
		if (kind == BOTH)
			result = world->rank ? receive_both(t, ports, want)
					     : send_both(t, ports) - 1;
		else if (world->rank == 0)
			result = send_all(t, ports[0], posted ? user : NULL) ? 0 : -1;
		else
			result = receive_all(t, ports[0], posted ? user : NULL, want);
		MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_MAX, world->comm);
		if (result == 0)
			t->ops->disconnect(t, ports, n);
	}
	t->ops->close(t);
free_memory:
	free(want);
	free(user);
	return result;
}

int main(int argc, char **argv)
{
	static const struct fb_tcp_settings settings[] = {
		{.sockets = 3, .stripe = 1000, .congestion = "auto", .interface = "auto"},
		/* All of a message is taken, and little of it leaves, until it is read. */
		{.sockets = 1, .stripe = 1000, .congestion = "auto", .interface = "auto",
		 .zerocopy = true, .send_buffer = 4 << 20, .receive_buffer = 32 << 10},
	};
	struct fb_group world;
	int wrong = 0;

	if (argc > 1)
		mutant = argv[1];
	if (fb_group_open(&world, &argc, &argv))
		return 1;
	if (world.nranks != 2) {
		printf("SKIP mutant_tcp: for 2 ranks, not %d\n", world.nranks);
		fb_group_close(&world);
		return 77;
	}
	own_rank = world.rank;
	for (size_t i = 0; i < KINDS * sizeof(settings) / sizeof(settings[0]) && wrong >= 0; i++) {
		int n = traffic(&world, &settings[i / KINDS], (enum kind)(i % KINDS));

		wrong = n < 0 ? n : wrong + n;
	}
	if (world.rank == 0)
		printf("%s mutant_tcp %s: %d messages were wrong\n",
		       wrong ? "CAUGHT" : "PASS", mutant, wrong);
	fflush(stdout);
	if (wrong < 0)
		fb_group_abort(&world, WRONG);
	fb_group_close(&world);
	return wrong ? WRONG : 0;
}
