/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NUMA nodes of a made-up machine, whose files lie under a folder: which there are, who is at home
 * where, which is far. And of this machine: where pages that were bound really lie.
 */
#include "common/base/append.h"
#include "common/base/error.h"
#include "common/memory/places.h"
#include "common/memory/private.h"
#include "common/system/numa.h"
#include "common/system/pages.h"
#include "tests/unit/check.h"
#include "tests/unit/csv_example.h"

#include <sys/mman.h>

#define NODE "/sys/devices/system/node/"

/* Two sockets, one with memory that has no processors (2), and node 4, whose number has a gap. */
static const struct {
	const char *path, *text;
} files[] = {
	{NODE "online", "0-2,4\n"},
	{NODE "has_memory", "0-2,4\n"},
	{NODE "node0/cpulist", "0-3,64\n"},
	{NODE "node1/cpulist", "4-7\n"},
	{NODE "node2/cpulist", "\n"},
	{NODE "node4/cpulist", "100-103\n"},
	{NODE "node0/distance", "10 21 17 31\n"},
	{NODE "node1/distance", "21 10 31 17\n"},
	{NODE "node2/distance", "17 31 10 21\n"},
	{NODE "node4/distance", "31 17 21 10\n"},
	{NODE "node0/meminfo", "Node 0 MemTotal:       2048 kB\nNode 0 MemFree: 1 kB\n"},
	{NODE "node2/hugepages/hugepages-2048kB/free_hugepages", "7\n"},
};

static struct fb_cpus cpus_of(const int *list, int n)
{
	struct fb_cpus cpus = {{0}};

	for (int i = 0; i < n; i++)
		cpus.word[list[i] / 64] |= UINT64_C(1) << list[i] % 64;
	return cpus;
}

static void write_machine(const char *root)
{
	char path[EXAMPLE_PATH_CHARS];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, files[i].path);
		*strrchr(path, '/') = '\0';
		CHECK_INT(fb_make_folder(path, NULL), FB_OK);
		snprintf(path, sizeof(path), "%s%s", root, files[i].path);
		example_write(path, files[i].text);
	}
}

static void test_machine(const char *root)
{
	static struct fb_numa numa;
	const int own[] = {0, 1, 2, 3, 4, 5, 6, 7, 64, 100}, one[] = {5, 6}, none[] = {90};
	struct fb_cpus all = cpus_of(own, 10), some = cpus_of(one, 2), other = cpus_of(none, 1);
	char path[EXAMPLE_PATH_CHARS];

	write_machine(root);
	fb_numa_read(&numa, root);
	CHECK_INT(numa.count, 4);
	CHECK(numa.node[4].online && numa.node[4].memory && !numa.node[3].online);
	CHECK_INT(fb_cpus_count(&numa.node[0].cpus), 5);
	CHECK_INT(fb_cpus_count(&numa.node[2].cpus), 0);
	CHECK_INT(numa.node[4].distance[1], 17);
	CHECK_INT(numa.node[0].distance[4], 31);
	CHECK_INT(numa.node[0].bytes, 2048 << 10);
	CHECK_INT(fb_numa_huge_pages(root, 2, (size_t)2 << 20), 7);
	CHECK_INT(fb_numa_huge_pages(root, 1, (size_t)2 << 20), 0);
	/* Who is bound is at home there; others are shared out, neighbours together. */
	for (int i = 0; i < 4; i++)
		CHECK_INT(fb_numa_home(&numa, &some, i, 4), 1);
	CHECK_INT(fb_numa_home(&numa, &all, 0, 6), 0);
	CHECK_INT(fb_numa_home(&numa, &all, 1, 6), 0);
	CHECK_INT(fb_numa_home(&numa, &all, 2, 6), 1);
	CHECK_INT(fb_numa_home(&numa, &all, 5, 6), 4);
	CHECK_INT(fb_numa_home(&numa, &all, 0, 1), 0);
	CHECK_INT(fb_numa_home(&numa, &other, 0, 1), -1);
	CHECK_INT(fb_numa_far(&numa, 0), 4);
	CHECK_INT(fb_numa_far(&numa, 1), 2);
	CHECK_INT(fb_numa_far(&numa, -1), -1);
	snprintf(path, sizeof(path), "%s/nothing", root);
	fb_numa_read(&numa, path);
	CHECK_INT(numa.count, 0);
	CHECK_INT(fb_numa_home(&numa, &all, 0, 1), -1);
	CHECK_INT(fb_numa_far(&numa, 0), -1);
}

/* Pages of this process, bound to each node there is and asked about. */
static void test_here(void)
{
	static struct fb_numa numa;
	size_t bytes = 1 << 20;
	int err = 0, tried = 0;

	fb_numa_read(&numa, "");
	for (int node = 0; node < FB_NUMA_NODES && !err; node++) {
		char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);

		if (!numa.node[node].memory || !CHECK(at != MAP_FAILED))
			continue;
		err = fb_numa_bind(at, bytes, node);
		if (!err) {
			memset(at, 1, bytes);
			CHECK_INT(fb_numa_pages(at, bytes), 1LL << node);
			tried++;
		}
		munmap(at, bytes);
	}
	printf("%d nodes tried%s%s\n", tried, err ? ": " : "", err ? strerror(err) : "");
	/* Containers forbid it; then nothing may pretend that it worked. */
	CHECK(tried > 0 || err || !numa.count);
	CHECK(fb_numa_bind(&numa, 4096, 0) != 0);
	CHECK(fb_cpus_get(&numa.node[0].cpus) == 0 && fb_cpus_count(&numa.node[0].cpus) > 0);
}

static void test_texts(void)
{
	const struct fb_placed same[] = {{1, 2}, {1, 2}}, ends[] = {{1, 2}, {2, 1}};
	const struct fb_placed many[] = {{1, 2}, {2, 1}, {1, 0}}, unknown[] = {{0, 0}};
	char text[FB_PLACED_CHARS];

	CHECK_STR(fb_placed_text(same, 2, text), "threads on 0, pages on 1");
	CHECK_STR(fb_placed_text(ends, 2, text), "threads on 0>1, pages on 1>0");
	CHECK_STR(fb_placed_text(many, 3, text), "threads on 0+1, pages on 0+1");
	CHECK_STR(fb_placed_text(unknown, 1, text), "threads on ?, pages on ?");
}

static void test_list(void)
{
	static const char *const good[] = {"any", "local,remote", "0", "0:1,63:0", "all", "any,7"};
	static const char *const bad[] = {"",	 "near", "0:",	"64", "1:64", "0:1:2", "-1",
					  ":1", "0,",	"+1", "0x1"};
	char accepted[160];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!CHECK(!fb_places_check(good[i], accepted, sizeof(accepted))))
			printf("\t%s\n", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!CHECK(fb_places_check(bad[i], accepted, sizeof(accepted))))
			printf("\t%s\n", bad[i]);
}

static void test_pages(const char *root)
{
	static const char maps[] =
		"1000-3000 rw-s 00000000 00:01 5 /memfd:x (deleted)\n"
		"Size: 8 kB\nKernelPageSize: 4 kB\nRss: 8 kB\nShmemPmdMapped: 0 kB\n"
		"VmFlags: rd wr\n"
		"200000-a00000 rw-s 00000000 00:01 5 /memfd:y (deleted)\n"
		"KernelPageSize: 4 kB\nRss: 4096 kB\nShmemPmdMapped: 2048 kB\n"
		"40000000-80000000 rw-s 00000000 00:0f 6 /anon_hugepage (deleted)\n"
		"KernelPageSize: 1048576 kB\nRss: 0 kB\n";
	char path[EXAMPLE_PATH_CHARS], text[FB_PAGES_CHARS], free_pages[EXAMPLE_PATH_CHARS];

	snprintf(path, sizeof(path), "%s/smaps", root);
	example_write(path, maps);
	CHECK_STR(fb_pages_text(path, (const void *)0x1800, text), "4K pages");
	CHECK_STR(fb_pages_text(path, (const void *)0x3000, text), "");
	CHECK_STR(fb_pages_text(path, (const void *)0x9fffff, text), "THP 50%");
	CHECK_STR(fb_pages_text(path, (const void *)0x40000000, text), "1G pages");
	CHECK_STR(fb_pages_text("/nowhere/smaps", (const void *)0x1800, text), "");
	CHECK(*fb_pages_text("/proc/self/smaps", text, text));
	snprintf(free_pages, sizeof(free_pages), "%s/sys/kernel/mm/hugepages/hugepages-1048576kB",
		 root);
	CHECK_INT(fb_make_folder(free_pages, NULL), FB_OK);
	snprintf(free_pages, sizeof(free_pages),
		 "%s/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", root);
	example_write(free_pages, "3\n");
	CHECK_INT(fb_pages_free(root, FB_PAGES_HUGETLB_1G), 3LL << 30);
	CHECK_INT(fb_pages_free("/nowhere", FB_PAGES_HUGETLB_1G), 0);
}

/* Pages of a file: zeroed, all there, and of a file that no longer has a name. */
static void test_file_pages(void)
{
	enum { BYTES = 5000 };
	struct fb_private p;
	char text[FB_PAGES_CHARS];
	bool zero = true;

	if (!CHECK_INT(fb_private_get(&p, FB_PAGES_FILE, BYTES, -1), FB_OK))
		return;
	for (size_t i = 0; i < BYTES; i++)
		zero &= !p.memory[i];
	CHECK(zero);
	CHECK_STR(fb_pages_text("/proc/self/smaps", p.memory, text), "4K pages");
	CHECK_INT(msync(p.memory, BYTES, MS_SYNC), 0);
	fb_private_put(&p);
	CHECK(!p.memory && !p.mapping);
}

int main(void)
{
	char *root = example_folder();

	if (!root) {
		printf("SKIP numa: no folder for temporary files\n");
		return CHECK_SKIP;
	}
	test_machine(root);
	test_pages(root);
	test_file_pages();
	example_remove(root);
	test_here();
	test_texts();
	test_list();
	return check_done("numa");
}
