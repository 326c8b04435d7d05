/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results of sets of nodes. The folder of a set has result files and a file nodes.txt, which names
 * the nodes of the ranks, one in a line (scripts/slurm writes it). It may have a file
 * allocation.txt, whose lines "address NODE SWITCH.SWITCH.NODE" give the switches of each node.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_NODE_SETS_H
#define FB_SCRIPTS_TOOLS_LIB_NODE_SETS_H

#include <stddef.h>
#include <stdint.h>

struct fb_node_set {
	const char *path;
	size_t *node; /* [count]: into fb_node_sets.name */
	size_t count;
	size_t switches; /* leaf switches of its nodes; 0: not known for all nodes */
};

/* What one set measured of one experiment. */
struct fb_node_time {
	char *key;	/* the row's key columns: equal for equal experiments */
	uint64_t bytes; /* of that key */
	size_t set;	/* into fb_node_sets.set */
	double us;	/* one launch's median */
};

struct fb_node_sets {
	char **name; /* [nnames], in the order of their first appearance */
	size_t nnames;
	struct fb_node_set *set;   /* [nsets], by path */
	size_t nsets, without;	   /* `without`: sets that have no row with a time yet */
	struct fb_node_time *time; /* [ntimes], by key, then set */
	size_t ntimes;
};

/*
 * Adds all sets below a folder, at any depth. Only rows with a time (status ok or few) count.
 * Returns 0 or FB_EINPUT (no such folder, no nodes.txt below it, an unusable file; printed). What
 * was read so far stays.
 */
int fb_node_sets_read(struct fb_node_sets *sets, const char *folder);

/*
 * For each set, in out[0 .. nsets), how slow it was in experiments of low .. high bytes: the
 * median over experiments of its time (the median of its launches) divided by the median of all
 * sets; NAN for a set without any. Sets *experiments to the number of experiments. Only
 * experiments that at least two sets have count.
 */
void fb_node_sets_ratios(const struct fb_node_sets *sets, uint64_t low, uint64_t high, double *out,
			 size_t *experiments);

/*
 * The median of ratio[0 .. nsets), as above, over the sets whose nodes are at that many leaf
 * switches; *count becomes how many those are. NAN where there are none.
 */
double fb_node_sets_by_switches(const struct fb_node_sets *sets, const double *ratio,
				size_t switches, size_t *count);

#endif
