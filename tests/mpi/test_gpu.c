/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA engine on GPUs: many operations of different kinds and sizes, each prepared once, and
 * 10,000 calls of them in a random order without any barrier between ranks; then every result is
 * checked. Skipped where there is no GPU. Single kinds are tested by tests/gpu/run.
 * timeout: 300
 */
#include <stdlib.h>

#include "collectives/algorithm/algorithm.h"
#include "collectives/buffers.h"
#include "common/cuda/gpu_segment.h"
#include "common/error.h"
#include "common/rng.h"
#include "common/run.h"
#include "tests/unit/check.h"

enum { OPERATIONS = 60, CALLS = 10000 };

struct item {
	struct fb_case key;
	struct fb_operation op;
	struct fb_data data;
	struct fb_segment segment;
	struct fb_request *request;
	int calls;
};

static const char *const protocols[] = {"simple", "ll", "ll128", "direct"};

/* Operation i, the same on all ranks; false where there is no such one. */
static bool prepare(struct fb_engine *engine, const struct fb_gpu *gpu, int i, struct item *item)
{
	const struct fb_algorithm *a = fb_algorithms[i * 7 % fb_algorithm_count];
	const struct fb_world *w = gpu->world;
	char reason[FB_REASON_CHARS];

	if (a->collective == FB_BARRIER || a->collective == FB_ALL_TO_ALL_V)
		return false;
	item->key = (struct fb_case){
		.program = "test", .operation = fb_collective_info(a->collective)->name,
		.engine = "cuda", .algorithm = a->name, .protocol = protocols[i % 4],
		.transport = "p2p", .memory = "device", .launch = i % 3 ? "stream" : "graph",
	};
	item->op = (struct fb_operation){
		.collective = a->collective, .datatype = i % 2 ? FB_F32 : FB_U8, .redop = FB_SUM,
		.count = (uint64_t)1 << i % 17, .segment = &item->segment};
	item->data = (struct fb_data){
		.seed = (uint64_t)i, .type = item->op.datatype, .op = FB_SUM, .nranks = w->nranks,
		.reduces = fb_collective_info(a->collective)->reduces};
	if (!engine->ops->can(engine, &item->key, &item->op, reason))
		return false;
	if (!CHECK_INT(fb_gpu_segment_open(&item->segment, gpu, FB_GPU_DEVICE,
					   fb_buffers_layout(&item->op, w->nranks)), FB_OK))
		return false;
	if (!CHECK_INT(engine->ops->prepare(engine, &item->key, &item->op, &item->request),
		       FB_OK)) {
		fb_segment_close(&item->segment);
		return false;
	}
	CHECK_INT(fb_buffers_prime(&item->op, &item->data, w->rank), FB_OK);
	return true;
}

static int call(const struct fb_engine *engine, struct item *item)
{
	int err = engine->ops->ready(item->request, 1);

	if (!err)
		err = engine->ops->start(item->request);
	if (!err)
		err = engine->ops->wait(item->request);
	item->calls++;
	return err;
}

static void test_mixed(struct fb_engine *engine, const struct fb_gpu *gpu)
{
	static struct item items[OPERATIONS];
	const struct fb_world *w = gpu->world;
	struct fb_rng rng;
	int n = 0, err = FB_OK;

	for (int i = 0; i < OPERATIONS; i++)
		n += prepare(engine, gpu, i, &items[n]);
	CHECK(n >= OPERATIONS / 3);
	MPI_Barrier(w->comm);
	fb_rng_seed(&rng, 3);
	for (int i = 0; i < CALLS && n && !err; i++)
		err = call(engine, &items[fb_rng_below(&rng, (uint64_t)n)]);
	CHECK_INT(err, FB_OK);
	for (int i = 0; i < n; i++) {
		struct fb_mismatch bad = {0};

		if (items[i].calls)
			fb_buffers_check(&items[i].op, &items[i].data, w->rank, items[i].calls,
					 &bad);
		if (!CHECK_INT(bad.errors, 0))
			printf("\trank %d: %s %s %s %llu elements: element %llu is %s, not %s\n",
			       w->rank, items[i].key.operation, items[i].key.algorithm,
			       items[i].key.protocol, (unsigned long long)items[i].op.count,
			       (unsigned long long)bad.index, bad.got, bad.expected);
		engine->ops->release(items[i].request);
		fb_segment_close(&items[i].segment);
	}
}

int main(int argc, char **argv)
{
	struct fb_run run = {.settings = {.slots = 8, .ll_line = 16, .timeout_s = 60,
					  .transport = "p2p", .tcp = fb_tcp_defaults}};
	struct fb_engine *engine = NULL;
	char reason[FB_GPU_REASON_CHARS];
	struct fb_gpu gpu;
	int failures, rank, err;

	if (fb_world_open(&run.world, &argc, &argv))
		return 1;
	rank = run.world.rank;
	err = fb_gpu_open(&gpu, &run.world, reason);
	if (err) {
		if (rank == 0)
			printf("SKIP gpu: %s\n", reason);
		fb_world_close(&run.world);
		return err == FB_EUNSUPPORTED ? CHECK_SKIP : 1;
	}
	if (CHECK_INT(fb_engine_cuda.open(&engine, &run), FB_OK)) {
		test_mixed(engine, &gpu);
		engine->ops->close(engine);
	}
	fb_gpu_close(&gpu);
	failures = check_failures;
	MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_MAX, run.world.comm);
	fb_world_close(&run.world);
	check_failures = failures;
	return rank == 0 ? check_done("gpu") : failures != 0;
}
