/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the NVLinks of GPUs are up and that they form one fabric; see doctor.h. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "scripts/tools/doctor/doctor.h"

static const char clique_key[] = "gpu.*.fabric_clique";

/* A card without a bridge has no link up, one at an NVSwitch has all. */
static void judge_links(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_BAD, "NVLinks of the GPU are up", "all of them",
		"all traffic of this GPU is slower by the same share, and every collective waits "
		"for it: nvidia-smi nvlink --status, the kernel's log (Xid 74), then reset the GPU "
		"or have the node repaired"};
	unsigned up = 0, links = 0;
	char fabric[FB_FINDING_CHARS];

	if (sscanf(fact->value, "%u of %u", &up, &links) != 2)
		return;
	snprintf(fabric, sizeof(fabric), "%.*sfabric",
		 (int)(strlen(fact->key) - strlen("nvlinks")), fact->key);
	fb_findings_judge(findings, &check, fact->host,
			  up >= links || (!up && !fb_node_fact(facts, fact->host, fabric)),
			  "%.70s: %.60s up", fact->key, fact->value);
}

static void judge_state(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_BAD, "GPU is registered at the NVLink fabric", "completed",
		"GPUs cannot reach each other through NVSwitch, and CUDA may not even start: "
		"systemctl status nvidia-fabricmanager (several nodes: nvidia-imex, too), and that "
		"its version is the driver's"};

	(void)facts;
	fb_findings_judge(findings, &check, fact->host, !strcmp(fact->value, "completed"),
			  "%.70s: %.80s", fact->key, fact->value);
}

/* The first fact of the list that names this clique. */
static const struct fb_env_fact *first_of(const struct fb_env_fact *fact, const char *clique)
{
	while (fnmatch(clique_key, fact->key, 0) || (clique && strcmp(fact->value, clique)))
		fact++;
	return fact;
}

/* Once, at the first GPU that is in a clique. */
static void judge_cliques(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			  struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_DOUBT, "all GPUs are in one NVLink domain", "1",
		"between cliques data pass the network, and a collective is as fast as that: place "
		"the job within one domain (Slurm: --segment or topology/block, --switches=1)"};
	const struct fb_env_fact *end = facts->env.fact + facts->env.count;
	size_t cliques = 0;

	if (first_of(facts->env.fact, NULL) != fact)
		return;
	for (const struct fb_env_fact *f = fact; f < end; f++)
		if (!fnmatch(clique_key, f->key, 0))
			cliques += first_of(fact, f->value) == f;
	fb_findings_judge(findings, &check, "", cliques == 1, "%zu cliques; the first: %.70s",
			  cliques, fact->value);
}

const struct fb_judge fb_judges_of_fabric[] = {
	{"gpu.*.nvlinks", judge_links},
	{"gpu.*.fabric", judge_state},
	{clique_key, judge_cliques},
	{NULL, NULL},
};
