/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which node is slow, from the times of many small sets of nodes (pairs, say).
 *
 * A collective is as slow as the slowest node in it, so one time over all nodes tells of a slow
 * node but not which. Times of overlapping sets do: every set with the slow node is slow, while
 * any other node is in few of these. Hence a node's score is the lower median over its sets: it
 * is high only where most of them are slow. In a round-robin tournament of n >= 3 nodes each
 * node meets a slow one once in n - 1 rounds, so one round that was spoilt by something else
 * blames nobody.
 *
 * Nodes are named one after the other, the worst first, and its sets leave before the next is
 * looked for: a second, less slow node would hide behind the first. Sets that are slow without
 * containing a slow node remain: slow links.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_BLAME_H
#define FB_SCRIPTS_TOOLS_LIB_BLAME_H

#include <stdbool.h>
#include <stddef.h>

struct fb_blame_set {
	const size_t *node; /* [count]: numbers below nnodes, each once. Borrowed */
	size_t count;
	double time; /* in any unit, the same for all sets; NAN: not known */
};

struct fb_blame_node {
	size_t sets;  /* with a time that the node was in */
	double score; /* times the time of an unimpaired set; NAN below two sets */
	bool slow;
	/*
	 * Of a slow node: how often luck alone would order the sets so, for any of the nodes.
	 * Mann-Whitney's test of the node's sets against the others, times the nodes judged
	 * (Bonferroni). Three rounds of four nodes can never be below 0.1; six can.
	 */
	double chance;
};

/* The greatest `chance` at which a node is said to be slow and not only suspected. */
#define FB_BLAME_SURE 0.05

/*
 * Judges node[0 .. nnodes) by sets that do not hold all of them, and in slow_set[0 .. nsets)
 * the sets that are slow for none of their nodes' sake. `threshold` is the excess that counts:
 * 0.1 for 10%. Beside it the excess must be 4 times the scatter (1.4826 * mad) of the sets without
 * that node; where these are fewer than 3 and have no scatter to speak of, it must be 5 times the
 * threshold.
 */
void fb_blame(const struct fb_blame_set *set, size_t nsets, double threshold,
	      struct fb_blame_node *node, size_t nnodes, bool *slow_set);

#endif
