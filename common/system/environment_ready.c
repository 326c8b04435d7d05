/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about readiness for communication, for the tool doctor; see environment.h. */
#include "common/system/environment_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { PATH_CHARS = 512, KEY_CHARS = 128, GIDS = 256 };

/* What has to be loaded for RDMA, and for RDMA and storage that reach GPU memory. */
static const char *const modules[] = {
	"ib_uverbs", "mlx5_ib", "rdma_rxe", "nvidia",
	"nvidia_peermem", "nv_peer_mem", "nvidia_fs", "gdrdrv"};

static void add_modules(struct fb_facts *facts, const char *root)
{
	char path[PATH_CHARS], key[KEY_CHARS];

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
		snprintf(path, sizeof(path), "/sys/module/%s", modules[i]);
		if (!fb_path_exists(root, path))
			continue;
		snprintf(key, sizeof(key), "module.%s", modules[i]);
		fb_facts_add(facts, key, "loaded");
	}
	/* Drivers of the vendor's own package have a version, those of the kernel have none. */
	fb_facts_add_file(facts, "module.mlx5_core.version", root,
			  "/sys/module/mlx5_core/version");
}

/* Kinds of the GIDs in use: "RoCE v2 2, IB/RoCE v1 2". path: ".../DEVICE/ports", name: a number. */
static void add_gids(struct fb_facts *facts, const char *root, const char *path, const char *name)
{
	static const char none[] = "0000:0000:0000:0000:0000:0000:0000:0000";
	char file[PATH_CHARS], key[KEY_CHARS], text[FB_LINE_CHARS];
	const char *device = path + strlen("/sys/class/infiniband/");
	int second = 0, first = 0;

	for (int i = 0; i < GIDS; i++) {
		snprintf(file, sizeof(file), "%s/%s/gids/%d", path, name, i);
		if (!fb_read_line(root, file, text, sizeof(text)))
			break;
		if (!strcmp(text, none))
			continue;
		snprintf(file, sizeof(file), "%s/%s/gid_attrs/types/%d", path, name, i);
		if (!fb_read_line(root, file, text, sizeof(text)))
			continue;
		second += !strcmp(text, "RoCE v2");
		first += strcmp(text, "RoCE v2") != 0;
	}
	snprintf(key, sizeof(key), "infiniband.%.*s.port%s.gids", (int)strcspn(device, "/"),
		 device, name);
	fb_facts_add(facts, key, "RoCE v2 %d, others %d", second, first);
}

static void add_adapter(struct fb_facts *facts, const char *root, const char *path,
			const char *name)
{
	char folder[PATH_CHARS];

	snprintf(folder, sizeof(folder), "%s/%s/ports", path, name);
	fb_visit_folder(facts, root, folder, add_gids);
}

/* How wide a device's PCIe link is, and how wide it could be. */
static void add_width(struct fb_facts *facts, const char *root, const char *prefix,
		      const char *device)
{
	char path[PATH_CHARS], key[KEY_CHARS], now[FB_LINE_CHARS], most[FB_LINE_CHARS];

	snprintf(path, sizeof(path), "%s/current_link_width", device);
	if (!fb_read_line(root, path, now, sizeof(now)))
		return;
	snprintf(path, sizeof(path), "%s/max_link_width", device);
	if (!fb_read_line(root, path, most, sizeof(most)))
		return;
	snprintf(key, sizeof(key), "%s.pci_lanes", prefix);
	fb_facts_add(facts, key, "%.8s of %.8s", now, most);
}

static void add_adapter_width(struct fb_facts *facts, const char *root, const char *path,
			      const char *name)
{
	char device[PATH_CHARS], prefix[KEY_CHARS / 2];

	snprintf(device, sizeof(device), "%s/%s/device", path, name);
	snprintf(prefix, sizeof(prefix), "infiniband.%.40s", name);
	add_width(facts, root, prefix, device);
}

static void add_gpu(struct fb_facts *facts, const char *root, const char *path, const char *name)
{
	char device[PATH_CHARS], key[KEY_CHARS], prefix[KEY_CHARS / 2];

	(void)path;
	snprintf(device, sizeof(device), "/sys/bus/pci/devices/%.32s", name);
	snprintf(prefix, sizeof(prefix), "gpu.%.32s", name);
	add_width(facts, root, prefix, device);
	snprintf(key, sizeof(key), "%s.numa_node", prefix);
	fb_facts_add_file(facts, key, root, "%s/numa_node", device);
}

void fb_environment_ready(struct fb_facts *facts, const char *root)
{
	struct rlimit files;

	fb_facts_add_file(facts, "network.port_range", root,
			  "/proc/sys/net/ipv4/ip_local_port_range");
	add_modules(facts, root);
	if (fb_path_exists(root, "/dev/infiniband"))
		fb_facts_add(facts, "device.infiniband", "there");
	else if (fb_path_exists(root, "/sys/class/infiniband"))
		fb_facts_add(facts, "device.infiniband", "missing");
	fb_visit_folder(facts, root, "/sys/class/infiniband", add_adapter);
	fb_visit_folder(facts, root, "/sys/class/infiniband", add_adapter_width);
	fb_visit_folder(facts, root, "/proc/driver/nvidia/gpus", add_gpu);
	if (!getrlimit(RLIMIT_NOFILE, &files))
		fb_facts_add(facts, "limit.open_files", "%llu",
			     (unsigned long long)files.rlim_cur);
}
