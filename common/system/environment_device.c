/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts of the kernel about network adapters and the GPU driver; see environment.h. */
#include "common/system/environment_file.h"

#include <stdio.h>
#include <string.h>

enum { KEY_CHARS = 320, SHORT_PATH_CHARS = 512 };

struct attribute {
	const char *key, *file;
};

/* Adds the listed files of path/name as prefix.name.key. */
static void add_attributes(struct fb_facts *facts, const char *root, const char *folder,
			   const char *prefix, const struct attribute *attributes, size_t count)
{
	char key[KEY_CHARS];

	for (size_t i = 0; i < count; i++) {
		snprintf(key, sizeof(key), "%s.%s", prefix, attributes[i].key);
		fb_facts_add_file(facts, key, root, "%s/%s", folder, attributes[i].file);
	}
}

/* path is ".../DEVICE/ports", name a port's number. */
static void add_port(struct fb_facts *facts, const char *root, const char *path, const char *name)
{
	static const struct attribute attributes[] = {
		{"rate", "rate"},
		{"state", "state"},
		{"physical_state", "phys_state"},
		{"link_layer", "link_layer"},
	};
	const char *end = strrchr(path, '/'), *start = end;
	char folder[SHORT_PATH_CHARS], prefix[KEY_CHARS / 2];

	while (start > path && start[-1] != '/')
		start--;
	snprintf(folder, sizeof(folder), "%s/%s", path, name);
	snprintf(prefix, sizeof(prefix), "infiniband.%.*s.port%s", (int)(end - start), start, name);
	add_attributes(facts, root, folder, prefix, attributes,
		       sizeof(attributes) / sizeof(attributes[0]));
}

static void add_adapter(struct fb_facts *facts, const char *root, const char *path,
			const char *name)
{
	static const struct attribute attributes[] = {
		{"firmware", "fw_ver"},
		{"board", "board_id"},
		{"type", "hca_type"},
		{"numa_node", "device/numa_node"},
		{"pci_speed", "device/current_link_speed"},
		{"pci_width", "device/current_link_width"},
	};
	char folder[SHORT_PATH_CHARS], prefix[KEY_CHARS / 2];

	snprintf(folder, sizeof(folder), "%s/%s", path, name);
	snprintf(prefix, sizeof(prefix), "infiniband.%.64s", name);
	add_attributes(facts, root, folder, prefix, attributes,
		       sizeof(attributes) / sizeof(attributes[0]));
	snprintf(folder, sizeof(folder), "%s/%s/ports", path, name);
	fb_visit_folder(facts, root, folder, add_port);
}

static void add_interface(struct fb_facts *facts, const char *root, const char *path,
			  const char *name)
{
	static const struct attribute attributes[] = {
		{"mtu", "mtu"},
		{"speed_Mbps", "speed"},
		{"state", "operstate"},
		{"numa_node", "device/numa_node"},
	};
	char folder[SHORT_PATH_CHARS], prefix[KEY_CHARS / 2];

	if (!strcmp(name, "lo"))
		return;
	snprintf(folder, sizeof(folder), "%s/%s", path, name);
	snprintf(prefix, sizeof(prefix), "network.%.64s", name);
	add_attributes(facts, root, folder, prefix, attributes,
		       sizeof(attributes) / sizeof(attributes[0]));
}

static void add_gpu(struct fb_facts *facts, const char *root, const char *path, const char *name)
{
	char file[SHORT_PATH_CHARS], key[KEY_CHARS], model[FB_LINE_CHARS];

	snprintf(file, sizeof(file), "%s/%s/information", path, name);
	if (!fb_read_tagged(root, file, "Model", model, sizeof(model)))
		return;
	snprintf(key, sizeof(key), "nvidia.gpu.%.64s", name);
	fb_facts_add(facts, key, "%s", model);
}

void fb_environment_device(struct fb_facts *facts, const char *root)
{
	fb_visit_folder(facts, root, "/sys/class/infiniband", add_adapter);
	fb_visit_folder(facts, root, "/sys/class/net", add_interface);
	fb_facts_add_file(facts, "nvidia.driver", root, "/proc/driver/nvidia/version");
	fb_visit_folder(facts, root, "/proc/driver/nvidia/gpus", add_gpu);
}
