/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NUMA nodes: which a host has, and where threads run and pages lie.
 *
 * By the kernel's files and system calls (set_mempolicy(2) and its relatives) themselves: what is
 * needed of libnuma is less than looking for it.
 */
#ifndef FB_COMMON_SYSTEM_NUMA_H
#define FB_COMMON_SYSTEM_NUMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FB_NUMA_NODES = 64, FB_NUMA_CPUS = 8192, FB_NUMA_WORDS = FB_NUMA_CPUS / 64 };

/* A set of processors, bit by bit, as the kernel's system calls have it. */
struct fb_cpus {
	uint64_t word[FB_NUMA_WORDS];
};

struct fb_numa_node {
	bool online, memory;	/* memory: it has some */
	uint64_t bytes;		/* of that, all together */
	struct fb_cpus cpus;	/* empty where it has none */
	int distance[FB_NUMA_NODES]; /* to other nodes, 10 is none; 0: not known */
};

/* Nodes by number. Large: not for the stack. */
struct fb_numa {
	struct fb_numa_node node[FB_NUMA_NODES];
	int count; /* of nodes with memory; 0: the kernel has no NUMA */
};

/* Local. Files are looked up below `root`, "" for the machine itself. */
void fb_numa_read(struct fb_numa *numa, const char *root);

/*
 * The node on which a rank is at home, the index-th of `ranks` of its host: the only one of which
 * `allowed` has processors, else one of these by turns, neighbours together. -1 where there is
 * none. Pure.
 */
int fb_numa_home(const struct fb_numa *numa, const struct fb_cpus *allowed, int index, int ranks);

/* The farthest node with memory; -1 where there is no other. Pure. */
int fb_numa_far(const struct fb_numa *numa, int node);

/* Free huge pages of that size of a node. Reads as fb_numa_read does. */
uint64_t fb_numa_huge_pages(const char *root, int node, size_t page_bytes);

/* The set that the kernel's files write as "0-3,8". Text in another form ends the list. Pure. */
void fb_cpus_parse(const char *list, struct fb_cpus *cpus);

/* Processors in the set. */
int fb_cpus_count(const struct fb_cpus *cpus);

/* Gets or sets the processors that the calling thread may run on. 0 or an errno. */
int fb_cpus_get(struct fb_cpus *cpus);
int fb_cpus_set(const struct fb_cpus *cpus);

/* The node that the calling thread is on now; -1 where the kernel does not say. */
int fb_numa_thread(void);

/*
 * Untouched pages of [at, at + bytes), which begins at a page, will come from `node` only. 0 or an
 * errno.
 */
int fb_numa_bind(void *at, size_t bytes, int node);

/* The same for all pages that the calling thread touches first from now on; -1: from anywhere. */
int fb_numa_prefer(int node);

/*
 * On which nodes the pages of [at, at + bytes) really lie, bit by bit; 0 where the kernel does not
 * say. Looks at some of them where they are many, and brings those that are not there.
 */
uint64_t fb_numa_pages(const void *at, size_t bytes);

/* "0", "0+1", "?" of such bits. Returns buf. */
enum { FB_NUMA_CHARS = 24 };
const char *fb_numa_text(uint64_t nodes, char buf[FB_NUMA_CHARS]);

#endif
