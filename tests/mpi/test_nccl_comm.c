/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks: 1 2 4
 *
 * Communicators of the NCCL engine, made with a library that writes down how: one for each
 * choice, while the environment says it; registration once; errors that come up later.
 */
#include <stdlib.h>
#include <unistd.h>

#include "collectives/engine/nccl/tuning.h"
#include "common/library/nccl/comm.h"
#include "common/base/error.h"
#include "common/memory/segment.h"
#include "tests/unit/check.h"
#include "tests/unit/fake_nccl.h"

struct job {
	struct fb_group world;
	struct fb_nccl nccl;
	struct fake_calls *fake;
	struct fb_segment segment;
	struct fb_nccl_group *list;
};

static struct fb_nccl_group *get(struct job *job, const char *algorithm, const char *protocol,
				 enum fb_nccl_registration how, int channels)
{
	const struct fb_nccl_need need = {
		.choice = {algorithm, protocol}, .registration = how, .segment = &job->segment,
		.channels = channels,
	};
	struct fb_nccl_group *group = NULL;

	CHECK_INT(fb_nccl_group_get(&job->list, &job->nccl, &job->world, &need, &group), 0);
	return group;
}

static void test_choices(struct job *job)
{
	const struct fb_nccl_group *own, *ring, *tree;

	setenv("NCCL_PROTO", "^LL128", 1);
	unsetenv("NCCL_ALGO");
	own = get(job, "library", "library", FB_NCCL_NONE, 0);
	/* What the user set stays where nothing is forced. */
	CHECK_STR(job->fake->algorithm, "");
	CHECK_STR(job->fake->protocol, "^LL128");
	CHECK_INT(job->fake->blocking, 1);
	CHECK_INT(job->fake->min_ctas, FB_NCCL_UNDEFINED_INT);
	ring = get(job, "ring", "ll", FB_NCCL_NONE, 0);
	CHECK_STR(job->fake->algorithm, "ring");
	CHECK_STR(job->fake->protocol, "LL");
	tree = get(job, "tree", "simple", FB_NCCL_NONE, 7);
	CHECK_STR(job->fake->algorithm, "tree");
	CHECK_STR(job->fake->protocol, "Simple");
	CHECK_INT(job->fake->min_ctas, 7);
	CHECK_INT(job->fake->max_ctas, 7);
	CHECK_INT(job->fake->cta_policy, FB_NCCL_UNDEFINED_INT);
	CHECK_STR(getenv("NCCL_PROTO"), "^LL128");
	CHECK(own && ring && tree && own != ring && ring != tree);
	/* Asked for again, they are the same, and none is made. */
	CHECK(get(job, "ring", "ll", FB_NCCL_NONE, 0) == ring);
	CHECK_INT(job->fake->made, 3);
	CHECK(get(job, "library", "library", FB_NCCL_NONE, 0) == own);
	CHECK(get(job, "ring", "ll", FB_NCCL_NONE, 2) != ring);
	unsetenv("NCCL_PROTO");
}

/* NCCL refuses a least number of CTAs without a most. */
static void test_least_ctas(struct job *job)
{
	static const struct {
		int version, least, most;
	} is[] = {{22403, 16, 32}, {22501, 16, 64}, {22403, 40, 40}};
	int version = job->nccl.version;

	for (size_t i = 0; i < sizeof(is) / sizeof(is[0]); i++) {
		const struct fb_nccl_need need = {
			.choice = fb_nccl_algo_proto_named("library", "library"),
			.ctas.min = is[i].least + (int)i, /* each is another communicator */
		};
		struct fb_nccl_group *group = NULL;

		job->nccl.version = is[i].version;
		CHECK_INT(fb_nccl_group_get(&job->list, &job->nccl, &job->world, &need, &group),
			  0);
		CHECK_INT(job->fake->min_ctas, need.ctas.min);
		CHECK_INT(job->fake->max_ctas, is[i].most + (is[i].least > 32 ? (int)i : 0));
	}
	job->nccl.version = version;
}

static void test_registration(struct job *job)
{
	const struct fb_nccl_group *window =
		get(job, "library", "library", FB_NCCL_WINDOW, 0);
	struct job copy = *job;

	CHECK_INT(job->fake->windows, 1);
	CHECK(window && window->registered == fb_segment_part(&job->segment, job->world.rank));
	CHECK(get(job, "library", "library", FB_NCCL_WINDOW, 0) == window);
	CHECK_INT(job->fake->windows, 1);
	CHECK(get(job, "library", "library", FB_NCCL_REGISTERED, 0) != window);
	CHECK_INT(job->fake->registered, 1);
	/* The same memory, whose description lies elsewhere, and new memory that it describes. */
	copy.list = job->list;
	CHECK(get(&copy, "library", "library", FB_NCCL_WINDOW, 0) == window);
	job->segment.number++;
	CHECK(get(job, "library", "library", FB_NCCL_WINDOW, 0) != window);
	job->segment.number--;
}

/* A rank that fails: the communicator is aborted once and gone. */
static void test_errors(struct job *job)
{
	struct fb_nccl_group *group = get(job, "ring", "simple", FB_NCCL_NONE, 0);
	int aborted = job->fake->aborted;

	CHECK_INT(fb_nccl_group_poll(&job->nccl, group), 0);
	job->fake->asynchronous = FB_NCCL_IN_PROGRESS;
	CHECK_INT(fb_nccl_group_poll(&job->nccl, group), 0);
	job->fake->asynchronous = FB_NCCL_REMOTE_ERROR;
	CHECK_INT(fb_nccl_group_poll(&job->nccl, group), FB_EPEER);
	CHECK_INT(job->fake->aborted, aborted + 1);
	CHECK_INT(fb_nccl_group_poll(&job->nccl, group), FB_EPEER);
	CHECK_INT(job->fake->aborted, aborted + 1);
	job->fake->asynchronous = 0;
	fb_nccl_group_drop(&job->list, &job->nccl, group);
	CHECK_INT(job->fake->aborted, aborted + 1);
	group = get(job, "ring", "simple", FB_NCCL_NONE, 0);
	CHECK(group && group->comm);
	fb_nccl_group_drop(&job->list, &job->nccl, group);
	CHECK_INT(job->fake->aborted, aborted + 2);
}

/* Rank 0 says what ran, each rank its path, and the last one a warning that all have then. */
static void test_shared_log(struct job *job)
{
	static const struct fb_settings settings = {.launch_index = 0};
	const struct fb_session session = {.program = "p", .settings = &settings};
	struct fb_nccl_log log = {.nccl = NULL};
	struct fb_nccl_setup known = {.network = "IB"};
	struct fb_nccl_wire wire = {.warnings = 0};
	struct fb_nccl_ran ran;
	int rank = job->world.rank, fd;
	char file[] = "/tmp/fabricbench-log-XXXXXX";
	FILE *f;

	fd = mkstemp(file);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!CHECK(f != NULL))
		return;
	fprintf(f, "NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/%d\n", rank);
	if (rank == 0)
		fprintf(f, "AllReduce: 8 Bytes -> Algo RING proto LL\n");
	if (rank == job->world.nranks - 1)
		fprintf(f, "NCCL WARN no peer access\n");
	fclose(f);
	snprintf(log.file, sizeof(log.file), "%s", file);
	fb_nccl_log_share(&log, &job->nccl, &session, &job->world, &known, &ran, &wire);
	CHECK_STR(ran.algorithm, "ring");
	CHECK_STR(wire.setup.network, "IB");
	(void)unlink(file);
	snprintf(file, sizeof(file), "P2P/%d", rank);
	CHECK_STR(wire.via, file);
	CHECK_INT(wire.warnings, 1);
	CHECK_STR(wire.warning, "no peer access");
}

int main(int argc, char **argv)
{
	struct job job = {.list = NULL};
	char why[192], path[PATH_MAX];
	int failed, groups = 0;

	if (fb_group_open(&job.world, &argc, &argv))
		return 1;
	CHECK_INT(fb_nccl_open(&job.nccl, beside_program("libfake_nccl.so", path), why,
			       sizeof(why)), 0);
	CHECK_INT(fb_segment_open(&job.segment, &job.world, 8192, FB_PAGES_NORMAL), 0);
	if (job.nccl.handle && job.segment.ops) {
		job.fake = fake_calls_of(&job.nccl);
		test_choices(&job);
		test_least_ctas(&job);
		test_registration(&job);
		test_errors(&job);
		test_shared_log(&job);
		for (const struct fb_nccl_group *g = job.list; g; g = g->next)
			groups++;
		CHECK_INT(groups, 10);
		fb_nccl_group_close(&job.list, &job.nccl);
		CHECK(job.list == NULL);
		CHECK_INT(job.fake->destroyed, groups);
		CHECK_INT(job.fake->registered, 0);
		CHECK_INT(job.fake->windows, 0);
	}
	fb_segment_close(&job.segment);
	MPI_Allreduce(MPI_IN_PLACE, &check_failures, 1, MPI_INT, MPI_SUM, job.world.comm);
	failed = job.world.rank == 0 || check_failures ? check_done("nccl_comm") : 0;
	fb_group_close(&job.world);
	return failed;
}
