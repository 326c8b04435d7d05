/* SPDX-License-Identifier: BSD-3-Clause */
/* What RDMA devices and their ports should be like; see doctor.h. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scripts/tools/doctor/doctor.h"

enum { KEY_CHARS = 128 };

/* Another fact of the thing that a key "infiniband.mlx5_0.port1.rate" is of. */
static const char *beside(const struct fb_node_facts *facts, const struct fb_node_fact *fact,
			  const char *name)
{
	const char *dot = strrchr(fact->key, '.');
	char key[KEY_CHARS];

	snprintf(key, sizeof(key), "%.*s.%s", (int)(dot - fact->key), fact->key, name);
	return fb_node_fact(facts, fact->host, key);
}

static bool has(const struct fb_node_facts *facts, const struct fb_node_fact *fact,
		const char *name, const char *text)
{
	const char *value = beside(facts, fact, name);

	return value && strstr(value, text);
}

/* RoCE without a GID of version 2 is not routed. */
void fb_judge_gids(const struct fb_node_facts *facts, const struct fb_node_fact *fact,
		   struct fb_findings *findings)
{
	static const struct fb_check check = {
		FB_LEVEL_BAD, "RoCE port has a GID of version 2", "1 or more",
		"in a container the host's GIDs may not be visible: check "
		"/sys/class/infiniband/*/ports/*/gids and the network namespace mode "
		"(rdma system show)"};
	int second = 0;

	if (fnmatch("infiniband.*.gids", fact->key, 0) ||
	    !has(facts, fact, "link_layer", "Ethernet"))
		return;
	fb_findings_judge(findings, &check, fact->host,
			  sscanf(fact->value, "RoCE v2 %d", &second) == 1 && second,
			  "%.70s: %.80s", fact->key, fact->value);
}
