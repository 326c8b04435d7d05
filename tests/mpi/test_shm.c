/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared-memory transport: do all messages of every protocol arrive whole, once and in order,
 * and do the counters of direct links say the truth?
 *
 * Every rank sends to every other over several links at once; sizes, delays and the moment of
 * release come from a seed. What can be seen from one side alone is in test_shm_slots.c.
 * ranks: 2 3 4
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"
#include "common/base/rng.h"
#include "common/memory/segment.h"
#include "common/transport/shm.h"
#include "tests/unit/check.h"

enum {
	MAX_BYTES = 70000,
	SHIFTS = 4096, /* the contents of a message begin anywhere in the first so many bytes */
	LINKS = 2,     /* per pair and direction */
	PATIENCE_S = 60,
};

struct traffic {
	const char *protocol;
	uint32_t slots, first_flag;
	size_t slot_bytes; /* of the longest message */
	int messages;      /* per link */
	uint64_t seed;
};

/* One end of a link under test. */
struct end {
	struct fb_port *port;
	uint64_t seed; /* of the link: sizes and contents, the same at both ends */
	bool sends;
	int done;         /* messages committed or released */
	int delay;        /* rounds until the message that is held goes on; -1: none is held */
	const void *held; /* what acquire() or peek() returned for it */
	int credits;      /* direct, receiver: given so far */
	uint64_t pulls;   /* direct: announced or done so far */
};

struct bench {
	struct fb_group world;
	struct fb_transport *shm;
	struct fb_rng rng;
	unsigned char *pattern; /* [MAX_BYTES + SHIFTS] */
	struct fb_segment memory; /* for direct links: [nranks][2][LINKS][slots][slot_bytes] */
};

static uint64_t random_of(const struct end *e, int message)
{
	return fb_mix64(e->seed + (uint64_t)message);
}

/* Bytes of a message: all the small ones, some of every magnitude, the longest. */
static size_t size_of(const struct end *e, const struct traffic *t, int message)
{
	static const uint64_t limits[] = {1, 2, 9, 130, 1000, 5000, 70001, 70001};
	uint64_t random = random_of(e, message) / 7;
	size_t bytes = (size_t)(random / 8 % limits[random % 8]);

	if (random % 64 == 63)
		return t->slot_bytes;
	return bytes < t->slot_bytes ? bytes : t->slot_bytes;
}

static const unsigned char *contents(const struct bench *b, const struct end *e, int message)
{
	return b->pattern + random_of(e, message) % SHIFTS;
}

/*
 * Says whether the message that is held may go on. Acquiring and peeking again must give the same
 * memory, and looking at other links must not matter; so it is held for some rounds.
 */
static bool go_on(struct end *e, const void *memory)
{
	if (memory != e->held)
		CHECK(memory == e->held);
	return e->delay-- <= 0;
}

static void hold(struct bench *b, struct end *e, const void *memory)
{
	e->held = memory;
	e->delay = fb_rng_below(&b->rng, 3) ? 0 : (int)fb_rng_below(&b->rng, 20);
}

static void send_some(struct bench *b, const struct traffic *t, struct end *e)
{
	size_t bytes = size_of(e, t, e->done);
	void *memory = e->port->ops->acquire(e->port, bytes);

	if (!memory)
		return;
	if (e->delay < 0) {
		memcpy(memory, contents(b, e, e->done), bytes);
		hold(b, e, memory);
	}
	if (!go_on(e, memory))
		return;
	e->port->ops->commit(e->port, bytes);
	e->done++;
}

static void receive_some(struct bench *b, const struct traffic *t, struct end *e)
{
	size_t bytes = size_of(e, t, e->done);
	const void *memory = e->port->ops->peek(e->port, bytes);

	if (!memory)
		return;
	if (e->delay < 0)
		hold(b, e, memory);
	if (!go_on(e, memory))
		return;
	/* Checked as late as possible: what comes later must not have touched it. */
	CHECK(!memcmp(memory, contents(b, e, e->done), bytes));
	e->port->ops->release(e->port);
	e->done++;
}

/* Memory that message `message` of the link is pushed into, or pulled from, at `rank`. */
static char *region(const struct bench *b, const struct traffic *t, const struct end *e, int rank,
		    int message)
{
	int from = e->sends ? b->world.rank : e->port->peer;
	int other = rank == b->world.rank ? e->port->peer : b->world.rank;
	size_t link = ((size_t)other * 2 + (from == rank)) * LINKS + e->seed % LINKS;

	return fb_segment_part(&b->memory, rank) +
	       (link * t->slots + (size_t)message % t->slots) * t->slot_bytes;
}

static bool is_push(const struct end *e, int message)
{
	return random_of(e, message) >> 60 < 9;
}

/* Pulls among the link's messages before `message`. */
static uint64_t pulls_before(const struct end *e, int message)
{
	uint64_t n = 0;

	for (int i = 0; i < message; i++)
		n += !is_push(e, i);
	return n;
}

static void announce_some(struct bench *b, const struct traffic *t, struct end *e)
{
	struct fb_shm_port *p = fb_shm_port(e->port);
	bool push = is_push(e, e->done);
	int at = push ? e->port->peer : b->world.rank;
	int before = e->done - (int)t->slots; /* the last message that used the region */
	char *memory = region(b, t, e, at, e->done);

	if (push ? !fb_direct_may_push(p)
		 : before >= 0 && !fb_direct_drained(p, pulls_before(e, before + 1)))
		return;
	if (e->delay < 0)
		hold(b, e, memory);
	if (!go_on(e, memory))
		return;
	memcpy(memory, contents(b, e, e->done), size_of(e, t, e->done));
	fb_direct_announce(p, push);
	e->done++;
	e->pulls += !push;
}

static void use_some(struct bench *b, const struct traffic *t, struct end *e)
{
	struct fb_shm_port *p = fb_shm_port(e->port);
	bool push = is_push(e, e->done);
	char *memory = region(b, t, e, push ? b->world.rank : e->port->peer, e->done);

	/* As many credits ahead as there are regions; every region gets its own in turn. */
	for (; e->credits < t->messages && e->credits < e->done + (int)t->slots; e->credits++)
		if (is_push(e, e->credits))
			fb_direct_credit(p);
	if (!fb_direct_announced(p))
		return;
	if (e->delay < 0)
		hold(b, e, memory);
	if (!go_on(e, memory))
		return;
	CHECK(!memcmp(memory, contents(b, e, e->done), size_of(e, t, e->done)));
	fb_direct_done(p, !push);
	e->done++;
	e->pulls += !push;
}

/* Asks for all links of this rank; returns how many, or -1. */
static int make_ends(struct bench *b, const struct traffic *t, struct end *ends,
		     struct fb_port **ports)
{
	int n = 2 * LINKS * (b->world.nranks - 1), at = 0;
	struct fb_link_request *requests = calloc((size_t)n + 1, sizeof(*requests));

	if (!requests)
		return -1;
	for (int i = 0; i < LINKS; i++)
		for (int peer = 0; peer < b->world.nranks; peer++)
			for (int sends = 0; sends < 2 && peer != b->world.rank; sends++) {
				int from = sends ? b->world.rank : peer;
				int to = sends ? peer : b->world.rank;

				ends[at] = (struct end){.sends = sends, .delay = -1};
				ends[at].seed = (t->seed * 10000 + (uint64_t)(from * 100 + to)) *
						1000 * LINKS + (uint64_t)i;
				requests[at++] = (struct fb_link_request){
					.peer = peer, .id = (uint32_t)i + 7, .sends = sends,
					.slots = t->slots, .slot_bytes = t->slot_bytes,
					.protocol = t->protocol, .first_flag = t->first_flag,
				};
			}
	if (!CHECK_INT(b->shm->ops->connect(b->shm, requests, n, ports), FB_OK))
		n = -1;
	for (int i = 0; i < n; i++) {
		CHECK_INT(ports[i]->peer, requests[i].peer);
		ends[i].port = ports[i];
	}
	free(requests);
	return n;
}

/* Moves all messages of the ends. Returns whether that came to an end. */
static bool move(struct bench *b, const struct traffic *t, struct end *ends, int n)
{
	void (*const step[2][2])(struct bench *, const struct traffic *, struct end *) = {
		{receive_some, send_some}, {use_some, announce_some}};
	bool direct = !strcmp(t->protocol, "direct");
	time_t end = time(NULL) + PATIENCE_S;
	int left = n;

	while (left) {
		left = 0;
		for (int i = 0; i < n; i++) {
			if (ends[i].done == t->messages)
				continue;
			left++;
			step[direct][ends[i].sends](b, t, &ends[i]);
		}
		if (time(NULL) >= end) {
			CHECK_INT(left, 0);
			return false;
		}
		/* Also where every rank has a processor: others may be using it. */
		sched_yield();
	}
	return true;
}

/* After all messages: every pull was counted, and no credit is left. */
static void check_direct(const struct end *ends, int n)
{
	for (int i = 0; i < n; i++) {
		struct fb_shm_port *p = fb_shm_port(ends[i].port);

		if (ends[i].sends) {
			CHECK(fb_direct_drained(p, ends[i].pulls));
			CHECK(!fb_direct_drained(p, ends[i].pulls + 1));
			CHECK(!fb_direct_may_push(p));
		} else {
			CHECK(!fb_direct_announced(p));
		}
	}
}

/* Two sets of links at once; the older goes first, and the newer is used once more. */
static bool test_traffic(struct bench *b, const struct traffic *traffic)
{
	struct traffic t[2] = {*traffic, *traffic};
	size_t n = 2 * LINKS * (size_t)b->world.nranks;
	struct fb_port **ports[2];
	struct end *ends[2];
	bool good = true, direct = !strcmp(traffic->protocol, "direct");
	int made = 0;

	t[1].seed += 500;
	for (int k = 0; k < 2; k++) {
		ports[k] = calloc(n, sizeof(*ports[k]));
		ends[k] = calloc(n, sizeof(*ends[k]));
		made = ports[k] && ends[k] ? make_ends(b, &t[k], ends[k], ports[k]) : -1;
		good = good && made >= 0;
	}
	MPI_Barrier(b->world.comm);
	for (int k = 0; k < 2 && good; k++) {
		good = move(b, &t[k], ends[k], made);
		if (!good)
			break;
		MPI_Barrier(b->world.comm);
		if (direct)
			check_direct(ends[k], made);
		MPI_Barrier(b->world.comm);
		if (!k)
			b->shm->ops->disconnect(b->shm, ports[0], made);
	}
	/* The counters go on where they stand, and so do the numbers of the messages. */
	t[1].messages += t[1].messages / 2;
	good = good && move(b, &t[1], ends[1], made);
	MPI_Barrier(b->world.comm);
	if (good)
		b->shm->ops->disconnect(b->shm, ports[1], made);
	for (int k = 0; k < 2; k++) {
		free(ports[k]);
		free(ends[k]);
	}
	return good;
}

static bool test_protocols(struct bench *b)
{
	static const struct {
		const char *name;
		uint32_t first_flag;
	} kinds[] = {{"simple", 0}, {"ll128", 0}, {"ll", 0}, {"ll", UINT32_MAX},
		     {"ll", UINT32_MAX - 20}, {"direct", 0}};
	/* 480 and 69960 fill the lines of ll128: nothing may lie behind a full slot's end. */
	static const struct {
		uint32_t slots;
		size_t slot_bytes;
	} rings[] = {{1, 69960}, {2, 480}, {8, MAX_BYTES}};
	struct traffic t = {.seed = 1};
	bool good = true;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (int s = 0; s < 3 && good; s++) {
			t.protocol = kinds[i].name;
			t.first_flag = kinds[i].first_flag;
			t.slots = rings[s].slots;
			t.slot_bytes = rings[s].slot_bytes;
			t.messages = 48;
			t.seed++;
			good = test_traffic(b, &t);
		}
	return good;
}

static bool open_bench(struct bench *b, int *argc, char ***argv)
{
	struct fb_rng rng;

	if (fb_group_open(&b->world, argc, argv))
		return false;
	b->pattern = malloc(MAX_BYTES + SHIFTS);
	if (!b->pattern)
		return false;
	fb_rng_seed(&rng, 42);
	for (size_t i = 0; i < MAX_BYTES + SHIFTS; i++)
		b->pattern[i] = (unsigned char)fb_rng_u64(&rng);
	fb_rng_seed(&b->rng, 7 + (uint64_t)b->world.rank);
	return !fb_segment_open(&b->memory, &b->world,
				(size_t)b->world.nranks * 2 * LINKS * 8 * MAX_BYTES,
				FB_PAGES_NORMAL) &&
	       !fb_transport_shm.open(&b->shm, &b->world);
}

int main(int argc, char **argv)
{
	struct bench b = {.shm = NULL};
	int result = 0;

	if (!open_bench(&b, &argc, &argv))
		return 1;
	CHECK(b.shm->ops->speaks(b.shm, "ll") && !b.shm->ops->speaks(b.shm, "ll64"));
	/* A rank that could not go on would leave the others waiting. */
	if (!test_protocols(&b))
		fb_group_abort(&b.world, 1);
	MPI_Allreduce(MPI_IN_PLACE, &check_failures, 1, MPI_INT, MPI_SUM, b.world.comm);
	if (b.world.rank == 0)
		result = check_done("shm");
	b.shm->ops->close(b.shm);
	fb_segment_close(&b.memory);
	free(b.pattern);
	fb_group_close(&b.world);
	return result;
}
