/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPUs that only their hosts connect: every process emulates the GPU of a rank, or two that reach
 * each other, with the engine's device code; real proxy threads carry messages over real sockets.
 * Every algorithm against the oracle, several calls without a barrier, few slots and many; requests
 * that come and go while others stay; and messages in the wrong slot, which must be noticed.
 *
 * With FB_TEST_TRANSPORT=rdma over RDMA devices instead, and then with slots apart, which the
 * device reads and writes itself as it does those in GPU memory: GPUDirect but for the memory.
 *
 * ranks: 2 3
 * timeout: 200
 */
#include "collectives/engine/cuda/proxy.h"
#include "common/transport/rdma.h"
#include "tests/cuda/turn.h"
#include "tests/unit/check.h"

enum { CALLS = 3, EACH = 2, PATIENCE_S = 60, SLOTS = 4 };

struct place {
	const struct fb_group *world;
	struct fb_transport *transport;
	struct fb_gpu_proxy *proxy;
	int each; /* emulated GPUs of a process */
	bool placed; /* the device carries messages from slot to slot */
};

/*
 * Joins the proxied links of all ranks of the process. Rank numbers and link numbers of the job
 * become those that the processes use.
 */
static struct fb_gpu_proxy_links open_links(const struct place *p, const struct job *j)
{
	struct fb_gpu_proxy_links all = {.links = NULL};

	for (int k = 0; k < p->each; k++) {
		int rank = p->world->rank * p->each + k;
		const struct fb_gpu_proxy_links *own = &j->ranks[rank].proxied;

		all.links = realloc(all.links, (size_t)(all.n + own->n + 1) * sizeof(*all.links));
		if (!all.links)
			abort();
		for (int i = 0; i < own->n; i++) {
			struct fb_gpu_proxy_link *m = &all.links[all.n];
			int from, to;

			*m = own->links[i];
			if (m->peer < 0)
				continue;
			from = m->sends ? rank : m->peer;
			to = m->sends ? m->peer : rank;
			m->id = (m->id * JOB_RANKS + (uint32_t)from) * JOB_RANKS + (uint32_t)to;
			m->peer /= p->each;
			all.n++;
		}
	}
	return all;
}

/* Notices have to be in the order of the device's writes: here it counts, as there it flushes. */
static int count_flush(void *arg)
{
	++*(int *)arg;
	return 0;
}

/* To the proxy. GPUDirect: with one rank of a process, whose slots are the process's. */
static void add_links(const struct place *p, const struct job *j,
		      struct fb_gpu_proxy_links *proxied)
{
	static int flushes;

	if (j->c.placed) {
		proxied->direct = (struct fb_device_memory){.base = j->ranks[p->world->rank].slots,
							 .bytes = j->slots_bytes, .fd = -1,
							 .host = true};
		proxied->flush = count_flush;
		proxied->arg = &flushes;
	}
	CHECK_INT(fb_gpu_proxy_add(p->proxy, proxied, SLOTS), FB_OK);
}

static void close_links(const struct place *p, struct fb_gpu_proxy_links *all)
{
	fb_gpu_proxy_remove(p->proxy, all);
	free(all->links);
}

/* Calls of jobs in turn, on this process's ranks. False: stuck. */
static bool run(const struct place *p, struct job **jobs, int njobs, uint64_t seed)
{
	static struct emu_launch launches[EACH][3 * CALLS * 2];
	static struct job_turn turns[EACH][CALLS * 2];

	emu.nranks = (p->world->rank + 1) * p->each;
	emu.patience_s = PATIENCE_S;
	for (int r = 0; r < EMU_MOST_RANKS; r++)
		emu.ranks[r].launches = emu.ranks[r].next = 0;
	for (int k = 0; k < p->each; k++) {
		int rank = p->world->rank * p->each + k;

		for (int i = 0; i < CALLS * njobs; i++) {
			struct job *j = jobs[i % njobs];
			struct job_turn *t = &turns[k][i];
			struct emu_launch *l = &launches[k][3 * i];

			*t = (struct job_turn){.job = j, .rank = rank, .call = i};
			l[0] = (struct emu_launch){job_prime, t, 1, 1};
			l[1] = job_launch(j, rank, false);
			l[2] = (struct emu_launch){job_check, t, 1, 1};
		}
		emu.ranks[rank].stream = launches[k];
		emu.ranks[rank].launches = 3 * CALLS * njobs;
	}
	return emu_run(seed);
}

static bool possible(const struct job_case *c)
{
	static const int node_of[] = {0, 0, 1, 1}, local_rank_of[] = {0, 1, 0, 1};
	const struct fb_topology two = {.nranks = 4, .nnodes = 2, .node_of = node_of,
					.local_rank_of = local_rank_of};
	const struct fb_shape shape = {
		.collective = c->algorithm->collective, .nranks = c->nranks, .root = c->root,
		.in_place = c->in_place, .nchannels = c->channels,
		.topology = c->nodes == 2 && c->nranks == 4 ? &two : NULL};
	unsigned wanted = c->direct ? FB_DIRECT_PROTOCOL : FB_FIFO_PROTOCOLS;
	char why[256];

	return fb_algorithm_can(c->algorithm, &shape, why, sizeof(why)) &&
	       (!c->algorithm->protocols || (c->algorithm->protocols & wanted));
}

static struct job_case make_case(const struct place *p, int algorithm, int turn)
{
	static const uint64_t counts[] = {300, 1, 0, 1025};
	const struct fb_algorithm *a = fb_algorithms[algorithm];
	struct job_case c = {
		.algorithm = a, .direct = p->each > 1 && turn % 2,
		.nranks = p->world->nranks * p->each, .nodes = p->world->nranks, .proxied = true,
		.placed = p->placed,
		.datatype = turn % 3 ? FB_F32 : FB_BF16, .in_place = turn / 2 % 2,
		.count = counts[turn % 4],
		.tuning = {.slots = 1u << turn % 4, .slot_bytes = turn % 2 ? 64 : 1024},
	};

	c.channels = a->channels ? a->channels : 1 + turn % 2;
	c.root = fb_collective_info(a->collective)->has_root ? turn % c.nranks : 0;
	if (a->collective == FB_BARRIER)
		c.count = 0;
	return c;
}

static void test_algorithms(const struct place *p)
{
	static struct job j;
	struct fb_gpu_proxy_links proxied;
	int stuck = 0;

	for (int a = 0, turn = p->each; a < fb_algorithm_count && !stuck; a++, turn++) {
		const struct job_case c = make_case(p, a, turn);
		struct job *jobs[] = {&j};

		if (!possible(&c) || !CHECK_INT(job_open(&j, &c), FB_OK))
			continue;
		proxied = open_links(p, &j);
		add_links(p, &j, &proxied);
		stuck = !run(p, jobs, 1, (uint64_t)a);
		if (!CHECK(!stuck && !j.bad.errors))
			printf("\trank %d: %s %s, %d ranks, count %llu: %s\n", p->world->rank,
			       fb_collective_info(c.algorithm->collective)->name,
			       c.algorithm->name, c.nranks, (unsigned long long)c.count,
			       stuck ? "stuck" : j.why);
		if (stuck)
			MPI_Abort(p->world->comm, 1);
		close_links(p, &proxied);
		job_close(&j);
	}
}

/* Two requests at once; the second comes after calls of the first, and the first goes before it. */
static void test_requests(const struct place *p)
{
	static struct job first, second;
	struct job *both[] = {&first, &second};
	struct fb_gpu_proxy_links sets[2];
	struct job_case c = {.algorithm = &fb_all_reduce_ring, .datatype = FB_F32, .proxied = true,
			     .nranks = p->world->nranks * p->each, .nodes = p->world->nranks,
			     .placed = p->placed, .channels = 1, .count = 200,
			     .tuning = {.slots = 2}};

	CHECK_INT(job_open(&first, &c), FB_OK);
	sets[0] = open_links(p, &first);
	add_links(p, &first, &sets[0]);
	CHECK(run(p, both, 1, 1));
	c.algorithm = &fb_broadcast_chain;
	CHECK_INT(job_open(&second, &c), FB_OK);
	sets[1] = open_links(p, &second);
	add_links(p, &second, &sets[1]);
	CHECK(run(p, both, 2, 2));
	close_links(p, &sets[0]);
	both[0] = &second;
	CHECK(run(p, both, 1, 3));
	close_links(p, &sets[1]);
	CHECK_INT(first.bad.errors + second.bad.errors, 0);
	CHECK_INT(fb_gpu_proxy_state(p->proxy), FB_OK);
	job_close(&first);
	job_close(&second);
}

/* Rank 0's messages arrive one slot too far, or are fetched there if the sender places them. */
static void test_mutant(const struct place *p)
{
	static struct job j;
	struct job *jobs[] = {&j};
	const struct job_case c = {
		.algorithm = &fb_all_reduce_ring, .datatype = FB_F32, .proxied = true,
		.nranks = p->world->nranks * p->each, .nodes = p->world->nranks, .channels = 1,
		.placed = p->placed, .count = 200, .tuning = {.slots = 4}};
	struct fb_gpu_proxy_links proxied;
	unsigned long long errors;

	CHECK_INT(job_open(&j, &c), FB_OK);
	proxied = open_links(p, &j);
	for (int i = 0; p->world->rank == 0 && i < proxied.n; i++)
		if (proxied.links[i].sends == p->placed)
			proxied.links[i].slots += j.shape.stride;
	add_links(p, &j, &proxied);
	CHECK(run(p, jobs, 1, 5));
	close_links(p, &proxied);
	errors = j.bad.errors;
	MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, p->world->comm);
	CHECK(errors > 0);
	job_close(&j);
}

static int open_transport(struct fb_transport **transport, const struct fb_group *world)
{
	static struct fb_rdma_settings settings;
	const char *name = getenv("FB_TEST_TRANSPORT");
	char why[256];

	if (!name || strcmp(name, "rdma") != 0)
		return fb_transport_tcp.open(transport, world);
	settings = fb_rdma_defaults;
	settings.notify = FB_RDMA_NOTIFY_IMM;
	settings.timeout = 19;
	return fb_rdma_open(transport, world, &settings, why, sizeof(why));
}

int main(int argc, char **argv)
{
	struct fb_group world;
	struct place p = {.world = &world};
	int failures, rank;

	if (fb_group_open(&world, &argc, &argv))
		return 1;
	rank = world.rank;
	if (CHECK_INT(open_transport(&p.transport, &world), FB_OK) &&
	    CHECK_INT(fb_gpu_proxy_open(&p.proxy, p.transport), FB_OK)) {
		for (p.each = 1; p.each * world.nranks <= JOB_RANKS && p.each <= EACH; p.each++)
			test_algorithms(&p);
		p.each = 1;
		test_requests(&p);
		test_mutant(&p);
		p.placed = p.transport->ops->direct != NULL;
		if (p.placed) {
			test_algorithms(&p);
			test_requests(&p);
			test_mutant(&p);
		}
		fb_gpu_proxy_close(p.proxy);
		p.transport->ops->close(p.transport);
	}
	failures = check_failures;
	MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_MAX, world.comm);
	fb_group_close(&world);
	check_failures = failures;
	return rank == 0 ? check_done("gpu_proxy") : failures != 0;
}
