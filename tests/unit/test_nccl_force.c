/* SPDX-License-Identifier: BSD-3-Clause */
/* What NCCL can be forced to use, for what it exists, and what its log says that it used. */
#include <stdlib.h>

#include "collectives/engine/nccl/tuning.h"
#include "common/base/error.h"
#include "common/library/nccl/defaults.h"
#include "tests/unit/check.h"
#include "tests/unit/fake_nccl.h"

static void test_lists(void)
{
	static const char *const wrong[] = {
		"symk", "symk:", "symk:ring", "ll:symk",
		"", "foo", "ring:", "ring:foo", "ring:simple:ll", "tree,tree", "pat:ll",
		"library:ll", "grouped:simple", "nvls:ll128", ",ring", "ring,", "all,ring", "RING",
	};
	struct fb_nccl_algo_proto c[FB_NCCL_MOST_ALGO_PROTOS];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (!CHECK_INT(fb_nccl_algo_proto_list(wrong[i], c, NULL), FB_EINPUT))
			printf("\t'%s'\n", wrong[i]);
	CHECK_INT(fb_nccl_algo_proto_list("library", c, NULL), 1);
	CHECK_STR(c[0].algorithm, "library");
	CHECK(!fb_nccl_is_forced(&c[0]));
	CHECK_INT(fb_nccl_algo_proto_list("ring,tree:ll128,grouped", c, NULL), 3);
	CHECK_STR(c[0].algorithm, "ring");
	CHECK_STR(c[0].protocol, "library");
	CHECK_STR(c[1].protocol, "ll128");
	CHECK(fb_nccl_is_forced(&c[1]) && !fb_nccl_is_forced(&c[2]));
	/* library, grouped, ring and tree with three protocols, five others with one. */
	CHECK_INT(fb_nccl_algo_proto_list("all", c, NULL), 13);
}

static void expect_reason(const char *item, enum fb_collective collective, int nodes,
			  bool multicast, const char *reason)
{
	const struct fb_nccl_place place = {.nranks = 4, .nnodes = nodes, .multicast = multicast};
	struct fb_nccl_algo_proto c[FB_NCCL_MOST_ALGO_PROTOS];
	char why[192] = "";

	CHECK_INT(fb_nccl_algo_proto_list(item, c, NULL), 1);
	CHECK_INT(fb_nccl_algo_proto_can(&c[0], collective, &place, why, sizeof(why)), !*reason);
	CHECK_STR(why, reason);
}

static void test_reasons(void)
{
	unsetenv("NCCL_PAT_ENABLE");
	unsetenv("NCCL_COLLNET_ENABLE");
	expect_reason("library", FB_ALL_TO_ALL, 1, false, "");
	expect_reason("library", FB_BARRIER, 1, false, "NCCL has no barrier");
	expect_reason("ring:ll", FB_REDUCE, 1, false, "");
	expect_reason("tree", FB_ALL_REDUCE, 1, false, "");
	expect_reason("tree", FB_ALL_GATHER, 1, false, "NCCL has no tree for all_gather");
	expect_reason("ring", FB_ALL_TO_ALL, 1, false, "NCCL has no ring for all_to_all");
	expect_reason("nvls", FB_ALL_REDUCE, 1, false, "multicast off");
	expect_reason("nvls", FB_ALL_REDUCE, 1, true, "");
	expect_reason("nvlstree", FB_ALL_REDUCE, 2, false, "multicast off");
	expect_reason("nvlstree", FB_ALL_REDUCE, 1, true, "NCCL's nvlstree needs several nodes");
	expect_reason("nvls", FB_BROADCAST, 1, true, "NCCL has no nvls for broadcast");
	expect_reason("pat", FB_ALL_GATHER, 1, false,
		      "NCCL's pat needs one rank per node, or NCCL_PAT_ENABLE=1");
	expect_reason("pat", FB_ALL_GATHER, 4, false, "");
	setenv("NCCL_PAT_ENABLE", "1", 1);
	expect_reason("pat", FB_REDUCE_SCATTER, 1, false, "");
	expect_reason("collnetchain", FB_ALL_REDUCE, 1, false,
		      "NCCL's collnetchain needs several nodes");
	expect_reason("collnetdirect", FB_ALL_REDUCE, 2, false,
		      "NCCL's collnetdirect needs a plugin and NCCL_COLLNET_ENABLE=1");
	expect_reason("symk:agxll_r", FB_ALL_REDUCE, 1, false, "");
	expect_reason("symk:st", FB_ALL_REDUCE, 1, false,
		      "NCCL has no symmetric kernel st for this call");
	expect_reason("symk:stmc", FB_ALL_GATHER, 1, false, "multicast off");
	expect_reason("symk:stmc", FB_ALL_GATHER, 1, true, "");
	expect_reason("grouped", FB_GATHER, 1, false, "");
	expect_reason("grouped", FB_ALL_REDUCE, 1, false, "NCCL has a function for all_reduce");
	expect_reason("grouped", FB_SEND_RECV, 1, false,
		      "NCCL groups sends for send_recv anyway: use library");
}

/* What the environment was comes back, set or not. */
static void test_environment(void)
{
	const struct fb_nccl_algo_proto ring = {"ring", "ll128"}, own = {"library", "library"};
	struct fb_nccl_saved saved;

	setenv("NCCL_ALGO", "Tree", 1);
	unsetenv("NCCL_PROTO");
	CHECK_INT(fb_nccl_force_begin(&ring, &saved), 0);
	CHECK_STR(getenv("NCCL_ALGO"), "ring");
	CHECK_STR(getenv("NCCL_PROTO"), "LL128");
	fb_nccl_force_end(&saved);
	CHECK_STR(getenv("NCCL_ALGO"), "Tree");
	CHECK(getenv("NCCL_PROTO") == NULL);
	CHECK_INT(fb_nccl_force_begin(&own, &saved), 0);
	CHECK_STR(getenv("NCCL_ALGO"), "Tree");
	fb_nccl_force_end(&saved);
	CHECK_STR(getenv("NCCL_ALGO"), "Tree");
	unsetenv("NCCL_ALGO");
}

#define PREFIX "host:12:34 [0] NCCL INFO "

static void test_log(void)
{
	const struct fb_nccl_algo_proto tree = {"tree", "simple"}, ring = {"ring", "library"};
	const struct fb_nccl_algo_proto own = {"library", "library"};
	const struct fb_nccl_algo_proto kernel = {"symk", "agxll_r"},
					other = {"symk", "rsxld_agxst"};
	char selection[FB_NCCL_SELECTION_CHARS];
	struct fb_nccl_ran ran;

	fb_nccl_ran_parse("", &ran);
	CHECK_STR(ran.algorithm, "");
	CHECK(fb_nccl_ran_as(&ran, &tree)); /* nothing is told, nothing contradicts */
	fb_nccl_ran_parse(PREFIX "AllReduce: 1048576 Bytes -> Algo RING proto LL128 "
			  "channel{Lo..Hi}={0..15}\n", &ran);
	CHECK_STR(ran.algorithm, "ring");
	CHECK_STR(ran.protocol, "ll128");
	CHECK_INT(ran.channels, 16);
	CHECK(fb_nccl_ran_as(&ran, &ring) && fb_nccl_ran_as(&ran, &own));
	CHECK(!fb_nccl_ran_as(&ran, &tree));
	/* The last of the largest: a group has smaller ones, too. Other lines do not count. */
	fb_nccl_ran_parse(PREFIX "AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}\n"
			  PREFIX "AllReduce: 8 Bytes -> Algo TREE proto SIMPLE "
			  "channel{Lo..Hi}={2..3}\n" PREFIX "AllReduce: 4 Bytes -> Algo RING "
			  "proto LL channel{Lo..Hi}={0..0}\n" PREFIX "something else", &ran);
	CHECK_STR(ran.algorithm, "tree");
	CHECK_STR(ran.protocol, "simple");
	CHECK_INT(ran.channels, 2);
	CHECK(fb_nccl_ran_as(&ran, &tree));
	fb_nccl_ran_parse(PREFIX "AllReduce: 8 Bytes -> Algo COLLNET_DIRECT proto SIMPLE", &ran);
	CHECK_STR(ran.algorithm, "collnetdirect");
	CHECK_INT(ran.channels, 0);
	fb_nccl_ran_parse(PREFIX "8192 Bytes -> Algo 1 proto 2 time 12.5\n", &ran);
	CHECK_STR(ran.algorithm, "ring");
	CHECK_STR(ran.protocol, "simple");
	fb_nccl_ran_parse(PREFIX "AllReduce [Symmetric]: 4096 Bytes -> Kernel AllReduce_AGxLL_R "
			  "nchannels 4 nthreads 512 nWorks 1\n", &ran);
	CHECK_STR(ran.algorithm, "symmetric");
	CHECK_STR(ran.kernel, "AllReduce_AGxLL_R");
	CHECK_INT(ran.channels, 4);
	CHECK(!fb_nccl_ran_as(&ran, &ring));
	CHECK(fb_nccl_ran_as(&ran, &kernel) && !fb_nccl_ran_as(&ran, &other));
	CHECK(!fb_nccl_is_forced(&kernel) && fb_nccl_is_symmetric(&kernel));
	fb_nccl_selection(&kernel, selection);
	CHECK_STR(selection, "SYMK_AGxLL_R");
	fb_nccl_ran_parse(PREFIX "AllGather [Copy Engine]: 64 Bytes -> cudaMemcpyBatch\n", &ran);
	CHECK_STR(ran.algorithm, "copyengine");
	CHECK_STR(ran.protocol, "");
	/* Between nodes: 2.30.7 has the first line, 2.32 the second one behind it. */
	fb_nccl_ran_parse(PREFIX "AlltoAll [Hierarchical CE]: 64 Bytes -> RMA proxy + CE\n", &ran);
	CHECK_STR(ran.algorithm, "copyengine");
	CHECK_STR(ran.protocol, "hierarchical");
	fb_nccl_ran_parse(PREFIX "AllGather [Hierarchical CE]: 64 Bytes -> RMA proxy + CE\n"
			  PREFIX "AllGather [Hierarchical CE]: 64 Bytes -> Rail Ring RMA proxy + "
			  "CE\n", &ran);
	CHECK_STR(ran.protocol, "rail-ring");
	CHECK(!fb_nccl_ran_as(&ran, &ring) && fb_nccl_ran_as(&ran, &own));
	/* 2.31 on. */
	fb_nccl_ran_parse(PREFIX "AllReduce: 64 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3} "
			  "cgaClusterSize 4\n", &ran);
	CHECK_INT(ran.channels, 4);
	CHECK_INT(ran.cluster, 4);
}

#define NODE "node:7:9 [0] NCCL INFO "

static struct fb_nccl_ran logged(const struct fb_nccl *nccl, const char *subsystems,
				 struct fb_nccl_wire *wire)
{
	struct fb_nccl_log log;
	struct fb_nccl_ran ran;
	char file[sizeof(log.file)];

	*wire = (struct fb_nccl_wire){.warnings = 0};
	fb_nccl_log_begin(&log, nccl, 1);
	snprintf(file, sizeof(file), "%s", log.file);
	CHECK_STR(getenv("NCCL_DEBUG_SUBSYS"), subsystems);
	fb_nccl_log_end(&log, &ran, wire);
	CHECK(!log.nccl && !*log.file);
	return ran;
}

/* The log of a library is read and removed; the user's is read as well, and stays the user's. */
static void test_defaults(void)
{
	char text[FB_NCCL_DEFAULTS_CHARS];

	unsetenv("NCCL_IB_TIMEOUT");
	setenv("NCCL_BUFFSIZE", "1048576", 1);
	CHECK_INT(fb_nccl_defaults(22809, "NCCL_IB_TC=106;NCCL_NVLS_ENABLE=0", text, sizeof(text)),
		  22809);
	CHECK(strstr(text, ";NCCL_IB_TIMEOUT=20;") != NULL);
	CHECK(strstr(text, ";NCCL_IB_DATA_DIRECT=1;") != NULL);
	CHECK(!strstr(text, "NCCL_IB_TC=") && !strstr(text, "NCCL_NVLS_ENABLE="));
	CHECK(!strstr(text, "NCCL_BUFFSIZE="));
	unsetenv("NCCL_BUFFSIZE");
	/* Another default, a variable that was not there yet, and versions that are not known. */
	CHECK_INT(fb_nccl_defaults(22005, "", text, sizeof(text)), 22005);
	CHECK(strstr(text, ";NCCL_IB_TIMEOUT=18;") != NULL);
	CHECK(!strstr(text, "NCCL_IB_DATA_DIRECT="));
	CHECK(strstr(text, "NCCL_BUFFSIZE=-2;") != NULL);
	CHECK_INT(fb_nccl_defaults(23203, "", text, sizeof(text)), 23007);
	CHECK(strlen(text) + 1 < sizeof(text));
	CHECK_INT(fb_nccl_defaults(21805, "", text, sizeof(text)), 0);
	CHECK_STR(text, "");
	CHECK_INT(fb_nccl_defaults(22809, "", text, 24), 22809);
	CHECK(strlen(text) < 24);
}

#define SUBSYSTEMS "INIT,BOOTSTRAP,ENV,GRAPH,P2P,SHM,NET,TUNING"

static void test_log_file(void)
{
	struct fb_nccl nccl;
	struct fb_nccl_log log;
	struct fb_nccl_ran ran;
	struct fb_nccl_wire wire;
	char why[192], path[PATH_MAX], file[] = "/tmp/fabricbench-test-XXXXXX", pattern[64];
	FILE *f;
	int fd;

	if (!CHECK_INT(fb_nccl_open(&nccl, beside_program("libfake_nccl.so", path), why,
				    sizeof(why)), 0))
		return;
	unsetenv("NCCL_DEBUG");
	unsetenv("NCCL_DEBUG_SUBSYS");
	CHECK_STR(logged(&nccl, SUBSYSTEMS, &wire).algorithm, "ring");
	CHECK_STR(wire.via, "P2P/CUMEM/read");
	CHECK(!getenv("NCCL_DEBUG") && !getenv("NCCL_DEBUG_FILE") && !getenv("NCCL_DEBUG_SUBSYS"));
	/* To the terminal: what is missing is added, and put back. */
	setenv("NCCL_DEBUG", "WARN", 1);
	setenv("NCCL_DEBUG_SUBSYS", "COLL", 1);
	CHECK_STR(logged(&nccl, "COLL," SUBSYSTEMS, &wire).algorithm, "ring");
	CHECK_STR(getenv("NCCL_DEBUG"), "WARN");
	CHECK_STR(getenv("NCCL_DEBUG_SUBSYS"), "COLL");
	setenv("NCCL_DEBUG_SUBSYS", "^TUNING", 1);
	CHECK_STR(logged(&nccl, SUBSYSTEMS, &wire).algorithm, "ring");
	/* To a file: only what is new in it, and nothing is changed. */
	fd = mkstemp(file);
	f = fdopen(fd, "w");
	fprintf(f, NODE "Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n");
	fflush(f);
	snprintf(pattern, sizeof(pattern), "%s", file);
	setenv("NCCL_DEBUG_FILE", pattern, 1);
	/* Where several ranks write into one file, it is the first one's. */
	fb_nccl_log_begin(&log, &nccl, 1);
	CHECK(!*log.file);
	fb_nccl_log_begin(&log, &nccl, 0);
	fprintf(f, NODE "Channel 00 : 0[0] -> 1[1] via SHM/direct\n");
	fclose(f);
	wire = (struct fb_nccl_wire){.warnings = 0};
	fb_nccl_log_end(&log, &ran, &wire);
	CHECK_STR(wire.via, "SHM/direct");
	CHECK_STR(ran.algorithm, "");
	CHECK_STR(getenv("NCCL_DEBUG_SUBSYS"), "^TUNING");
	CHECK_INT(access(file, F_OK), 0);
	(void)unlink(file);
	unsetenv("NCCL_DEBUG");
	unsetenv("NCCL_DEBUG_SUBSYS");
	unsetenv("NCCL_DEBUG_FILE");
}

/* What a call ran of which 2.28 tells nothing. The policy is an index in fb_nccl_policies. */
static void test_concluded(const struct fb_nccl *nccl)
{
	static const struct {
		enum fb_collective collective;
		enum fb_nccl_registration how;
		int policy;
		bool silent; /* the profiler, too */
		const char *variable, *settings, *algorithm;
	} table[] = {
		{FB_ALL_GATHER, FB_NCCL_WINDOW_COPY, 0, true, NULL, "", "copyengine"},
		{FB_ALL_GATHER, FB_NCCL_WINDOW_COPY, 0, false, NULL, "", ""},
		{FB_ALL_GATHER, FB_NCCL_WINDOW, 3, true, NULL, "", "copyengine"},
		{FB_ALL_GATHER, FB_NCCL_WINDOW, 3, false, NULL, "", ""},
		{FB_ALL_GATHER, FB_NCCL_WINDOW, 2, true, NULL, "", ""},
		{FB_ALL_GATHER, FB_NCCL_WINDOW, 0, true, NULL, "", ""},
		{FB_ALL_GATHER, FB_NCCL_REGISTERED, 3, true, NULL, "", ""},
		{FB_ALL_GATHER, FB_NCCL_WINDOW, 0, true, "2", "", "copyengine"},
		{FB_ALL_GATHER, FB_NCCL_WINDOW, 3, true, "1", "", ""},
		{FB_ALL_GATHER, FB_NCCL_WINDOW, 0, true, NULL, "NCCL_A=1;NCCL_CTA_POLICY=2",
		 "copyengine"},
		{FB_ALL_GATHER, FB_NCCL_WINDOW, 3, true, NULL, "NCCL_CTA_POLICY=0;NCCL_B=2", ""},
		{FB_ALL_TO_ALL, FB_NCCL_WINDOW, 0, false, NULL, "", "sendrecv"},
		{FB_ALL_TO_ALL, FB_NCCL_WINDOW, 0, false, "1", "", "sendrecv"},
		{FB_ALL_TO_ALL, FB_NCCL_WINDOW, 0, false, "ZERO", "", ""},
		{FB_ALL_TO_ALL, FB_NCCL_WINDOW, 3, false, NULL, "", ""},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct fb_operation op = {.collective = table[i].collective,
						.ctas.policy = table[i].policy};
		const struct fb_nccl_call call = {.nccl = nccl, .op = &op};
		const struct fb_nccl_group group = {.need.registration = table[i].how};
		struct fb_nccl_ran ran = {.silent = table[i].silent};

		if (table[i].variable)
			setenv("NCCL_CTA_POLICY", table[i].variable, 1);
		fb_nccl_ran_conclude(&ran, &call, &group, table[i].settings);
		unsetenv("NCCL_CTA_POLICY");
		if (!CHECK_STR(ran.algorithm, table[i].algorithm))
			printf("\tof row %zu\n", i);
		CHECK_INT(ran.concluded, *table[i].algorithm != '\0');
	}
}

int main(void)
{
	char why[FB_REASON_CHARS], path[PATH_MAX];
	struct fb_nccl nccl;

	test_lists();
	test_reasons();
	test_environment();
	test_log();
	test_defaults();
	test_log_file();
	if (CHECK_INT(fb_nccl_open(&nccl, beside_program("libfake_nccl.so", path), why,
				   sizeof(why)), 0))
		test_concluded(&nccl);
	return check_done("nccl_force");
}
