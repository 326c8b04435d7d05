/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about readiness for communication, for the tool doctor; see environment.h. */
#include "common/system/environment_file.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { PATH_CHARS = 512, KEY_CHARS = 128 };

/* Modules that RDMA needs, and that RDMA and storage need to reach GPU memory. */
static const char *const modules[] = {
	"ib_uverbs", "mlx5_ib", "rdma_rxe", "nvidia",
	"nvidia_peermem", "nv_peer_mem", "nvidia_fs", "gdrdrv"};

/* mlx_compat comes with the vendor's package only; kernels may give their drivers a version too. */
static void add_origin(struct fb_facts *facts, const char *root)
{
	char version[FB_LINE_CHARS] = "";
	bool package = fb_path_exists(root, "/sys/module/mlx_compat");

	if (!fb_path_exists(root, "/sys/module/mlx5_core"))
		return;
	fb_read_line(root, "/sys/module/mlx5_core/version", version, sizeof(version));
	fb_facts_add(facts, "module.mlx5_core.origin", "%s %.64s",
		     package ? "the vendor's package" : "the kernel", version);
}

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
	add_origin(facts, root);
}

/* Services of which libraries need one on the node: names of processes. */
static const char *const daemons[] = {"nv-fabricmanager", "nvidia-imex", "opensm", "sharp_am",
				      "sharpd"};

static void add_daemon(struct fb_facts *facts, const char *root, const char *path, const char *name)
{
	char file[PATH_CHARS], key[KEY_CHARS], text[FB_LINE_CHARS];

	if (!isdigit((unsigned char)*name))
		return;
	snprintf(file, sizeof(file), "%s/%.16s/comm", path, name);
	if (!fb_read_line(root, file, text, sizeof(text)))
		return;
	/* The kernel keeps 15 characters of a name. */
	for (size_t i = 0; i < sizeof(daemons) / sizeof(daemons[0]); i++) {
		if (strncmp(text, daemons[i], 15))
			continue;
		snprintf(key, sizeof(key), "daemon.%s", daemons[i]);
		fb_facts_add(facts, key, "running");
	}
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

/* Through which bridges it is reached: "pci0000:00/0000:00:01.0/0000:01:00.0". */
static void add_path(struct fb_facts *facts, const char *root, const char *prefix,
		     const char *device)
{
	static const char devices[] = "/devices/pci";
	char full[PATH_MAX], real[PATH_MAX], key[KEY_CHARS];
	const char *at;

	if (snprintf(full, sizeof(full), "%s%s", root, device) >= (int)sizeof(full) ||
	    !realpath(full, real))
		return;
	at = strstr(real, devices);
	snprintf(key, sizeof(key), "%s.pci_path", prefix);
	if (at)
		fb_facts_add(facts, key, "%s", at + strlen("/devices/"));
}

static void add_adapter_width(struct fb_facts *facts, const char *root, const char *path,
			      const char *name)
{
	char device[PATH_CHARS], prefix[KEY_CHARS / 2];

	snprintf(device, sizeof(device), "%s/%s/device", path, name);
	snprintf(prefix, sizeof(prefix), "infiniband.%.40s", name);
	add_width(facts, root, prefix, device);
	add_path(facts, root, prefix, device);
}

static void add_gpu(struct fb_facts *facts, const char *root, const char *path, const char *name)
{
	static const struct {
		const char *key, *tag;
	} firmware[] = {{"vbios", "Video BIOS"}, {"firmware", "GPU Firmware"}};
	char device[PATH_CHARS], key[KEY_CHARS], prefix[KEY_CHARS / 2], text[FB_LINE_CHARS];

	snprintf(prefix, sizeof(prefix), "gpu.%.32s", name);
	snprintf(device, sizeof(device), "%s/%.32s/information", path, name);
	for (size_t i = 0; i < sizeof(firmware) / sizeof(firmware[0]); i++) {
		if (!fb_read_tagged(root, device, firmware[i].tag, text, sizeof(text)))
			continue;
		snprintf(key, sizeof(key), "%s.%s", prefix, firmware[i].key);
		fb_facts_add(facts, key, "%s", text);
	}
	snprintf(device, sizeof(device), "/sys/bus/pci/devices/%.32s", name);
	add_width(facts, root, prefix, device);
	add_path(facts, root, prefix, device);
	snprintf(key, sizeof(key), "%s.numa_node", prefix);
	fb_facts_add_file(facts, key, root, "%s/numa_node", device);
	/* Not the current one: the link of a GPU that does nothing is slow. */
	snprintf(key, sizeof(key), "%s.pci_speed", prefix);
	fb_facts_add_file(facts, key, root, "%s/max_link_speed", device);
}

/* ConnectX-8: a separate PCIe function, by which it reads GPU memory without the processor. */
static void add_direct(struct fb_facts *facts, const char *root, const char *path,
		       const char *name)
{
	static const char key[] = "device.data_direct";
	char folder[PATH_CHARS], vendor[FB_LINE_CHARS], device[FB_LINE_CHARS];
	const char *others;

	snprintf(folder, sizeof(folder), "%s/%.32s/vendor", path, name);
	if (!fb_read_line(root, folder, vendor, sizeof(vendor)) || strcmp(vendor, "0x15b3"))
		return;
	snprintf(folder, sizeof(folder), "%s/%.32s/device", path, name);
	if (!fb_read_line(root, folder, device, sizeof(device)) || strcmp(device, "0x2100"))
		return;
	others = fb_facts_get(facts, key);
	fb_facts_add(facts, key, "%s%s%s", others ? others : "", others ? " " : "", name);
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
	if (fb_path_exists(root, "/dev/nvidia-nvswitchctl"))
		fb_facts_add(facts, "device.nvswitch", "there");
	fb_visit_folder(facts, root, "/sys/class/infiniband", add_adapter_width);
	fb_visit_folder(facts, root, "/sys/bus/pci/devices", add_direct);
	fb_visit_folder(facts, root, "/proc/driver/nvidia/gpus", add_gpu);
	fb_visit_folder(facts, root, "/proc", add_daemon);
	if (!getrlimit(RLIMIT_NOFILE, &files))
		fb_facts_add(facts, "limit.open_files", "%llu",
			     (unsigned long long)files.rlim_cur);
}
