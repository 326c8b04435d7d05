/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables in docs/algorithms.md of what an endpoint and a node send: each number is counted in
 * the plans of all ranks. What a switch that reduces would do has no plan of its own: NVLS's row is
 * checked against its formula, SHARP's against what the plan of collnet hands to its reducers.
 */
#include <stdlib.h>

#include "collectives/algorithm/algorithm.h"
#include "common/base/error.h"
#include "common/plan/check.h"
#include "tests/unit/check.h"

enum { MOST = 128, RANKS_PER_NODE = 8, NUMBERS = 8 };

/* Blocks that the busiest rank sends, that the busiest node sends to others, and all nodes do. */
struct sent {
	double rank, node, nodes;
};

/* Adds what a plan sends. Links are FIFOs, so every message is an end FB_LINK. */
static void count_plan(const struct fb_plan *plan, const struct fb_topology *where, double *rank,
		       double *node)
{
	double unit = 1.0 / plan->split;

	for (int l = 0; l < plan->nlanes; l++)
		for (uint32_t s = 0; s < plan->lanes[l].nsteps; s++) {
			const struct fb_step *step = &plan->lanes[l].steps[s];
			const struct fb_end *end = &plan->ends[step->first_end + step->nsrc];

			for (int d = 0; step->kind == FB_RUN && d < step->ndst; d++) {
				int peer;

				if (end[d].kind != FB_LINK)
					continue;
				peer = plan->out_links[end[d].link].peer;
				*rank += step->count * unit;
				if (where->node_of[peer] != where->node_of[plan->rank])
					*node += step->count * unit;
			}
		}
}

/* Adds what each rank and each node sends on one channel, which has 1/nchannels of the block. */
static bool count_channel(const struct fb_algorithm *a, const struct fb_shape *shape, double *rank,
			  double *node)
{
	struct fb_plan *plans[MOST];
	int err = fb_build_all(a, shape, FB_NO_DIRECT_LINKS, 8, plans);

	for (int r = 0; r < shape->nranks && !err; r++) {
		count_plan(plans[r], shape->topology, &rank[r],
			   &node[shape->topology->node_of[r]]);
		fb_plan_free(plans[r]);
	}
	return CHECK_INT(err, FB_OK);
}

static struct sent count(const char *name, int n, int nodes)
{
	int node_of[MOST], local[MOST];
	struct fb_topology where = {.nranks = n, .nnodes = nodes, .node_of = node_of,
				    .local_rank_of = local};
	const struct fb_algorithm *a = fb_algorithm_find(FB_ALL_REDUCE, name);
	struct fb_shape shape = {.collective = FB_ALL_REDUCE, .nranks = n, .topology = &where};
	double rank[MOST] = {0}, node[MOST] = {0};
	struct sent sent = {0};

	for (int r = 0; r < n; r++) {
		node_of[r] = r / (n / nodes);
		local[r] = r % (n / nodes);
	}
	if (!CHECK(a))
		return sent;
	shape.nchannels = a->channels ? a->channels : 1;
	for (shape.channel = 0; shape.channel < shape.nchannels; shape.channel++)
		if (!count_channel(a, &shape, rank, node))
			return sent;
	for (int r = 0; r < n; r++)
		sent.rank = fmax(sent.rank, rank[r] / shape.nchannels);
	for (int i = 0; i < nodes; i++) {
		sent.node = fmax(sent.node, node[i] / shape.nchannels);
		sent.nodes += node[i] / shape.nchannels;
	}
	return sent;
}

/* "| `ring` | ... | 1 | 1.5 |": the name and the numbers; what is no number is passed over. */
static int parse(char *line, char *name, size_t size, double number[NUMBERS])
{
	char *state, *cell = strtok_r(line, "|", &state), *end;
	int n = 0;

	snprintf(name, size, "%s", "");
	if (cell && strchr(cell, '`'))
		snprintf(name, size, "%.*s", (int)strcspn(strchr(cell, '`') + 1, "`"),
			 strchr(cell, '`') + 1);
	while ((cell = strtok_r(NULL, "|", &state))) {
		double x = strtod(cell, &end);

		if (end != cell && end[strspn(end, " \n")] == '\0' && n < NUMBERS)
			number[n++] = x;
	}
	return n;
}

static void check_line(const char *name, const double *head, const double *number, int n,
		       bool nodes)
{
	for (int i = 0; i < n; i++) {
		int x = (int)head[i];
		double want;

		if (!strcmp(name, "nvls"))
			want = 1 + 1.0 / x;
		else if (!strcmp(name, "sharp"))
			want = (count("collnet", x * RANKS_PER_NODE, x).nodes / 2 + 1) / x;
		else if (nodes)
			want = count(name, x * RANKS_PER_NODE, x).node;
		else
			want = count(name, x, 1).rank;
		if (!CHECK_NEAR(number[i], want, 0.0051))
			printf("\tof %s, column %d\n", name, x);
	}
}

/* Both tables begin with their numbers of ranks or nodes. */
static void test_tables(FILE *doc)
{
	char line[512], name[64];
	double head[NUMBERS], number[NUMBERS];
	int columns = 0, lines = 0;
	bool nodes = false;

	while (fgets(line, sizeof(line), doc)) {
		bool first = strstr(line, "| blocks that ") != NULL;
		int n;

		if (first)
			nodes = strstr(line, "a node sends") != NULL;
		if (line[0] != '|') {
			columns = 0;
			continue;
		}
		n = parse(line, name, sizeof(name), first ? head : number);
		if (first)
			columns = n;
		else if (columns && *name && CHECK(n == columns || n == columns + 1)) {
			/* A formula may be a number. */
			check_line(name, head, number + n - columns, columns, nodes);
			lines++;
		}
	}
	CHECK(lines >= 12);
}

int main(void)
{
	FILE *doc = fopen("docs/algorithms.md", "r");

	if (CHECK(doc)) {
		test_tables(doc);
		fclose(doc);
	}
	return check_done("plan_bytes");
}
