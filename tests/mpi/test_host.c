/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host engine against the serial oracle: every algorithm, protocol and datatype, sizes around
 * every boundary, in place and not, canaries around the buffers, many calls back to back; in shared
 * memory, and a part of it over tcp.
 * ranks: 1 2 3 5 8
 * timeout: 300
 *
 * With more ranks than processors a part of the cases runs; with an MPI library that spins while
 * another rank needs its processor (MPICH), a smaller part: its collectives, which preparing a
 * case needs, then take a scheduler's slice each.
 *
 *	test_host [COLLECTIVE [ALGORITHM [PROTOCOL]]]
 *
 * The tests in virtual machines run it over rdma: FB_TEST_TRANSPORT names the transport,
 * FB_TEST_NODES pretends nodes, FB_TEST_EVERY runs one case of n (choice.h), FB_TEST_DEVICE and
 * FB_TEST_NOTIFY are --rdma-device and whether to use immediate data.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/buffers.h"
#include "collectives/engine/host.h"
#include "collectives/traffic.h"
#include "common/base/data.h"
#include "common/base/error.h"
#include "common/run/run.h"
#include "tests/mpi/choice.h"
#include "tests/unit/check.h"

enum { CANARY = 64, CANARY_BYTE = 0x5c, LARGEST = 150000 };

struct bench {
	struct fb_run run;
	struct fb_engine *engine;
	struct fb_segment segment;
	struct fb_counts counts;
	size_t in_offset, out_offset, room; /* room: bytes of each buffer */
	uint64_t cases;
	uint64_t every; /* one of so many cases runs */
	uint32_t walk;  /* pairs that ran any */
	struct coverage coverage;
	uint64_t largest; /* elements of all ranks' blocks together */
	int calls;   /* each checked */
	int repeats; /* calls back to back after them */
};

static char *own(const struct bench *b, size_t offset)
{
	return fb_segment_part(&b->segment, b->run.world.rank) + offset;
}

/* Where rank's input and output begin, in place or not, and how many elements they have. */
struct layout {
	size_t in, out;             /* offsets in the part */
	uint64_t in_count, out_count; /* elements; 0: no such buffer */
};

static struct layout lay_out(const struct fb_operation *op, const struct fb_group *w)
{
	struct layout l = {.in = op->in_offset, .out = op->out_offset,
			   .in_count = fb_buffers_elements(op, false, w->rank, w->nranks),
			   .out_count = fb_buffers_elements(op, true, w->rank, w->nranks)};
	size_t size = fb_datatype_size(op->datatype);
	uint8_t buffer = FB_IN;
	uint32_t unit = 0;
	struct fb_shape shape = {.collective = op->collective, .nranks = w->nranks,
				 .root = op->root, .in_place = op->in_place};

	fb_plan_canonical(&shape, w->rank, 1, &buffer, &unit);
	if (buffer == FB_OUT)
		l.in = op->out_offset + fb_buffers_first(op, true, w->rank, (int)unit) * size;
	buffer = FB_OUT;
	unit = 0;
	fb_plan_canonical(&shape, w->rank, 1, &buffer, &unit);
	if (buffer == FB_IN)
		l.out = op->in_offset + fb_buffers_first(op, false, w->rank, (int)unit) * size;
	return l;
}

/* Canaries once for all calls: what one of them writes outside of its buffers stays there. */
static void prime(const struct bench *b, const struct fb_operation *op, const struct layout *l,
		  const struct fb_data *data, bool canaries)
{
	size_t size = fb_datatype_size(op->datatype);

	if (canaries) {
		memset(own(b, b->in_offset - CANARY), CANARY_BYTE, b->room + 2 * CANARY);
		memset(own(b, b->out_offset - CANARY), CANARY_BYTE, b->room + 2 * CANARY);
	}
	if (l->out_count)
		memset(own(b, l->out), fb_data_poison_byte(7), l->out_count * size);
	if (l->in_count)
		fb_data_fill(data, b->run.world.rank, 0, own(b, l->in), l->in_count);
}

static void check_blocks(const struct fb_operation *op, const struct fb_group *w,
			 const struct fb_data *data, const char *out, struct fb_mismatch *bad)
{
	size_t size = fb_datatype_size(op->datatype);
	uint64_t n = op->count, skip = (uint64_t)w->rank * n;
	int left = (w->rank + w->nranks - 1) % w->nranks;

	switch (op->collective) {
	case FB_ALL_REDUCE:
	case FB_REDUCE:
		fb_data_check_reduced(data, 0, out, n, bad);
		break;
	case FB_REDUCE_SCATTER:
		fb_data_check_reduced(data, skip, out, n, bad);
		break;
	case FB_REDUCE_SCATTER_V:
		skip = fb_buffers_first(op, false, w->rank, w->rank);
		fb_data_check_reduced(data, skip, out, op->counts->elements[w->rank], bad);
		break;
	case FB_BROADCAST:
		fb_data_check(data, op->root, 0, out, n, bad);
		break;
	case FB_SCATTER:
		fb_data_check(data, op->root, skip, out, n, bad);
		break;
	case FB_SEND_RECV:
		fb_data_check(data, left, 0, out, n, bad);
		break;
	case FB_ALL_TO_ALL_V:
	case FB_ALL_GATHER_V:
		for (int p = 0; p < w->nranks; p++) {
			uint64_t at = 0, m = op->counts->elements[p * w->nranks + w->rank];

			for (int q = 0; op->collective == FB_ALL_TO_ALL_V && q < w->rank; q++)
				at += op->counts->elements[p * w->nranks + q];
			fb_data_check(data, p, at, out, m, bad);
			out += m * size;
		}
		break;
	default:
		for (int p = 0; p < w->nranks; p++)
			fb_data_check(data, p, op->collective == FB_ALL_TO_ALL ? skip : 0,
				      out + (size_t)p * n * size, n, bad);
	}
}

/* Whether bytes [from, to) of the own part are as prime() left them. */
static bool untouched(const struct bench *b, size_t from, size_t to)
{
	const char *p = own(b, from);

	/* Each byte equals the one before it, and the first is right. */
	return from >= to ||
	       (*p == CANARY_BYTE && !memcmp(p, p + 1, to - from - 1));
}

/* Bytes outside of the buffers must be as before. */
static bool canaries_whole(const struct bench *b, const struct layout *l, size_t size)
{
	const size_t begin[2] = {b->in_offset - CANARY, b->out_offset - CANARY};
	size_t in_end = l->in + l->in_count * size, out_end = l->out + l->out_count * size;
	bool whole = true;

	for (int i = 0; i < 2; i++) {
		size_t from = begin[i], end = begin[i] + b->room + 2 * CANARY;
		bool has_in = l->in_count && l->in >= from && l->in < end;
		bool has_out = l->out_count && l->out >= from && l->out < end;
		size_t low = end, high = end;

		/* In place, one buffer lies within the other. */
		if (has_in) {
			low = l->in;
			high = in_end;
		}
		if (has_out) {
			low = has_in && low < l->out ? low : l->out;
			high = has_in && high > out_end ? high : out_end;
		}
		whole &= untouched(b, from, low) && untouched(b, high, end);
	}
	return whole;
}

static void run_case(struct bench *b, const struct fb_case *c, const struct fb_operation *op)
{
	const struct fb_group *w = &b->run.world;
	struct fb_data data = {.seed = 99 + b->cases, .type = op->datatype, .op = op->redop,
			       .reduces = fb_collective_info(op->collective)->reduces,
			       .nranks = w->nranks};
	struct layout l = lay_out(op, w);
	struct fb_mismatch bad = {.errors = 0};
	struct fb_request *request;
	int err = fb_engine_prepare(b->engine, c, op, &request);

	b->cases++;
	if (!CHECK_INT(err, 0))
		return;
	for (int call = 0; call < b->calls && !err; call++) {
		prime(b, op, &l, &data, call == 0);
		MPI_Barrier(w->comm);
		err = fb_engine_host.start(request);
		if (!err)
			err = fb_engine_host.wait(request);
		CHECK_INT(err, 0);
		if (l.out_count && op->collective != FB_BARRIER)
			check_blocks(op, w, &data, own(b, l.out), &bad);
		MPI_Barrier(w->comm);
	}
	for (int call = 0; call < b->repeats && !err && !op->in_place; call++) {
		err = fb_engine_host.start(request);
		if (!err)
			err = fb_engine_host.wait(request);
	}
	MPI_Barrier(w->comm);
	if (l.out_count && op->collective != FB_BARRIER && !op->in_place)
		check_blocks(op, w, &data, own(b, l.out), &bad);
	if (!check_that(!bad.errors && canaries_whole(b, &l, fb_datatype_size(op->datatype)),
			"data and canaries", __FILE__, __LINE__))
		printf("\trank %d of %d: %s %s %s %s count %lu in_place %d root %d: %lu "
		       "errors, first at %lu: got %s, expected %s\n", w->rank, w->nranks,
		       c->operation, c->algorithm, c->protocol, fb_datatype_name(op->datatype),
		       (unsigned long)op->count, op->in_place, op->root,
		       (unsigned long)bad.errors, (unsigned long)bad.index, bad.got, bad.expected);
	MPI_Barrier(w->comm);
	fb_request_release(request);
}

static void fill_counts(struct bench *b, enum fb_collective collective, uint64_t count)
{
	int n = b->run.world.nranks;

	for (int i = 0; i < n * n; i++)
		b->counts.elements[i] = (uint64_t)(i * 7 % 5) * count / 4;
	fb_traffic_spread(collective, (size_t)n, b->counts.elements);
	fb_traffic_sizes(&b->counts);
}

static struct fb_operation operation_of(struct bench *b, const struct fb_algorithm *a,
					const struct choice *choice)
{
	const struct fb_collective_info *info = fb_collective_info(a->collective);
	uint64_t n = (uint64_t)b->run.world.nranks;
	const uint64_t counts[CHOICE_COUNTS] = {0, 1, 2, 3, n + 1, 17, 1023, 4096, b->largest / n};
	struct fb_operation op = {
		.collective = a->collective, .datatype = choice->type, .redop = choice->redop,
		.root = info->has_root ? (int)(choice->root % n) : 0,
		.in_place = choice->in_place, .count = counts[choice->count],
		.segment = &b->segment, .in_offset = b->in_offset, .out_offset = b->out_offset,
	};

	if (op.count * fb_datatype_size(op.datatype) * n > b->room)
		op.count = b->room / fb_datatype_size(op.datatype) / n;
	if (info->unequal) {
		fill_counts(b, a->collective, op.count);
		op.counts = &b->counts;
	}
	return op;
}

/* Runs a pair's share of cases, those that the engine can carry out. */
static void sweep(struct bench *b, uint32_t pair, const struct fb_algorithm *a, struct fb_case *c)
{
	bool barrier = a->collective == FB_BARRIER;
	bool could = fb_collective_info(a->collective)->in_place;
	uint32_t seed = choice_seed(b->run.settings.transport, b->run.world.nranks);
	uint64_t before = b->coverage.cases;
	int left = barrier ? 1 : choice_cases(pair, seed, b->every, could);
	char reason[FB_REASON_CHARS];

	for (uint32_t draw = 0; draw < CHOICE_PERIOD && left; draw++) {
		struct choice choice = choice_draw(b->walk, seed, draw);
		struct fb_operation op;

		choice.in_place &= could;
		op = operation_of(b, a, &choice);
		c->datatype = op.datatype;
		if (!fb_engine_host.can(b->engine, c, &op, reason))
			continue;
		run_case(b, c, &op);
		if (!barrier)
			coverage_add(&b->coverage, &choice, could);
		left--;
	}
	b->walk += b->coverage.cases > before;
}

static int number(const char *name, int fallback)
{
	const char *value = getenv(name);

	return value ? atoi(value) : fallback;
}

static void open_settings(struct fb_settings *s)
{
	*s = (struct fb_settings){.slots = 8, .transport = getenv("FB_TEST_TRANSPORT"),
				  .rdma = fb_rdma_defaults, .tcp = fb_tcp_defaults};
	if (!s->transport)
		s->transport = "shm";
	if (getenv("FB_TEST_DEVICE"))
		s->rdma.device = getenv("FB_TEST_DEVICE");
	if (getenv("FB_TEST_NOTIFY"))
		s->rdma.notify = FB_RDMA_NOTIFY_IMM;
	s->rdma.stripe = 1024;
	s->rdma.timeout = 19; /* 2 s: on a busy machine even the device waits for its turn */
}

static void open_bench(struct bench *b, int *argc, char ***argv)
{
	size_t page = 4096;

	open_settings(&b->run.settings);
	if (fb_group_open(&b->run.world, argc, argv) ||
	    fb_group_pretend_nodes(&b->run.world, number("FB_TEST_NODES", 0)))
		exit(1);
	b->largest = LARGEST;
	b->calls = 3;
	b->repeats = 20;
	/* The device is software here, slow, and needs the processors that ranks spin on. */
	if (strstr(b->run.settings.transport, "rdma")) {
		b->run.world.oversubscribed = true;
		b->largest = LARGEST / 3;
		b->calls = 2;
		b->repeats = 5;
	}
	b->room = ((size_t)LARGEST * 8 + page) / page * page;
	b->in_offset = page;
	b->out_offset = b->in_offset + b->room + page;
	if (fb_segment_open(&b->segment, &b->run.world, b->out_offset + b->room + page,
			    FB_PAGES_NORMAL))
		exit(1);
	b->every = b->run.world.nranks > 3 ? 5 : b->run.world.oversubscribed ? 2 : 1;
	if (b->run.world.oversubscribed && strstr(b->run.world.library, "MPICH"))
		b->every = 31;
	b->every = (uint64_t)number("FB_TEST_EVERY", (int)b->every);
	b->counts.nranks = b->run.world.nranks;
	b->counts.elements = calloc((size_t)b->counts.nranks * (size_t)b->counts.nranks, 8);
}

/* The cases of all algorithms, or of those that the arguments name, over one transport. */
static void run_all(struct bench *b, int argc, char **argv)
{
	static const char *const protocols[] = {"simple", "ll", "ll128", "direct"};

	b->walk = 0;
	b->coverage = (struct coverage){.cases = 0};
	if (!CHECK_INT(fb_run_open_session(&b->run), FB_OK) ||
	    !CHECK_INT(fb_engine_open(&b->engine, &fb_engine_host, &b->run.session, &b->run.world),
		       FB_OK))
		return;
	for (int i = 0; i < fb_algorithm_count; i++)
		for (int p = 0; p < 4; p++) {
			const struct fb_algorithm *a = fb_algorithms[i];
			struct fb_case c = {
				.operation = fb_collective_info(a->collective)->name,
				.algorithm = a->name, .protocol = protocols[p], .engine = "host",
				.transport = b->run.settings.transport, .launch = "blocking",
			};
			double before = MPI_Wtime();

			if ((argc > 1 && strcmp(argv[1], c.operation)) ||
			    (argc > 2 && strcmp(argv[2], c.algorithm)) ||
			    (argc > 3 && strcmp(argv[3], c.protocol)))
				continue;
			sweep(b, (uint32_t)(i * 4 + p), a, &c);
			if (getenv("VERBOSE") && !b->run.world.rank)
				printf("%s %s %s %s %.1f ms\n", c.transport, c.operation,
				       c.algorithm, c.protocol, (MPI_Wtime() - before) * 1e3);
		}
	fb_engine_close(b->engine);
	fb_session_close(&b->run.session);
	/* Nothing but a barrier was asked for, perhaps. */
	CHECK(argc > 1 && !b->coverage.cases ? b->cases > 0 : coverage_good(&b->coverage));
}

int main(int argc, char **argv)
{
	struct bench b = {.cases = 0};
	int failed, result;

	open_bench(&b, &argc, &argv);
	run_all(&b, argc, argv);
	if (!getenv("FB_TEST_TRANSPORT") && b.run.world.nranks > 1 && argc < 4) {
		b.run.settings.transport = "tcp";
		b.every *= 2;
		run_all(&b, argc, argv);
	}
	failed = check_failures;
	MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, b.run.world.comm);
	result = failed != 0;
	if (!b.run.world.rank || check_failures)
		result |= check_done("host engine");
	fb_segment_close(&b.segment);
	free(b.counts.elements);
	fb_group_close(&b.run.world);
	return result;
}
