/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rdma transport with one mistake at a time, which the data have to show: a credit that nobody
 * gave, a completion that is counted twice, and a message that is announced before its data. A race
 * that is rarely lost proves nothing, so the other end sleeps where the missing step would have
 * made it wait. Two more tests: a sleeper that asks for no event, and device memory that cannot be
 * registered in the way that was asked for.
 *
 *	test_rdma_mutants [DEVICE]        as --rdma-device
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/transport/rdma_internal.h"
#include "tests/unit/check.h"

#if FB_HAVE_VERBS

enum { MESSAGES = 12, SLOTS = 2, BYTES = 5000, AREA = 8192 };

enum mutant { NONE, FREE_CREDIT, COUNTED_TWICE, ANNOUNCED_FIRST, MUTANTS, NAPS };

static const char *const names[MUTANTS] = {
	[NONE] = "nothing", [FREE_CREDIT] = "a credit that nobody gave",
	[COUNTED_TWICE] = "a completion counted twice",
	[ANNOUNCED_FIRST] = "announced before the data"};

static void nap(void)
{
	const struct timespec t = {.tv_nsec = 20 * 1000 * 1000};

	nanosleep(&t, NULL);
}

/* Receiver: a message more than there is. */
static void count_twice(struct fb_rdma_port *p)
{
	if (p->rdma->imm)
		p->arrived[p->home] = p->moved[p->home] + 1;
	else
		atomic_store(&p->cells->available[p->home], p->moved[p->home] + 1);
}

/* As simple_commit(), the other way round. */
static void commit_late(struct fb_rdma_port *p, const char *from)
{
	uint64_t to = p->far_ring + (uint64_t)(from - p->ring);

	fb_rdma_send(p, p->home, NULL, to, 0, true, false);
	nap();
	fb_rdma_send(p, p->home, from, to, BYTES, false, true);
	fb_rdma_slot_sent(p, BYTES);
}

static int send_all(struct fb_transport *t, struct fb_port *port, enum mutant mutant)
{
	struct fb_rdma_port *p = fb_rdma_port(port);
	int err = 0;

	for (int i = 0; i < MESSAGES && !err; i++) {
		char *at = NULL;

		if (mutant == COUNTED_TWICE || mutant == NAPS)
			nap();
		while (!at && !err) {
			/* A receiver that counts twice is ahead, so credits mean nothing. */
			if (mutant == FREE_CREDIT || mutant == COUNTED_TWICE)
				p->seen = p->messages;
			at = port->ops->acquire(port, BYTES);
			err = t->ops->progress(t);
			sched_yield();
		}
		if (!at)
			break;
		memset(at, i + 1, BYTES);
		if (mutant == ANNOUNCED_FIRST)
			commit_late(p, at);
		else
			port->ops->commit(port, BYTES);
	}
	return err;
}

/* Returns how many messages were not what had been sent. */
static int receive_all(struct fb_transport *t, struct fb_port *port, int mutant)
{
	int wrong = 0, err = 0;

	for (int i = 0; i < MESSAGES && !err; i++) {
		const char *got = NULL;
		bool good = true;

		if (mutant == COUNTED_TWICE)
			count_twice(fb_rdma_port(port));
		while (!got && !err) {
			got = port->ops->peek(port, BYTES);
			err = t->ops->progress(t);
			sched_yield();
		}
		if (mutant == FREE_CREDIT)
			nap();
		for (size_t k = 0; k < BYTES && got; k++)
			good &= got[k] == (char)(i + 1);
		wrong += !good;
		if (got)
			port->ops->release(port);
	}
	CHECK_INT(err, 0);
	return wrong;
}

/*
 * Opens a transport for one test alone, as what a mutant has spoilt does not heal, and has a link
 * from rank 0 to rank 1 carry messages. Returns the sum over all ranks of what receive() returned;
 * -1 where there is no transport. Collective.
 */
static int carry(struct fb_group *world, const struct fb_rdma_settings *settings,
		 enum mutant mutant,
		 int (*receive)(struct fb_transport *t, struct fb_port *port, int how), int how)
{
	struct fb_link_request request = {.peer = 1 - world->rank, .sends = !world->rank,
					  .slots = SLOTS, .slot_bytes = BYTES,
					  .protocol = "simple"};
	struct fb_transport *t;
	struct fb_port *port;
	char why[256] = "";
	int found = 0, links = world->rank < 2;

	if (!CHECK_INT(fb_rdma_open(&t, world, settings, why, sizeof(why)), 0))
		return -1;
	if (CHECK_INT(t->ops->connect(t, &request, links, &port), 0)) {
		if (world->rank == 0)
			CHECK_INT(send_all(t, port, mutant), 0);
		else if (links)
			found = receive(t, port, how);
		t->ops->disconnect(t, &port, links);
	}
	MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_SUM, world->comm);
	t->ops->close(t);
	return found;
}

static void test_mutant(struct fb_group *world, const struct fb_rdma_settings *settings,
			enum mutant mutant)
{
	int wrong = carry(world, settings, mutant, receive_all, (int)mutant);

	if (!CHECK((wrong > 0) == (mutant != NONE)) && !world->rank)
		printf("\t%s, %s: %d wrong\n", names[mutant],
		       settings->notify == FB_RDMA_NOTIFY_IMM ? "immediate data" : "flags", wrong);
}

/*
 * Receives as above, asleep between the looks. One thing is wrong where `forgets`: no event is
 * asked for, as after an event whose taker does not ask for the next one. Returns how often a
 * completion without an event was found, which ends the sleeping; the rest is polled for.
 */
static int receive_asleep(struct fb_transport *t, struct fb_port *port, int forgets)
{
	struct fb_rdma *rdma = (struct fb_rdma *)t;
	int found = 0, err = 0;
	bool idle;

	for (int i = 0; i < MESSAGES && !err; i++) {
		const char *got = NULL;

		while (!got && !err) {
			got = port->ops->peek(port, BYTES);
			err = t->ops->progress(t);
			if (got || err)
				continue;
			rdma->completions[0].armed |= forgets;
			err = found ? 0 : t->ops->rest(t, &idle);
			if (err != FB_EPEER)
				continue;
			found++;
			rdma->completions[0].broken = false;
			rdma->err = err = 0;
		}
		CHECK(got && got[0] == (char)(i + 1) && got[BYTES - 1] == (char)(i + 1));
		if (got)
			port->ops->release(port);
	}
	CHECK_INT(err, 0);
	return found;
}

/* Rank 0 sends slowly, so that rank 1 sleeps. */
static void test_asleep(struct fb_group *world, const struct fb_rdma_settings *settings,
			bool forgets)
{
	int found = carry(world, settings, NAPS, receive_asleep, forgets);

	if (!CHECK_INT(found, forgets) && !world->rank)
		printf("\tevents%s\n", forgets ? " that nobody asks for" : "");
}

/*
 * A file is no dma-buf: a caller that insists on it gets an error, and another one gets the other
 * way, by address, which host memory can be registered by.
 */
static void test_refusal(const struct fb_group *world, const struct fb_rdma_settings *settings)
{
	const struct fb_rdma_region *region = NULL;
	char *area = aligned_alloc(4096, AREA), why[256] = "";
	int fd = memfd_create("no dma-buf", 0);
	struct fb_device_memory memory = {.base = area, .bytes = AREA, .fd = fd};
	struct fb_transport *t;
	struct fb_rdma *rdma;

	if (!CHECK(area && fd >= 0) ||
	    !CHECK_INT(fb_rdma_open(&t, world, settings, why, sizeof(why)), 0))
		exit(1);
	rdma = (struct fb_rdma *)t;
	CHECK(!t->ops->direct->can_expose(t, &memory, why, sizeof(why)));
	CHECK(strstr(why, "does not register GPU memory by dma-buf: ") != NULL);
	CHECK_INT(t->ops->direct->expose_device(t, &memory), FB_ESYS);
	CHECK_INT(fb_rdma_register_device(&rdma->cache, area, AREA, fd, 0, false, &region),
		  FB_ESYS);
	CHECK(!fb_rdma_find(&rdma->cache, area, AREA));
	if (CHECK_INT(fb_rdma_register_device(&rdma->cache, area, AREA, fd, 0, true, &region), 0))
		CHECK_STR(fb_rdma_how_names[region->how], "peermem");
	fb_rdma_forget(&rdma->cache, area, AREA);
	memory.fd = -1;
	why[0] = '\0';
	CHECK(t->ops->direct->can_expose(t, &memory, why, sizeof(why)));
	CHECK_STR(why, "");
	CHECK_INT(t->ops->direct->expose_device(t, &memory), 0);
	t->ops->direct->conceal(t, area, AREA);
	t->ops->close(t);
	close(fd);
	free(area);
}

int main(int argc, char **argv)
{
	struct fb_rdma_settings settings = fb_rdma_defaults;
	struct fb_group world;
	int failed;

	if (fb_group_open(&world, &argc, &argv))
		return 1;
	settings.device = argc > 1 ? argv[1] : "auto";
	settings.timeout = 19;
	for (int notify = FB_RDMA_NOTIFY_WRITE; notify <= FB_RDMA_NOTIFY_IMM; notify++) {
		settings.notify = notify;
		for (int m = NONE; m < MUTANTS; m++)
			test_mutant(&world, &settings, (enum mutant)m);
	}
	settings.waits = 1 << FB_RDMA_WAIT_EVENT;
	test_asleep(&world, &settings, false);
	test_asleep(&world, &settings, true);
	settings.waits = 1 << FB_RDMA_WAIT_HYBRID;
	test_asleep(&world, &settings, false);
	settings.waits = 1 << FB_RDMA_WAIT_POLL;
	test_refusal(&world, &settings);
	failed = check_failures;
	MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, world.comm);
	if (!world.rank || check_failures)
		failed |= check_done("rdma mutants");
	fb_group_close(&world);
	return failed != 0;
}

#else

int main(void)
{
	printf("SKIP rdma mutants: built without libibverbs headers\n");
	return 77;
}

#endif
