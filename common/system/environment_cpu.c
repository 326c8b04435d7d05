/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about processors, their clocks, and where this rank may run; see environment.h. */
#include "common/system/environment_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first of these that /proc/cpuinfo has names the model, whatever the architecture. */
static const char *const model_tags[] = {"model name", "Model", "cpu", "CPU part"};

static void add_model(struct fb_facts *facts, const char *root)
{
	char text[FB_LINE_CHARS];

	for (size_t i = 0; i < sizeof(model_tags) / sizeof(model_tags[0]); i++)
		if (fb_read_tagged(root, "/proc/cpuinfo", model_tags[i], text, sizeof(text))) {
			fb_facts_add(facts, "cpu.model", "%s", text);
			break;
		}
	if (fb_read_tagged(root, "/proc/cpuinfo", "microcode", text, sizeof(text)))
		fb_facts_add(facts, "cpu.microcode", "%s", text);
}

static void add_node(struct fb_facts *facts, const char *root, const char *path, const char *name)
{
	char key[64];

	if (strncmp(name, "node", 4) || strlen(name) > 16)
		return;
	snprintf(key, sizeof(key), "numa.%s.cpus", name);
	fb_facts_add_file(facts, key, root, "%s/%s/cpulist", path, name);
}

/* The frequency files are per processor: those of the first one that this rank may use. */
static void add_frequency(struct fb_facts *facts, const char *root, int cpu)
{
	static const struct {
		const char *key, *file;
	} files[] = {
		{"cpu.governor", "scaling_governor"},
		{"cpu.frequency_driver", "scaling_driver"},
		{"cpu.frequency_min_kHz", "scaling_min_freq"},
		{"cpu.frequency_max_kHz", "scaling_max_freq"},
		{"host.cpu_frequency_kHz", "scaling_cur_freq"},
	};
	char text[FB_LINE_CHARS];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		fb_facts_add_file(facts, files[i].key, root,
				  "/sys/devices/system/cpu/cpu%d/cpufreq/%s", cpu, files[i].file);
	if (!fb_facts_get(facts, "host.cpu_frequency_kHz") &&
	    fb_read_tagged(root, "/proc/cpuinfo", "cpu MHz", text, sizeof(text)))
		fb_facts_add(facts, "host.cpu_frequency_kHz", "%.0f", strtod(text, NULL) * 1000);
	fb_facts_add_file(facts, "cpu.boost", root, "/sys/devices/system/cpu/cpufreq/boost");
	fb_facts_add_file(facts, "cpu.no_turbo", root,
			  "/sys/devices/system/cpu/intel_pstate/no_turbo");
}

void fb_environment_cpu(struct fb_facts *facts, const char *root)
{
	char text[FB_LINE_CHARS];
	int first = 0;

	add_model(facts, root);
	fb_facts_add(facts, "cpu.count", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	fb_facts_add_file(facts, "cpu.online", root, "/sys/devices/system/cpu/online");
	fb_facts_add_file(facts, "cpu.isolated", root, "/sys/devices/system/cpu/isolated");
	fb_facts_add_file(facts, "cpu.smt", root, "/sys/devices/system/cpu/smt/control");
	fb_facts_add_file(facts, "cpu.cache_l3", root,
			  "/sys/devices/system/cpu/cpu0/cache/index3/size");
	/* The kernel's list, as sched_getaffinity(2) would give it, in readable form. */
	if (fb_read_tagged(root, "/proc/self/status", "Cpus_allowed_list", text, sizeof(text))) {
		fb_facts_add(facts, "bind.cpus", "%s", text);
		first = (int)strtol(text, NULL, 10);
	}
	if (fb_read_tagged(root, "/proc/self/status", "Mems_allowed_list", text, sizeof(text)))
		fb_facts_add(facts, "bind.numa_nodes", "%s", text);
	add_frequency(facts, root, first);
	fb_facts_add_file(facts, "numa.nodes", root, "/sys/devices/system/node/online");
	fb_facts_add_file(facts, "numa.balancing", root, "/proc/sys/kernel/numa_balancing");
	fb_visit_folder(facts, root, "/sys/devices/system/node", add_node);
}
