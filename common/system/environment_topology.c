/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about how near GPUs are to each other and to RDMA devices, by PCI; see environment.h. */
#include "common/system/environment_file.h"
#include "common/system/pci.h"

#include <stdio.h>
#include <string.h>

enum { LINK_CHARS = 128, KEY_CHARS = 64 };

/* Here a list of devices: key: name, value: the link to its folder. */
static void list_gpu(struct fb_facts *devices, const char *root, const char *path, const char *name)
{
	(void)root;
	(void)path;
	fb_facts_add(devices, name, "/sys/bus/pci/devices/%.32s", name);
}

static void list_adapter(struct fb_facts *devices, const char *root, const char *path,
			 const char *name)
{
	(void)root;
	fb_facts_add(devices, name, "%s/%.64s/device", path, name);
}

void fb_environment_topology(struct fb_facts *facts, const char *root)
{
	struct fb_facts devices = {.item = NULL};
	char key[KEY_CHARS], text[FB_LINE_CHARS];
	size_t gpus;

	fb_visit_folder(&devices, root, "/proc/driver/nvidia/gpus", list_gpu);
	gpus = devices.count;
	if (gpus)
		fb_visit_folder(&devices, root, "/sys/class/infiniband", list_adapter);
	for (size_t i = 0; i < gpus; i++) {
		size_t used = 0;

		text[0] = '\0';
		for (size_t j = 0; j < devices.count && used < sizeof(text); j++) {
			const char *level = i == j ? NULL
						   : fb_pci_level(root, devices.item[i].value,
								  devices.item[j].value);

			if (level)
				used += (size_t)snprintf(text + used, sizeof(text) - used,
							 "%s%s %s", used ? ", " : "",
							 devices.item[j].key, level);
		}
		snprintf(key, sizeof(key), "gpu.%.32s.pci_to", devices.item[i].key);
		fb_facts_add(facts, key, "%s", text);
	}
	facts->failed |= devices.failed;
	fb_facts_free(&devices);
}
