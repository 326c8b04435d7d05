/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The topology and the graphs that NCCL dumps; see topology.h. Its XML is plain: elements with
 * attributes in double quotes, no text and no entities, so a scanner of elements is enough.
 */
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/topology/topology.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum { ATTRIBUTES = 32 };

/* Points into the file's text, which the scanner cuts up. */
struct element {
	const char *name;
	bool closes, empty; /* </name>, <name/> */
	const char *key[ATTRIBUTES], *value[ATTRIBUTES];
	int count;
};

/* ncclTopoGraph's id. */
static const char *const graphs[] = {"ring", "tree", "collnet chain", "nvls", "collnet direct"};

static const char *get(const struct element *e, const char *key)
{
	for (int i = 0; i < e->count; i++)
		if (!strcmp(e->key[i], key))
			return e->value[i];
	return "";
}

/* Cuts the next key="value" out of the text. NULL: there is none before the element's end. */
static char *next_attribute(char *at, struct element *e)
{
	char *equals, *end;

	at += strspn(at, " \t\r\n");
	equals = strpbrk(at, "=>");
	if (!equals || *equals == '>' || equals[1] != '"')
		return NULL;
	end = strchr(equals + 2, '"');
	if (!end)
		return NULL;
	*equals = *end = '\0';
	if (e->count < ATTRIBUTES) {
		e->key[e->count] = at;
		e->value[e->count++] = equals + 2;
	}
	return end + 1;
}

/* The element at or behind `at`; what follows it, or NULL after the last. */
static char *next_element(char *at, struct element *e)
{
	char *name, *more, *end;

	*e = (struct element){.count = 0};
	at = strchr(at, '<');
	if (!at)
		return NULL;
	name = at + 1;
	e->closes = *name == '/';
	name += e->closes;
	at = name + strcspn(name, " \t\r\n/>");
	end = at;
	while (strchr(" \t\r\n", *end) && *end && (more = next_attribute(end, e)) != NULL)
		end = more;
	end += strspn(end, " \t\r\n");
	e->empty = *end == '/';
	end = strchr(end, '>');
	*at = '\0';
	e->name = name;
	return end ? end + 1 : NULL;
}

static void print_pci(const struct element *e)
{
	printf("%s %s", strncmp(get(e, "class"), "0x0604", 6) ? "slot" : "switch",
	       get(e, "busid"));
	if (strtol(get(e, "link_width"), NULL, 10) > 0)
		printf(", %s x %s", get(e, "link_speed"), get(e, "link_width"));
}

/* One line for an element of a topology; what is not known here is left out with its parts. */
static void print_part(const struct element *e, int depth)
{
	printf("%*s", 2 * depth, "");
	if (!strcmp(e->name, "cpu"))
		printf("NUMA node %s, %s %s", get(e, "numaid"), get(e, "arch"), get(e, "vendor"));
	else if (!strcmp(e->name, "pci"))
		print_pci(e);
	else if (!strcmp(e->name, "gpu"))
		printf("GPU %s, rank %s, sm_%s, GPUDirect RDMA %s", get(e, "dev"), get(e, "rank"),
		       get(e, "sm"), strcmp(get(e, "gdr"), "1") ? "no" : "yes");
	else if (!strcmp(e->name, "nvlink"))
		printf("%s NVLinks to %s%s", get(e, "count"), get(e, "target"),
		       strncmp(get(e, "tclass"), "0x0680", 6) ? "" : ", an NVSwitch");
	else if (!strcmp(e->name, "c2c"))
		printf("NVLink-C2C to the processor, %s links", get(e, "count"));
	else if (!strcmp(e->name, "net"))
		printf("network device %s (%s), %g Gbit/s, GPUDirect RDMA %s", get(e, "dev"),
		       get(e, "name"), strtod(get(e, "speed"), NULL) / 1000,
		       strcmp(get(e, "gdr"), "1") ? "no" : "yes");
	else
		printf("%s", e->name);
	printf("\n");
}

static void print_graph(const struct element *e)
{
	size_t id = strtoul(get(e, "id"), NULL, 10);

	printf("%s: %s channels, %s GB/s each within a node (%s), %s GB/s between nodes (%s)\n",
	       id < FB_COUNT_OF(graphs) ? graphs[id] : get(e, "id"),
	       get(e, "nchannels"), get(e, "speedintra"), get(e, "typeintra"),
	       get(e, "speedinter"), get(e, "typeinter"));
}

static void print_element(const struct element *e, int depth)
{
	if (e->closes) {
		if (!strcmp(e->name, "channel"))
			printf("\n");
	} else if (!strcmp(e->name, "graph")) {
		print_graph(e);
	} else if (!strcmp(e->name, "channel")) {
		printf("  channel:");
	} else {
		print_part(e, depth);
	}
}

/* Elements of a file, from behind its first one on. */
static void print_all(char *at, bool is_graph)
{
	struct element e;
	int depth = 0;
	bool inside = false;

	while (at) {
		at = next_element(at, &e);
		if (!e.name)
			return;
		depth -= e.closes;
		if (is_graph && inside && !e.closes)
			printf(" %s%s", e.name, get(&e, "dev"));
		else if (!e.closes || is_graph)
			print_element(&e, depth);
		if (!strcmp(e.name, "channel"))
			inside = !e.closes && !e.empty;
		depth += !e.closes && !e.empty;
	}
}

int fb_topology_nccl(const char *path)
{
	struct element first = {.name = NULL};
	size_t length;
	char *text = fb_file_text(path, &length), *at;

	if (!text)
		return FB_EINPUT;
	at = next_element(text, &first);
	if (!at || (strcmp(first.name, "system") && strcmp(first.name, "graphs")))
		return fb_error(FB_EINPUT, "%s: expected a file that NCCL wrote by "
				"NCCL_TOPO_DUMP_FILE or NCCL_GRAPH_DUMP_FILE", path);
	print_all(at, !strcmp(first.name, "graphs"));
	return FB_OK;
}
