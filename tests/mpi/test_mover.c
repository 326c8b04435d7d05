/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The conformance test of all movers (common/mover/mover.h): a new one is in the registry, and so
 * in this test, which knows none by name. Each verb and form with every kind of list, from no
 * pieces to thousands, of odd lengths at odd places; several moves under way at once; moves posted
 * again with fresh data; notices seen only behind what they promise; two groups at once; and what
 * is refused. Then movers that are wrong on purpose have to be caught.
 *
 * Names of movers as arguments: only these, and they must be there; wrong-target: PUTs to places
 * and with keys that are not the target's; wrong-target-ucx: the same by UCX's queue pairs.
 * FB_MOVER_SEED: another seed. FB_TEST_EVERY: one list of so many; 3, 7 and 9 take all in turn.
 * FB_TEST_DEVICE: the rails of mover rdma, as --rdma-device; transfers of 256 bytes use them all.
 * FB_MOVER_NCCL: another file than libnccl.so.2. FB_MOVER_MEMORY: of movers between GPUs, vmm,
 * device or pinned. Movers of host memory carry their lists in each kind of it.
 * ranks: 1 2 3 5
 * timeout: 300
 */
#include <sys/mman.h>

#include "common/base/error.h"
#include "common/base/spin.h"
#include "common/cuda/gpu_segment.h"
#include "common/option/option.h"
#include "common/transport/tcp.h"
#include "tests/mpi/mover_flow.h"
#include "tests/mpi/mover_left_out.h"
#include "tests/mpi/mover_memory.h"
#include "tests/mpi/mover_mutants.h"
#include "tests/mpi/mover_refused.h"
#include "tests/mpi/mover_stuck.h"
#include "tests/unit/check.h"

/* Without a step; times FB_SLOW, as a busy machine is no failure. */
enum { PATIENCE_S = 100 };

struct bench {
	struct fb_session session;
	struct fb_settings settings;
	struct fb_group world, half; /* half: of the ranks that are even, or odd */
	uint64_t seed, every;
	double patience_s;
	bool failed; /* nothing more can be done: a wait was in vain, or an error */
};

static int open_on(struct bench *b, const struct fb_mover_ops *ops, const struct fb_group *group,
		   struct opened *o, char why[FB_REASON_CHARS])
{
	int peers[MOST_RANKS], err = fb_mover_open(&o->mover, ops, &b->session, group, why);
	size_t bytes;

	if (err)
		return err;
	bytes = (size_t)group->nranks * 2 * ZONE;
	if (ops->device && !ops->segment)
		err = open_gpu_memory(o, &b->session, group, bytes);
	else
		err = fb_mover_segment(&o->segment, ops, &b->session, NULL, group, bytes);
	CHECK_INT(err, FB_OK);
	CHECK_INT(o->segment.part_bytes % memory_unit(ops, &b->settings), 0);
	CHECK_INT(fb_mover_add(o->mover, &o->segment, &o->region), FB_OK);
	for (int p = 0; p < group->nranks; p++)
		peers[p] = p;
	if (ops->connect)
		CHECK_INT(ops->connect(o->mover, peers, group->nranks), FB_OK);
	return FB_OK;
}

static void close_all(struct opened *o)
{
	MPI_Barrier(o->mover->group->comm);
	fb_mover_remove(o->region);
	CHECK_INT(fb_mover_close(o->mover), 0);
	fb_segment_close(&o->segment);
	fb_gpu_view_close(&o->gpu);
}

static struct flow *new_flow(const struct opened *o, const struct shape *shape,
			     enum fb_move_verb verb, uint64_t seed)
{
	struct flow *f = calloc(1, sizeof(*f));

	if (!f)
		abort();
	f->mover = o->mover;
	f->region = o->region;
	f->shape = shape;
	f->verb = verb;
	f->seed = seed;
	return f;
}

/* Drives a round of all flows at once. False: nothing came any more, or an error. */
static bool drive(struct flow **flow, int n, double patience_s)
{
	struct fb_spin spin = {.yields = true};
	double until = MPI_Wtime() + patience_s;
	bool over[2] = {false, false};
	int open = n, err = FB_OK;
	uint64_t last = 0;

	for (int i = 0; i < n && !err; i++)
		err = begin_round(flow[i]);
	while (open && !err && MPI_Wtime() <= until) {
		uint64_t steps = 0;

		for (int i = 0; i < n && !err; i++) {
			if (!over[i]) {
				err = advance(flow[i], &over[i]);
				open -= over[i];
			}
			steps += steps_of(flow[i]);
		}
		if (steps != last)
			until = MPI_Wtime() + patience_s;
		last = steps;
		(void)fb_spin_again(&spin);
	}
	return CHECK(!err && !open);
}

/* All rounds of flows that run beside each other; returns what was wrong, on all ranks. */
static unsigned run_flows(struct bench *b, struct flow **flow, int n, const char *form)
{
	unsigned errors = 0;
	int err = FB_OK;

	for (int i = 0; i < n && !err; i++)
		err = open_flow(flow[i], form);
	err = fb_group_agree(&b->world, err);
	for (int round = 0; round < ROUNDS && !err && !b->failed; round++) {
		for (int i = 0; i < n; i++)
			flow[i]->round = round;
		b->failed = !drive(flow, n, b->patience_s);
	}
	if (err != FB_EUNSUPPORTED)
		CHECK_INT(err, FB_OK);
	/* A peer may still wait for this rank's calls. */
	for (int i = 0; i < n && !b->failed; i++)
		MPI_Barrier(flow[i]->mover->group->comm);
	for (int i = 0; i < n; i++) {
		errors += flow[i]->errors;
		if (!b->failed)
			close_flow(flow[i]);
		free(flow[i]);
	}
	return errors;
}

static void test_lists(struct bench *b, const struct opened *o, enum fb_move_verb verb,
		       const char *form)
{
	for (const struct shape *s = shapes; s->name && !b->failed; s++) {
		struct flow *flow;

		if (++b->seed % b->every)
			continue;
		flow = new_flow(o, s, verb, b->seed);
		if (!CHECK_INT(run_flows(b, &flow, 1, form), 0))
			printf("\trank %d: %s, %s, form %s, list %s\n", b->world.rank,
			       o->mover->ops->name, fb_move_verbs[verb], form ? form : "-",
			       s->name);
	}
}

/* The world's mover and one of each half, at the same time. */
static void test_groups(struct bench *b, const struct opened *o)
{
	enum fb_move_verb verb = o->mover->ops->verbs >> FB_MOVE_PUT & 1 ? FB_MOVE_PUT
									 : FB_MOVE_SEND;
	char why[FB_REASON_CHARS] = "";
	struct opened half = {.mover = NULL};
	struct flow *flow[2];
	int err;

	if (b->failed)
		return;
	err = open_on(b, o->mover->ops, &b->half, &half, why);
	/* A library may have what it needs between these ranks, but not between those. */
	if (fb_group_agree(&b->world, err)) {
		CHECK(err == FB_OK || *why != '\0');
		if (!err)
			close_all(&half);
		return;
	}
	flow[0] = new_flow(o, &shapes[4], verb, ++b->seed);
	flow[1] = new_flow(&half, &shapes[5], verb, ++b->seed);
	CHECK_INT(run_flows(b, flow, 2, NULL), 0);
	if (!b->failed)
		close_all(&half);
}

/* Memory that its owner has taken away, or a region of another mover. */
static void test_unreachable(struct bench *b)
{
	char why[FB_REASON_CHARS] = "", *part;
	struct opened o = {.mover = NULL}, shm = {.mover = NULL};
	struct fb_piece piece = {0, 0, 8};
	struct fb_transfer t = {.verb = FB_MOVE_PUT, .piece = &piece, .pieces = 1};
	struct fb_move *move = NULL;
	int last = b->world.nranks - 1;

	if (open_on(b, &fb_mover_cma, &b->world, &o, why))
		return;
	CHECK_INT(open_on(b, &fb_mover_shm, &b->world, &shm, why), FB_OK);
	t.peer = last;
	t.local = o.region;
	t.remote = shm.region;
	CHECK_INT(fb_move_prepare(o.mover, &t, 1, NULL, &move), FB_EINPUT);
	close_all(&shm);
	t.remote = o.region;
	CHECK_INT(fb_move_prepare(o.mover, &t, 1, NULL, &move), FB_OK);
	part = fb_segment_part(&o.segment, last);
	if (b->world.rank == last)
		CHECK(!mprotect(part, o.segment.part_bytes, PROT_NONE));
	MPI_Barrier(b->world.comm);
	if (b->world.rank == 0)
		CHECK_INT(o.mover->ops->post(move), FB_ESYS);
	MPI_Barrier(b->world.comm);
	if (b->world.rank == last)
		CHECK(!mprotect(part, o.segment.part_bytes, PROT_READ | PROT_WRITE));
	o.mover->ops->release(move);
	close_all(&o);
}

/* A caller that goes round fb_mover_remove(), and so has a registration that nobody took back. */
static void test_stale(struct bench *b)
{
	char why[FB_REASON_CHARS] = "";
	struct opened o = {.mover = NULL};

	if (open_on(b, &fb_mover_shm, &b->world, &o, why))
		return;
	o.mover->ops->remove(o.region);
	CHECK_INT(fb_mover_close(o.mover), 1);
	fb_segment_close(&o.segment);
	fb_gpu_view_close(&o.gpu);
}

/* For movers whose targets or devices check where bytes go; shared memory does not. */
static void test_wrong(struct bench *b, const struct fb_mover_ops *ops)
{
	char why[FB_REASON_CHARS] = "";
	struct opened o = {.mover = NULL};

	if (b->world.nranks < 2 || b->failed || open_on(b, ops, &b->world, &o, why))
		return;
	test_wrong_target(&o, b->patience_s);
	close_all(&o);
}

/* False: this machine does not have it. */
static bool test_mover(struct bench *b, const struct fb_mover_ops *ops, bool wanted)
{
	static const char *const usual[] = {NULL};
	static const enum fb_move_verb verbs[] = {FB_MOVE_PUT, FB_MOVE_GET, FB_MOVE_SEND};
	const char *kind = b->settings.memory;
	char why[FB_REASON_CHARS] = "";
	struct opened o = {.mover = NULL};
	int before = check_failures, err = open_on(b, ops, &b->world, &o, why);

	if (err == FB_EUNSUPPORTED) {
		CHECK(*why != '\0' && !wanted);
		if (b->world.rank == 0)
			printf("  mover %s is absent: %s\n", ops->name, why);
		return false;
	}
	if (!CHECK_INT(err, FB_OK))
		return false;
	for (size_t v = 0; v < sizeof(verbs) / sizeof(verbs[0]); v++) {
		const char *const *forms = ops->forms ? ops->forms : usual;

		if (!(ops->verbs >> verbs[v] & 1))
			continue;
		do
			test_lists(b, &o, verbs[v], *forms);
		while (*forms && *++forms);
	}
	test_groups(b, &o);
	test_refused(&o);
	test_overlap(&o);
	test_unlike_region(&o);
	if (b->failed)
		return false;
	close_all(&o);
	test_left_out(&b->session, ops, b->patience_s);
	if (b->world.rank == 0)
		printf("  mover %s%s%s: %d failures\n", ops->name, kind ? " in memory " : "",
		       kind ? kind : "", check_failures - before);
	return true;
}

/* In usual memory, and then a ninth of the lists in each other kind of host memory. */
static void test_memories(struct bench *b, const struct fb_mover_ops *ops, bool wanted)
{
	bool more = test_mover(b, ops, wanted) && !ops->device && !ops->segment;
	uint64_t every = b->every;

	b->every = 9 * every;
	for (int i = 0; host_memories[i] && more && !b->failed; i++) {
		b->settings.memory = host_memories[i];
		test_mover(b, ops, wanted);
	}
	b->settings.memory = NULL;
	b->every = every;
}

/* Each mistake has to be noticed by some rank; the right mover under the same wrapper by none. */
static void test_mutants(struct bench *b)
{
	for (int m = 0; m < MUTANTS && !b->failed; m++) {
		for (int v = FB_MOVE_PUT; v <= FB_MOVE_GET && !b->failed; v++) {
			char why[FB_REASON_CHARS];
			struct opened o = {.mover = NULL};
			struct flow *flow;
			unsigned errors;

			if (!CHECK_INT(open_on(b, &fb_mover_shm, &b->world, &o, why), FB_OK))
				return;
			make_mutant(o.mover, (enum mutant)m);
			flow = new_flow(&o, &shapes[4], (enum fb_move_verb)v, ++b->seed);
			errors = run_flows(b, &flow, 1, NULL);
			MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_UNSIGNED, MPI_SUM,
				      b->world.comm);
			if (!CHECK((errors > 0) == (m != MUTANT_NONE)))
				printf("\t%s of mutant %s: %u errors\n",
				       fb_move_verbs[v], mutant_names[m], errors);
			unmake_mutant(o.mover);
			close_all(&o);
		}
	}
}

static bool named(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc == 1;
}

int main(int argc, char **argv)
{
	static struct bench b;
	const char *seed = getenv("FB_MOVER_SEED"), *nccl = getenv("FB_MOVER_NCCL");
	const char *device = getenv("FB_TEST_DEVICE"), *slow = getenv("FB_SLOW");
	const char *every = getenv("FB_TEST_EVERY");
	int code;

	if (fb_group_open(&b.world, &argc, &argv))
		return FB_EXIT_FAULT;
	b.seed = (seed ? strtoull(seed, NULL, 10) : 1) << 20;
	b.settings.slots = 4;
	b.settings.nccl_library = nccl ? nccl : "libnccl.so.2";
	b.settings.tcp = fb_tcp_defaults;
	b.every = every ? strtoull(every, NULL, 10) : 1;
	b.patience_s = PATIENCE_S * (slow ? strtod(slow, NULL) : 1);
	b.settings.rdma = fb_rdma_defaults;
	/* Soft-RoCE answers late where processors are busy, and with 7 it is asked for ever. */
	b.settings.rdma.timeout = 17;
	b.settings.rdma.retry = 7;
	if (device) {
		b.settings.rdma.device = device;
		b.settings.rdma.stripe = 256;
	}
	b.session = (struct fb_session){.program = "test_mover", .world = &b.world,
					.settings = &b.settings};
	if (fb_session_open(&b.session) ||
	    fb_group_split(&b.world, b.world.rank % 2, &b.half))
		return FB_EXIT_FAULT;
	CHECK_INT(fb_movers_load(), FB_OK);
	for (int i = 0; fb_movers[i] && !b.failed; i++)
		if (named(fb_movers[i]->name, argc, argv))
			test_memories(&b, fb_movers[i], argc > 1);
	if (argc == 1 && !b.failed)
		test_unreachable(&b);
	if (named("stale", argc, argv))
		test_stale(&b);
	if (named("stuck", argc, argv) && !b.failed)
		test_stuck(&b.session, b.patience_s);
	if (argc == 1)
		test_mutants(&b);
	if (named("wrong-target", argc, argv)) {
		test_wrong(&b, &fb_mover_tcp);
		test_wrong(&b, &fb_mover_file);
		test_wrong(&b, &fb_mover_rdma);
	}
	if (argc > 1 && named("wrong-target-ucx", argc, argv)) {
		/* Between hosts UCX reports errors. */
		CHECK_INT(fb_group_pretend_nodes(&b.world, b.world.nranks), FB_OK);
		test_wrong(&b, &fb_mover_ucx);
	}
	code = check_done("test_mover");
	/* Where a wait was in vain, others may still wait. */
	if (b.failed)
		fb_group_abort(&b.world, FB_EXIT_REGRESSION);
	fb_session_close(&b.session);
	fb_group_close(&b.half);
	fb_group_close(&b.world);
	return code;
}
