/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the NVLinks of GPUs are up, and their fabric is one; see doctor.h. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "scripts/tools/doctor/doctor.h"

static bool is(const struct fb_env_fact *fact, const char *what)
{
	char pattern[FB_FINDING_CHARS];

	snprintf(pattern, sizeof(pattern), "gpu.*.%s", what);
	return !fnmatch(pattern, fact->key, 0);
}

/* A card without a bridge has no link up, one at an NVSwitch has all. */
static void judge_links(const struct fb_node_facts *facts, const struct fb_env_fact *fact,
			struct fb_findings *findings)
{
	struct fb_finding f = {
		.level = FB_LEVEL_GOOD, .check = "NVLinks of the GPU are up", .host = fact->host,
		.wanted = "all of them",
		.advice = "all traffic of this GPU is slower by the same share, and every "
			  "collective waits for it: nvidia-smi nvlink --status, the kernel's log "
			  "(Xid 74), then reset the GPU or have the node repaired"};
	unsigned up = 0, links = 0;
	char fabric[FB_FINDING_CHARS];
	size_t stem = strlen(fact->key) - strlen("nvlinks");

	if (!is(fact, "nvlinks") || sscanf(fact->value, "%u of %u", &up, &links) != 2)
		return;
	snprintf(fabric, sizeof(fabric), "%.*sfabric", (int)stem, fact->key);
	if (up < links && (up || fb_node_fact(facts, fact->host, fabric)))
		f.level = FB_LEVEL_BAD;
	snprintf(f.found, sizeof(f.found), "%.70s: %.60s up", fact->key, fact->value);
	fb_findings_add(findings, &f);
}

static void judge_state(const struct fb_env_fact *fact, struct fb_findings *findings)
{
	struct fb_finding f = {
		.level = strcmp(fact->value, "completed") ? FB_LEVEL_BAD : FB_LEVEL_GOOD,
		.check = "GPU is registered at the NVLink fabric", .host = fact->host,
		.wanted = "completed",
		.advice = "GPUs cannot reach each other through NVSwitch, and CUDA may not even "
			  "start: systemctl status nvidia-fabricmanager (several nodes: "
			  "nvidia-imex, too), and that its version is the driver's"};

	if (!is(fact, "fabric"))
		return;
	snprintf(f.found, sizeof(f.found), "%.70s: %.80s", fact->key, fact->value);
	fb_findings_add(findings, &f);
}

/* Once, at the first GPU that is in a clique. */
static void judge_cliques(const struct fb_node_facts *facts, size_t index,
			  struct fb_findings *findings)
{
	const struct fb_env_fact *fact = &facts->env.fact[index];
	struct fb_finding f = {
		.level = FB_LEVEL_GOOD, .check = "all GPUs are in one NVLink domain", .host = "",
		.wanted = "1",
		.advice = "between cliques data pass the network, and a collective is as fast as "
			  "that: place the job within one domain (Slurm: --segment or "
			  "topology/block, --switches=1)"};
	size_t cliques = 0;

	for (size_t i = 0; i < index; i++)
		if (is(&facts->env.fact[i], "fabric_clique"))
			return;
	for (size_t i = index; i < facts->env.count; i++) {
		size_t before = index;

		if (!is(&facts->env.fact[i], "fabric_clique"))
			continue;
		while (before < i && (!is(&facts->env.fact[before], "fabric_clique") ||
				      strcmp(facts->env.fact[before].value,
					     facts->env.fact[i].value)))
			before++;
		cliques += before == i ? 1 : 0;
	}
	if (!cliques || !is(fact, "fabric_clique"))
		return;
	if (cliques > 1)
		f.level = FB_LEVEL_DOUBT;
	snprintf(f.found, sizeof(f.found), "%zu cliques; the first: %.70s", cliques, fact->value);
	fb_findings_add(findings, &f);
}

void fb_doctor_fabric(const struct fb_node_facts *facts, struct fb_findings *findings)
{
	for (size_t i = 0; i < facts->env.count; i++) {
		judge_links(facts, &facts->env.fact[i], findings);
		judge_state(&facts->env.fact[i], findings);
		judge_cliques(facts, i, findings);
	}
}
