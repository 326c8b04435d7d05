/* SPDX-License-Identifier: BSD-3-Clause */
/* How near PCI devices are, by a made-up /sys in which devices are links, as in the real one. */
#include "common/base/append.h"
#include "common/base/error.h"
#include "common/system/environment.h"
#include "tests/unit/check.h"
#include "tests/unit/csv_example.h"

#include <unistd.h>

/* Where they are, the link to that, and the NUMA node. a to f: ports of switches. */
static const struct {
	const char *folder, *link, *node;
} devices[] = {
	{"/sys/devices/pci0000:00/0000:00:01.0/a/b/0000:01:00.0",
	 "/sys/bus/pci/devices/0000:01:00.0", "0\n"},
	{"/sys/devices/pci0000:00/0000:00:01.0/c/d/e/0000:02:00.0",
	 "/sys/bus/pci/devices/0000:02:00.0", "0\n"},
	{"/sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0",
	 "/sys/bus/pci/devices/0000:81:00.0", "1\n"},
	{"/sys/devices/pci0000:80/0000:80:02.0/0000:82:00.0",
	 "/sys/bus/pci/devices/0000:82:00.0", "1\n"},
	{"/sys/devices/pci0000:00/0000:00:01.0/a/f/0000:03:00.0",
	 "/sys/class/infiniband/mlx5_0/device", "0\n"},
	{"/sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0",
	 "/sys/class/infiniband/mlx5_1/device", "0\n"},
	{"/sys/devices/virtual/x", "/sys/class/infiniband/rxe0/device", "-1\n"},
};

static const char *const gpus[] = {"0000:01:00.0", "0000:02:00.0", "0000:81:00.0", "0000:82:00.0"};

static const struct {
	const char *key, *value;
} wanted[] = {
	{"gpu.0000:01:00.0.pci_to", "0000:02:00.0 PXB, 0000:81:00.0 SYS, 0000:82:00.0 SYS, "
				    "mlx5_0 PIX, mlx5_1 NODE"},
	{"gpu.0000:02:00.0.pci_to", "0000:01:00.0 PXB, 0000:81:00.0 SYS, 0000:82:00.0 SYS, "
				    "mlx5_0 PXB, mlx5_1 NODE"},
	{"gpu.0000:81:00.0.pci_to", "0000:01:00.0 SYS, 0000:02:00.0 SYS, 0000:82:00.0 PHB, "
				    "mlx5_0 SYS, mlx5_1 SYS"},
};

static void make_devices(const char *root)
{
	char path[1024], target[512];

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		snprintf(target, sizeof(target), "%s%s", root, devices[i].folder);
		CHECK_INT(fb_make_folder(target, NULL), FB_OK);
		snprintf(path, sizeof(path), "%s/numa_node", target);
		example_write(path, devices[i].node);
		snprintf(path, sizeof(path), "%s%s", root, devices[i].link);
		*strrchr(path, '/') = '\0';
		CHECK_INT(fb_make_folder(path, NULL), FB_OK);
		snprintf(path, sizeof(path), "%s%s", root, devices[i].link);
		CHECK_INT(symlink(target, path), 0);
	}
}

static void test_levels(const char *root)
{
	struct fb_facts facts = {.item = NULL};
	char path[512];

	fb_environment_topology(&facts, root);
	CHECK_INT(facts.count, 0);
	make_devices(root);
	for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
		snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/%s", root, gpus[i]);
		CHECK_INT(fb_make_folder(path, NULL), FB_OK);
	}
	fb_environment_topology(&facts, root);
	CHECK(!facts.failed);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		CHECK_STR(fb_facts_get(&facts, wanted[i].key), wanted[i].value);
	fb_facts_free(&facts);
}

int main(void)
{
	char *root = example_folder();

	if (!root) {
		printf("SKIP topology: no folder for temporary files\n");
		return CHECK_SKIP;
	}
	test_levels(root);
	example_remove(root);
	return check_done("topology");
}
