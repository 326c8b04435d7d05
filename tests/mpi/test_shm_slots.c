/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slots of the shared-memory transport, step by step in one thread: over a link from a rank to
 * itself, whatever the other end can see at any time can be brought about, which two ranks would
 * meet only by chance.
 * ranks: 1 2
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/rng.h"
#include "common/transport/shm.h"
#include "tests/unit/check.h"

enum { MAX_BYTES = 70000, SHIFTS = 4096 };

struct bench {
	struct fb_group world;
	struct fb_transport *shm;
	unsigned char *pattern; /* [MAX_BYTES + SHIFTS] */
};

/* Makes the link; ports[0] sends, ports[1] receives. */
static bool open_link(struct bench *b, const char *protocol, uint32_t slots, size_t bytes,
		      uint32_t first_flag, struct fb_port **ports)
{
	struct fb_link_request requests[2] = {
		{.peer = b->world.rank, .id = 1, .sends = true, .slots = slots,
		 .slot_bytes = bytes, .protocol = protocol, .first_flag = first_flag},
	};

	requests[1] = requests[0];
	requests[1].sends = false;
	return CHECK_INT(b->shm->ops->connect(b->shm, requests, 2, ports), FB_OK);
}

static void send_pattern(const struct bench *b, struct fb_port *out, size_t shift, size_t bytes)
{
	void *to = out->ops->acquire(out, bytes);

	if (!CHECK(to != NULL))
		return;
	memcpy(to, b->pattern + shift, bytes);
	out->ops->commit(out, bytes);
}

/* The next message must be this one; also when it is looked at again. */
static void receive_pattern(const struct bench *b, struct fb_port *in, size_t shift, size_t bytes)
{
	const void *from = in->ops->peek(in, bytes);

	CHECK(from && from == in->ops->peek(in, bytes) &&
	      !memcmp(from, b->pattern + shift, bytes));
	in->ops->release(in);
}

/*
 * Fills all slots again and again, with the longest and empty messages among others: nothing is
 * there before the commit, no slot is free before the release, and no message spills over.
 */
static void test_rings(struct bench *b, const char *protocol, size_t slot_bytes,
		       uint32_t first_flag)
{
	enum { SLOTS = 3, SIZES = 11 };
	const size_t sizes[SIZES] = {slot_bytes, 0, 1, slot_bytes, 3, 4, 119, 120, 121, 240, 5};
	struct fb_port *ports[2], *out, *in;

	if (!open_link(b, protocol, SLOTS, slot_bytes, first_flag, ports))
		return;
	out = ports[0];
	in = ports[1];
	for (size_t i = 0; i < SLOTS; i++) {
		CHECK(out->ops->acquire(out, sizes[i]) == out->ops->acquire(out, sizes[i]));
		CHECK(i || !in->ops->peek(in, sizes[i]));
		send_pattern(b, out, i, sizes[i]);
	}
	for (size_t i = 0; i < 4 * SIZES; i++) {
		CHECK(!out->ops->acquire(out, 1));
		receive_pattern(b, in, i, sizes[i % SIZES]);
		send_pattern(b, out, i + SLOTS, sizes[(i + SLOTS) % SIZES]);
	}
	for (size_t i = 4 * SIZES; i < 4 * SIZES + SLOTS; i++)
		receive_pattern(b, in, i, sizes[i % SIZES]);
	CHECK(!in->ops->peek(in, 1));
	b->shm->ops->disconnect(b->shm, ports, 2);
}

/*
 * What the receiver sees while the sender writes: takes one flag after the other out of a message
 * and demands that it is waited for. `unit` bytes have one flag, in their last 8 bytes.
 */
static void test_halfway(struct bench *b, const char *protocol, size_t unit)
{
	enum { BYTES = 1000 };
	size_t units = unit == 8 ? (BYTES + 3) / 4 : (BYTES + unit - 9) / (unit - 8);
	struct fb_port *ports[2];

	if (!open_link(b, protocol, 2, BYTES, 0, ports))
		return;
	send_pattern(b, ports[0], 0, BYTES);
	for (size_t i = 0; i < units; i++) {
		char *flag = fb_shm_port(ports[1])->slots + i * unit + unit - 8;
		uint64_t saved, none = 0;

		memcpy(&saved, flag, sizeof(saved));
		memcpy(flag, &none, sizeof(none));
		CHECK(!ports[1]->ops->peek(ports[1], BYTES));
		memcpy(flag, &saved, sizeof(saved));
	}
	receive_pattern(b, ports[1], 0, BYTES);
	b->shm->ops->disconnect(b->shm, ports, 2);
}

/*
 * Fills all words of the slots, but for the first, which every message writes, with flags 1, 2,
 * ...: what short messages may leave over of the last cycle of flags.
 */
static void leave_stale_flags(const struct fb_shm_port *p)
{
	for (uint32_t s = 0; s < p->nslots; s++)
		for (size_t at = 8; at < p->slot_stride; at += 8) {
			uint64_t word = (uint64_t)(at / 8 % 32 + 1) << 32 | 0xabcdef;

			memcpy(p->slots + s * p->slot_stride + at, &word, sizeof(word));
		}
}

static uint64_t stale_flags(const struct fb_shm_port *p)
{
	uint64_t stale = 0;

	for (uint32_t s = 0; s < p->nslots; s++)
		for (size_t at = 8; at < p->slot_stride; at += 8) {
			uint64_t word;

			memcpy(&word, p->slots + s * p->slot_stride + at, sizeof(word));
			stale += word != 0;
		}
	return stale;
}

/* When the flags of ll wrap, every slot must be rid of those of the last cycle. */
static void test_wrap(struct bench *b)
{
	enum { SLOTS = 4, BEFORE = 2 };
	struct fb_port *ports[2];
	struct fb_shm_port *p;

	if (!open_link(b, "ll", SLOTS, 4096, UINT32_MAX - BEFORE + 1, ports))
		return;
	p = fb_shm_port(ports[1]);
	leave_stale_flags(p);
	CHECK(stale_flags(p) > 0);
	for (uint32_t i = 0; i < BEFORE + SLOTS; i++) {
		CHECK_INT(p->flag, i < BEFORE ? UINT32_MAX - BEFORE + 1 + i : i - BEFORE + 1);
		send_pattern(b, ports[0], i, 4);
		receive_pattern(b, ports[1], i, 4);
	}
	CHECK_INT(stale_flags(p), 0);
	b->shm->ops->disconnect(b->shm, ports, 2);
}

/* A link of which only one end is asked for is an error on all ranks, and leaves nothing behind. */
static void test_one_sided(struct bench *b)
{
	struct fb_link_request request = {.peer = (b->world.rank + 1) % b->world.nranks, .id = 5,
					  .sends = true, .slots = 1, .slot_bytes = 64,
					  .protocol = "simple"};
	struct fb_port *port;

	CHECK_INT(b->shm->ops->connect(b->shm, &request, b->world.rank == 0, &port), FB_EPLAN);
	CHECK_INT(b->shm->ops->connect(b->shm, NULL, 0, &port), FB_OK);
	b->shm->ops->disconnect(b->shm, &port, 0);
}

int main(int argc, char **argv)
{
	static const char *const fifos[] = {"simple", "ll", "ll128"};
	struct bench b = {.shm = NULL};
	struct fb_rng rng;
	int result = 0;

	if (fb_group_open(&b.world, &argc, &argv))
		return 1;
	b.pattern = malloc(MAX_BYTES + SHIFTS);
	if (!b.pattern || fb_transport_shm.open(&b.shm, &b.world))
		fb_group_abort(&b.world, 1);
	fb_rng_seed(&rng, 42);
	for (size_t i = 0; i < MAX_BYTES + SHIFTS; i++)
		b.pattern[i] = (unsigned char)fb_rng_u64(&rng);
	for (int i = 0; i < 3; i++) {
		test_rings(&b, fifos[i], MAX_BYTES, 0);
		/* Whole words and whole lines: nothing may lie behind the end of a slot. */
		test_rings(&b, fifos[i], 240, UINT32_MAX - 5);
	}
	test_halfway(&b, "ll", 8);
	test_halfway(&b, "ll128", 128);
	test_wrap(&b);
	test_one_sided(&b);
	MPI_Allreduce(MPI_IN_PLACE, &check_failures, 1, MPI_INT, MPI_SUM, b.world.comm);
	if (b.world.rank == 0)
		result = check_done("shm slots");
	b.shm->ops->close(b.shm);
	free(b.pattern);
	fb_group_close(&b.world);
	return result;
}
