/* SPDX-License-Identifier: BSD-3-Clause */
/* NUMA nodes; see numa.h. */
#include "common/system/numa.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/system/environment_file.h"

enum { LOOKED_AT = 64 };

/* The argument of the system call is one more than the bits of the mask. */
static const unsigned long mask_bits = FB_NUMA_NODES + 1;

/* Sets bits as "0-3,8" says. */
static void read_list(const char *list, uint64_t *word, unsigned long bits)
{
	char *end;

	for (const char *at = list; *at; at = *end == ',' ? end + 1 : end) {
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (end == at)
			return;
		if (*end == '-') {
			at = end + 1;
			last = strtoul(at, &end, 10);
			if (end == at)
				return;
		}
		for (unsigned long i = first; i <= last && i < bits; i++)
			word[i / 64] |= UINT64_C(1) << i % 64;
	}
}

void fb_cpus_parse(const char *list, struct fb_cpus *cpus)
{
	memset(cpus, 0, sizeof(*cpus));
	read_list(list, cpus->word, FB_NUMA_CPUS);
}

/* The file of a node, FB_LINE_CHARS of it. */
static bool read_of(const char *root, int node, const char *file, char *line)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/%s", node, file);
	return fb_read_line(root, path, line, FB_LINE_CHARS);
}

/* Numbers for all nodes that are online, in their order. */
static void read_distances(struct fb_numa *numa, int from, char *line)
{
	char *at = line;

	for (int to = 0; to < FB_NUMA_NODES; to++)
		if (numa->node[to].online)
			numa->node[from].distance[to] = (int)strtol(at, &at, 10);
}

void fb_numa_read(struct fb_numa *numa, const char *root)
{
	uint64_t online = 0, memory = 0;
	char line[FB_LINE_CHARS], path[96], tag[32];

	*numa = (struct fb_numa){.count = 0};
	if (fb_read_line(root, "/sys/devices/system/node/online", line, sizeof(line)))
		read_list(line, &online, FB_NUMA_NODES);
	if (fb_read_line(root, "/sys/devices/system/node/has_memory", line, sizeof(line)))
		read_list(line, &memory, FB_NUMA_NODES);
	for (int i = 0; i < FB_NUMA_NODES; i++) {
		numa->node[i].online = online >> i & 1;
		numa->node[i].memory = online >> i & memory >> i & 1;
		numa->count += numa->node[i].memory;
	}
	for (int i = 0; i < FB_NUMA_NODES; i++) {
		struct fb_numa_node *node = &numa->node[i];

		if (!node->online)
			continue;
		if (read_of(root, i, "cpulist", line))
			fb_cpus_parse(line, &node->cpus);
		if (read_of(root, i, "distance", line))
			read_distances(numa, i, line);
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", i);
		snprintf(tag, sizeof(tag), "Node %d MemTotal", i);
		if (fb_read_tagged(root, path, tag, line, sizeof(line)))
			node->bytes = strtoull(line, NULL, 10) << 10;
	}
}

static bool share_any(const struct fb_cpus *a, const struct fb_cpus *b)
{
	for (int i = 0; i < FB_NUMA_WORDS; i++)
		if (a->word[i] & b->word[i])
			return true;
	return false;
}

int fb_numa_home(const struct fb_numa *numa, const struct fb_cpus *allowed, int index, int ranks)
{
	int found[FB_NUMA_NODES], n = 0;

	for (int i = 0; i < FB_NUMA_NODES; i++)
		if (numa->node[i].memory && share_any(&numa->node[i].cpus, allowed))
			found[n++] = i;
	return n ? found[(long long)index * n / ranks] : -1;
}

int fb_numa_far(const struct fb_numa *numa, int node)
{
	int far = -1;

	for (int i = 0; i < FB_NUMA_NODES && node >= 0; i++) {
		const int *distance = numa->node[node].distance;

		if (i != node && numa->node[i].memory && (far < 0 || distance[i] > distance[far]))
			far = i;
	}
	return far;
}

uint64_t fb_numa_huge_pages(const char *root, int node, size_t page_bytes)
{
	char line[FB_LINE_CHARS], file[64];

	snprintf(file, sizeof(file), "hugepages/hugepages-%zukB/free_hugepages", page_bytes >> 10);
	return read_of(root, node, file, line) ? strtoull(line, NULL, 10) : 0;
}

int fb_cpus_count(const struct fb_cpus *cpus)
{
	int n = 0;

	for (int i = 0; i < FB_NUMA_WORDS; i++)
		n += __builtin_popcountll(cpus->word[i]);
	return n;
}

int fb_cpus_get(struct fb_cpus *cpus)
{
	memset(cpus, 0, sizeof(*cpus));
	return sched_getaffinity(0, sizeof(*cpus), (cpu_set_t *)cpus) ? errno : 0;
}

int fb_cpus_set(const struct fb_cpus *cpus)
{
	return sched_setaffinity(0, sizeof(*cpus), (const cpu_set_t *)cpus) ? errno : 0;
}

int fb_numa_thread(void)
{
	unsigned cpu, node;

	return syscall(SYS_getcpu, &cpu, &node, NULL) || node >= FB_NUMA_NODES ? -1 : (int)node;
}

int fb_numa_bind(void *at, size_t bytes, int node)
{
	unsigned long mask = 1ul << node;

	return syscall(SYS_mbind, at, bytes, MPOL_BIND, &mask, mask_bits, 0) ? errno : 0;
}

int fb_numa_prefer(int node)
{
	unsigned long mask = node < 0 ? 0 : 1ul << node;

	return syscall(SYS_set_mempolicy, node < 0 ? MPOL_DEFAULT : MPOL_BIND,
		       node < 0 ? NULL : &mask, node < 0 ? 0 : mask_bits)
		       ? errno
		       : 0;
}

uint64_t fb_numa_pages(const void *at, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page;
	size_t looks = pages < LOOKED_AT ? pages : LOOKED_AT;
	uint64_t nodes = 0;

	for (size_t i = 0; i < looks; i++) {
		const char *where = (const char *)at + i * pages / looks * page;
		int node = -1;

		if (syscall(SYS_get_mempolicy, &node, NULL, 0, where,
			    MPOL_F_NODE | MPOL_F_ADDR) ||
		    node < 0 || node >= FB_NUMA_NODES)
			return 0;
		nodes |= UINT64_C(1) << node;
	}
	return nodes;
}

const char *fb_numa_text(uint64_t nodes, char buf[FB_NUMA_CHARS])
{
	size_t used = 0;

	snprintf(buf, FB_NUMA_CHARS, "?");
	for (int i = 0; i < FB_NUMA_NODES && used < FB_NUMA_CHARS; i++)
		if (nodes >> i & 1)
			used += (size_t)snprintf(buf + used, FB_NUMA_CHARS - used, "%s%d",
						 used ? "+" : "", i);
	return buf;
}
