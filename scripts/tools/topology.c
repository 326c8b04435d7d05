/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * topology: how the GPUs and RDMA devices of each node are connected, by the facts of a folder, as
 * nvidia-smi topo -m shows it, or as rates of links; and what NCCL found (topology/nccl.c).
 */
#include "common/base/error.h"
#include "common/option/option.h"
#include "scripts/tools/lib/links.h"
#include "scripts/tools/lib/tool.h"
#include "scripts/tools/topology/topology.h"

#include <csv.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings {
	bool matrix, nccl;
};

#define FLAG(field, short_, name, help) FB_OPTION_FLAG(struct settings, field, short_, name, help)

static const struct fb_option table[] = {
	FB_OPTION_GROUP("What to show"),
	FLAG(matrix, 'm', "matrix", "rates of the links in GB/s, for scripts/plot matrix"),
	FLAG(nccl, 0, "nccl", "files that NCCL dumped: its topology, and its rings and trees"),
	FB_OPTION_END,
};

static const char description[] =
	"topology [option...] DIR\n"
	"topology --nccl FILE...\n\n"
	"Prints for each node how its GPUs and RDMA devices are connected, by the environment.csv "
	"of a results folder. NV18: 18 NVLinks; else what they have in common on PCIe: PIX one "
	"switch, PXB several switches, PHB the host bridge, NODE the NUMA node, SYS no more than "
	"the host. NVLinks are known where a program opened the GPUs.\n\n"
	"Exit code: 0 good; 3 the input cannot be used, or names no GPU.";

enum { DEVICES = 128, ID_CHARS = 64, KEY_CHARS = 192, CELL = 7 };

struct device {
	char id[ID_CHARS]; /* "0000:1b:00.0" or "mlx5_0" */
};

/* GPUs first, then RDMA devices. */
struct node {
	const struct fb_node_facts *facts;
	const char *host;
	struct device device[DEVICES];
	size_t gpus, count;
};

static bool has(const struct node *node, const char *id)
{
	for (size_t i = 0; i < node->count; i++)
		if (!strcmp(node->device[i].id, id))
			return true;
	return false;
}

/* Adds all devices of the node with a key prefix + ID + "." + more. */
static void find_devices(struct node *node, const char *prefix, const char *pattern)
{
	size_t start = strlen(prefix);

	for (size_t i = 0; i < node->facts->env.count && node->count < DEVICES; i++) {
		const struct fb_env_fact *f = &node->facts->env.fact[i];
		const char *end = f->key + start;
		char id[ID_CHARS];

		if (fnmatch(pattern, f->key, 0) || (*f->host && strcmp(f->host, node->host)))
			continue;
		/* A bus id ends in ".0": what is behind it is the key's last part. */
		end = strchr(end, ':') ? strrchr(end, '.') : strchr(end, '.');
		snprintf(id, sizeof(id), "%.*s", (int)(end - f->key - (ptrdiff_t)start),
			 f->key + start);
		if (!has(node, id))
			snprintf(node->device[node->count++].id, ID_CHARS, "%s", id);
	}
}

static const char *fact(const struct node *node, const char *prefix, const char *id,
			const char *what)
{
	char key[KEY_CHARS];

	snprintf(key, sizeof(key), "%s%s%s", prefix, id, what);
	return fb_node_fact(node->facts, node->host, key);
}

/* The word behind ID in "ID WORD, ID WORD"; false where there is none. */
static bool word_of(const char *list, const char *id, char word[CELL])
{
	size_t n = strlen(id);

	for (; list; list = strstr(list, ", ") ? strstr(list, ", ") + 2 : NULL)
		if (!strncmp(list, id, n) && list[n] == ' ') {
			snprintf(word, CELL, "%.*s", (int)strcspn(list + n + 1, ","), list + n + 1);
			return true;
		}
	return false;
}

static void cell_of(const struct node *node, size_t from, size_t to, char cell[CELL])
{
	const char *id = node->device[from].id, *other = node->device[to].id;
	char links[CELL];

	if (from == to)
		snprintf(cell, CELL, "X");
	else if (word_of(fact(node, "gpu.", id, ".nvlinks_to"), other, links))
		snprintf(cell, CELL, "NV%.4s", links);
	else if (!word_of(fact(node, "gpu.", id, ".pci_to"), other, cell))
		snprintf(cell, CELL, "-");
}

/* What the two can exchange in each direction; NAN: not known. */
static double rate_of(const struct node *node, size_t from, size_t to)
{
	const char *gpu = node->device[from].id;
	double slot = fb_link_host(node->facts, node->host, gpu), rate;
	char links[CELL];

	if (from == to)
		return (double)NAN;
	if (to >= node->gpus)
		rate = fb_link_port(node->facts, node->host, node->device[to].id);
	else if (word_of(fact(node, "gpu.", gpu, ".nvlinks_to"), node->device[to].id, links) &&
		 fact(node, "gpu.", gpu, ".nvlink_MBps"))
		return strtod(links, NULL) *
		       strtod(fact(node, "gpu.", gpu, ".nvlink_MBps"), NULL) / 1000;
	else
		rate = fb_link_host(node->facts, node->host, node->device[to].id);
	return slot < rate || !(rate > 0) ? slot : rate;
}

static void print_legend(const struct node *node)
{
	for (size_t i = 0; i < node->count; i++) {
		const char *id = node->device[i].id, *more;
		bool gpu = i < node->gpus;
		double rate = gpu ? fb_link_nvlink(node->facts, node->host, id)
				  : fb_link_port(node->facts, node->host, id);

		printf("  %s%zu = %s", gpu ? "GPU" : "NIC", gpu ? i : i - node->gpus, id);
		more = gpu ? fact(node, "nvidia.gpu.", id, "")
			   : fact(node, "infiniband.", id, ".port1.rate");
		if (more)
			printf(", %s", more);
		more = gpu ? fact(node, "gpu.", id, ".nvlinks") : NULL;
		if (more)
			printf(", NVLinks up: %s", more);
		more = gpu ? fact(node, "gpu.", id, ".pci_lanes") : NULL;
		if (more)
			printf(", PCIe lanes: %s", more);
		more = gpu ? fact(node, "gpu.", id, ".c2c_links") : NULL;
		if (more)
			printf(", C2C links up: %s", more);
		if (rate > 0)
			printf(", %s%.4g GB/s", gpu ? "NVLink " : "", rate);
		printf("\n");
	}
}

static void print_node(const struct node *node)
{
	char cell[CELL];

	printf("%s: %zu GPUs, %zu RDMA devices\n\n%-6s", *node->host ? node->host : "all nodes",
	       node->gpus, node->count - node->gpus, "");
	for (size_t i = 0; i < node->count; i++) {
		snprintf(cell, sizeof(cell), "%s%zu", i < node->gpus ? "GPU" : "NIC",
			 i < node->gpus ? i : i - node->gpus);
		printf(" %-6s", cell);
	}
	printf(" NUMA\n");
	for (size_t i = 0; i < node->gpus; i++) {
		const char *numa = fact(node, "gpu.", node->device[i].id, ".numa_node");

		printf("GPU%-3zu", i);
		for (size_t j = 0; j < node->count; j++) {
			cell_of(node, i, j, cell);
			printf(" %-6s", cell);
		}
		printf(" %s\n", numa ? numa : "-");
	}
	printf("\n");
	print_legend(node);
	printf("\n");
}

/* In the form of nvbandwidth, which scripts/plot matrix draws. */
static void print_matrix(const struct node *node)
{
	printf("%s: links GPU(row) -> %s(column) bandwidth (GB/s)\n  ",
	       *node->host ? node->host : "all nodes",
	       node->count > node->gpus ? "GPU/NIC" : "GPU");
	for (size_t i = 0; i < node->count; i++)
		printf(" %9zu", i);
	printf("\n");
	for (size_t i = 0; i < node->gpus; i++) {
		printf("%2zu", i);
		for (size_t j = 0; j < node->count; j++) {
			double rate = rate_of(node, i, j);

			if (rate > 0)
				printf(" %9.2f", rate);
			else
				printf(" %9s", "N/A");
		}
		printf("\n");
	}
	printf("\n");
}

/* Whether the node has facts about GPUs that not all nodes have alike. */
static bool is_special(const struct fb_node_facts *facts, const char *host)
{
	for (size_t i = 0; i < facts->env.count; i++) {
		const struct fb_env_fact *f = &facts->env.fact[i];

		if (!strcmp(f->host, host) && !fnmatch("gpu.*:*", f->key, 0))
			return true;
	}
	return false;
}

static size_t show(const struct fb_node_facts *facts, const char *host, bool matrix)
{
	struct node node = {.facts = facts, .host = host};

	find_devices(&node, "gpu.", "gpu.*:*.*");
	node.gpus = node.count;
	find_devices(&node, "infiniband.", "infiniband.*.*");
	if (!node.gpus)
		return 0;
	if (matrix)
		print_matrix(&node);
	else
		print_node(&node);
	return 1;
}

static int show_nodes(const struct fb_node_facts *facts, const char *folder, bool matrix)
{
	size_t shown = 0;

	for (size_t i = 0; i < facts->env.count; i++) {
		const char *host = facts->env.fact[i].host;
		size_t before = 0;

		while (strcmp(facts->env.fact[before].host, host))
			before++;
		if (before == i && *host && is_special(facts, host))
			shown += show(facts, host, matrix);
	}
	if (!shown)
		shown = show(facts, "", matrix);
	if (!shown) {
		fb_error(FB_EINPUT, "%s/environment.csv names no GPU", folder);
		return FB_EXIT_INPUT;
	}
	return FB_EXIT_OK;
}

static int run(void *values, char **words, size_t count)
{
	const struct settings *settings = values;
	struct fb_node_facts facts;
	int err = FB_OK, code;

	if (settings->nccl && count) {
		for (size_t i = 0; i < count && !err; i++)
			err = fb_topology_nccl(words[i]);
		return fb_exit_code(err);
	}
	if (count != 1) {
		fb_error(FB_EINPUT, "%zu folders: expected one results folder; see --help", count);
		return FB_EXIT_INPUT;
	}
	err = fb_node_facts_read(&facts, words[0]);
	code = err ? fb_exit_code(err) : show_nodes(&facts, words[0], settings->matrix);
	return code;
}

static const struct fb_tool tool = {
	.name = "topology",
	.summary = "how GPUs and network devices are connected",
	.description = description,
	.table = table,
	.libraries = FB_TOOL_CSV,
	.run = run,
};

FB_TOOL_MAIN(struct settings)
