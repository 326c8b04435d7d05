/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds slow nodes from the times of many small sets of nodes, for example pairs.
 *
 * A collective is as slow as its slowest node, so one time over all nodes shows that a node is
 * slow, but not which. Times of overlapping sets do show it: every set with the slow node is slow,
 * while any other node is in few of these sets. So a node's score is the lower median over its
 * sets, which is high only if most of them are slow. In a round-robin tournament of n >= 3 nodes
 * each node is together with a slow one in one of n - 1 rounds, so a single disturbed round names
 * no node.
 *
 * Nodes are named one after the other, the worst first. The sets of a named node are removed before
 * the next one is searched for, as a second, less slow node would be hidden by the first. Sets that
 * remain slow without a slow node have slow links.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_SLOW_NODES_H
#define FB_SCRIPTS_TOOLS_LIB_SLOW_NODES_H

#include <stdbool.h>
#include <stddef.h>

struct fb_timed_set {
	const size_t *node; /* [count]: numbers below nnodes, each once. Borrowed */
	size_t count;
	double time; /* in any unit, the same for all sets; NAN: not known */
};

struct fb_node_score {
	size_t sets;  /* with a time that the node was in */
	double score; /* times the time of an unimpaired set; NAN below two sets */
	bool slow;
	/*
	 * For a slow node: how often chance alone would order the sets like this for any of the
	 * nodes. Mann-Whitney's test of the node's sets against the others, times the nodes judged
	 * (Bonferroni). Three rounds of four nodes can never be below 0.1; six can.
	 */
	double chance;
};

/* The greatest `chance` at which a node is called slow and not only suspected. */
#define FB_SLOW_NODE_SURE 0.05

/*
 * Judges node[0 .. nnodes) by the sets that do not contain all nodes, and sets slow_set[0 .. nsets)
 * for the sets that are slow without a slow node. `threshold` is the least excess that counts: 0.1
 * for 10%. The excess must also be 4 times the scatter (fb_spread) of the sets without that node.
 * If there are fewer than 3 of these, it must be 5 times the threshold instead.
 */
void fb_find_slow_nodes(const struct fb_timed_set *set, size_t nsets, double threshold,
			struct fb_node_score *node, size_t nnodes, bool *slow_set);

#endif
