/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that the NVLinks of GPUs, and those to the processor (NVLink-C2C), are up, and that they
 * form one fabric; see doctor.h.
 */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scripts/tools/doctor/doctor.h"

static const char clique_key[] = "gpu.*.fabric_clique", c2c_rate_key[] = "gpu.*.c2c_link_MBps";

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

/* Links to the processor: a GPU that has any has all of them. */
static void judge_c2c(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
		      struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_BAD, "NVLink-C2C to the processor is up", "all links",
		"copies to and from the host are slower by the same share: nvidia-smi c2c -s, the "
		"kernel's log (Xid), then reset the GPU or have the node repaired"};
	unsigned up = 0, links = 0;

	(void)facts;
	if (sscanf(fact->value, "%u of %u", &up, &links) == 2)
		fb_findings_judge(findings, &check, fact->host, up >= links, "%.70s: %.60s up",
				  fact->key, fact->value);
}

/* "44712, least 22356" where a link is slower; links of other GPUs may be faster than all. */
static void judge_c2c_rate(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			   struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_DOUBT, "NVLink-C2C carries its rate", "that of the fastest link",
		"copies to and from the host are slower than the bound, which counts all links at "
		"that rate: nvidia-smi c2c -s, the kernel's log (Xid), then reset the GPU"};
	const char *slowest = strstr(fact->value, "least ");
	double own = strtod(slowest ? slowest + strlen("least ") : fact->value, NULL), most = own;

	for (size_t i = 0; i < facts->env.count; i++)
		if (!fnmatch(c2c_rate_key, facts->env.fact[i].key, 0))
			most = fmax(most, strtod(facts->env.fact[i].value, NULL));
	fb_findings_judge(findings, &check, fact->host, own >= most, "%.70s: %.60s of %.0f",
			  fact->key, fact->value, most);
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
	{"gpu.*.c2c_links", judge_c2c},
	{c2c_rate_key, judge_c2c_rate},
	{"gpu.*.fabric", judge_state},
	{clique_key, judge_cliques},
	{NULL, NULL},
};
