/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts a device's interrupts that go to the device's NUMA node; see environment_file.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/system/environment_file.h"
#include "common/system/numa.h"

/* fb_visit_folder has no argument for more. */
struct count {
	struct fb_facts facts; /* not used */
	struct fb_cpus near;
	int all, at_home;
};

static void count_one(struct fb_facts *facts, const char *root, const char *path, const char *name)
{
	static const char *const files[] = {"effective_affinity_list", "smp_affinity_list"};
	struct count *count = (struct count *)facts;
	char file[128], text[FB_LINE_CHARS];
	struct fb_cpus to;
	bool known = false;

	(void)path;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !known; i++) {
		snprintf(file, sizeof(file), "/proc/irq/%.16s/%s", name, files[i]);
		known = fb_read_line(root, file, text, sizeof(text));
	}
	if (!known)
		return;
	count->all++;
	fb_cpus_parse(text, &to);
	for (size_t i = 0; i < FB_NUMA_WORDS; i++)
		if (to.word[i] & ~count->near.word[i])
			return;
	count->at_home++;
}

void fb_facts_add_interrupts(struct fb_facts *facts, const char *prefix, const char *root,
			     const char *device)
{
	char path[512], key[128], text[FB_LINE_CHARS];
	struct count count = {.all = 0};

	snprintf(path, sizeof(path), "%s/numa_node", device);
	if (!fb_read_line(root, path, text, sizeof(text)) || *text == '-')
		return;
	snprintf(path, sizeof(path), "/sys/devices/system/node/node%.8s/cpulist", text);
	if (!fb_read_line(root, path, text, sizeof(text)))
		return;
	fb_cpus_parse(text, &count.near);
	snprintf(path, sizeof(path), "%s/msi_irqs", device);
	fb_visit_folder(&count.facts, root, path, count_one);
	snprintf(key, sizeof(key), "%s.interrupts_near", prefix);
	if (count.all)
		fb_facts_add(facts, key, "%d of %d", count.at_home, count.all);
}
