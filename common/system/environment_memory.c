/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about memory: amounts, huge pages, shared memory, locking; see environment.h. */
#include "common/system/environment_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

/* The kernel puts its choice in brackets: "always [madvise] never". */
static void add_chosen(struct fb_facts *facts, const char *key, const char *root, const char *path)
{
	char text[FB_LINE_CHARS], *open, *close;

	if (!fb_read_line(root, path, text, sizeof(text)))
		return;
	open = strchr(text, '[');
	close = open ? strchr(open, ']') : NULL;
	if (close)
		fb_facts_add(facts, key, "%.*s", (int)(close - open - 1), open + 1);
}

static void add_shm(struct fb_facts *facts, const char *root)
{
	char path[PATH_MAX];
	struct statvfs vfs;

	if (snprintf(path, sizeof(path), "%s/dev/shm", root) >= (int)sizeof(path))
		return;
	if (statvfs(path, &vfs))
		return;
	fb_facts_add(facts, "memory.dev_shm_bytes", "%llu",
		     (unsigned long long)vfs.f_blocks * vfs.f_frsize);
	fb_facts_add(facts, "host.dev_shm_free_bytes", "%llu",
		     (unsigned long long)vfs.f_bavail * vfs.f_frsize);
}

static void add_lock_limit(struct fb_facts *facts)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY)
		fb_facts_add(facts, "memory.lock_limit_bytes", "unlimited");
	else
		fb_facts_add(facts, "memory.lock_limit_bytes", "%llu",
			     (unsigned long long)limit.rlim_cur);
}

void fb_environment_memory(struct fb_facts *facts, const char *root)
{
	static const struct {
		const char *key, *tag;
	} amounts[] = {
		{"memory.total", "MemTotal"},
		{"host.memory_available", "MemAvailable"},
		{"memory.huge_page_size", "Hugepagesize"},
		{"memory.huge_pages", "HugePages_Total"},
		{"host.huge_pages_free", "HugePages_Free"},
	};
	char text[FB_LINE_CHARS];

	for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++)
		if (fb_read_tagged(root, "/proc/meminfo", amounts[i].tag, text, sizeof(text)))
			fb_facts_add(facts, amounts[i].key, "%s", text);
	add_chosen(facts, "memory.thp", root, "/sys/kernel/mm/transparent_hugepage/enabled");
	add_chosen(facts, "memory.thp_shmem", root,
		   "/sys/kernel/mm/transparent_hugepage/shmem_enabled");
	add_chosen(facts, "memory.thp_defrag", root, "/sys/kernel/mm/transparent_hugepage/defrag");
	add_shm(facts, root);
	add_lock_limit(facts);
}
