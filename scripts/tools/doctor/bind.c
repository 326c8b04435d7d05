/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that ranks run near their GPU and have enough processors; see doctor.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/system/numa.h"
#include "scripts/tools/doctor/doctor.h"

enum { KEY_CHARS = 96 };

/* The NUMA node of a GPU that a rank says it has ("0 at 0000:0A:00.0"); -1: not known. */
static int node_of_gpu(const struct fb_node_facts *facts, const char *host, const char *gpu)
{
	const char *bus = strstr(gpu, " at "), *node;
	char key[KEY_CHARS];

	if (!bus)
		return -1;
	snprintf(key, sizeof(key), "gpu.%.40s.numa_node", bus + strlen(" at "));
	/* CUDA writes bus ids in upper case, the driver's files in lower case. */
	for (char *c = key; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	node = fb_node_fact(facts, host, key);
	return node ? (int)strtol(node, NULL, 10) : -1;
}

static bool overlap(const char *some, const char *others)
{
	struct fb_cpus a, b;

	fb_cpus_parse(some, &a);
	fb_cpus_parse(others, &b);
	for (size_t i = 0; i < FB_NUMA_WORDS; i++)
		if (a.word[i] & b.word[i])
			return true;
	return false;
}

/* One verdict for a host: its first rank that is far from its GPU, and how many are. */
static void judge_gpu_affinity(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			       struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_DOUBT, "ranks run near their GPU", "processors of the GPU's NUMA node",
		"launches, copies and NCCL's proxy threads cross the sockets: bind each rank to "
		"its GPU's node (mpirun --map-by numa, srun --gpu-bind=closest)"};
	const struct fb_env_fact *end = facts->env.fact + facts->env.count, *far = NULL;
	size_t known = 0, wrong = 0;
	int far_node = 0;

	if (!fb_fact_opens_host(facts, fact))
		return;
	for (const struct fb_env_fact *f = fact;
	     f < end && !strcmp(f->key, fact->key) && !strcmp(f->host, fact->host); f++) {
		const char *bound = fb_rank_fact(facts, f->host, f->rank, "bind.cpus"), *near;
		int node = node_of_gpu(facts, f->host, f->value);
		char key[KEY_CHARS];

		snprintf(key, sizeof(key), "numa.node%d.cpus", node);
		near = node >= 0 ? fb_node_fact(facts, f->host, key) : NULL;
		if (!bound || !near)
			continue;
		known++;
		if (overlap(bound, near))
			continue;
		if (!wrong++) {
			far = f;
			far_node = node;
		}
	}
	if (far)
		fb_findings_judge(findings, &check, fact->host, false,
				  "%zu of %zu ranks do not: rank %d runs on processors %.40s, its "
				  "GPU %.32s is at node %d", wrong, known,
				  far->rank < 0 ? 0 : far->rank,
				  fb_rank_fact(facts, far->host, far->rank, "bind.cpus"),
				  far->value, far_node);
	else if (known)
		fb_findings_judge(findings, &check, fact->host, true,
				  "%zu of %zu ranks", known, known);
}

static double number(const struct fb_node_facts *facts, const char *host, const char *key)
{
	const char *value = fb_node_fact(facts, host, key);

	return value ? strtod(value, NULL) : 1;
}

/* How many ranks of the host have this very set. */
static size_t sharers(const struct fb_node_facts *facts, const struct fb_env_fact *fact)
{
	const struct fb_env_fact *end = facts->env.fact + facts->env.count;
	size_t n = 0;

	if (fact->rank < 0)
		return (size_t)(number(facts, fact->host, "run.ranks") /
				number(facts, fact->host, "run.nodes"));
	for (const struct fb_env_fact *f = fact;
	     f < end && !strcmp(f->key, fact->key) && !strcmp(f->host, fact->host); f++)
		n += !strcmp(f->value, fact->value);
	return n;
}

static void judge_processors(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			     struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_DOUBT, "each rank has processors enough",
		"one for each rank, two where it has a GPU",
		"a rank and its library's threads, as NCCL's proxy, take turns on them: give each "
		"rank a set of its own (mpirun --map-by slot:PE=N, srun --cpus-per-task)"};
	size_t ranks, processors;
	struct fb_cpus cpus;
	bool gpu = fb_rank_fact(facts, fact->host, fact->rank, "rank.gpu");

	fb_cpus_parse(fact->value, &cpus);
	processors = (size_t)fb_cpus_count(&cpus);
	ranks = sharers(facts, fact);
	fb_findings_judge(findings, &check, fact->host, processors >= ranks * (gpu ? 2 : 1),
			  "%zu rank%s on %zu processor%s (%.60s)", ranks, ranks == 1 ? "" : "s",
			  processors, processors == 1 ? "" : "s", fact->value);
}

const struct fb_judge fb_judges_of_ranks[] = {
	{"rank.gpu", judge_gpu_affinity},
	{"bind.cpus", judge_processors},
	{NULL, NULL},
};
