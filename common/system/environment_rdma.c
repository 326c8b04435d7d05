/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts about how RDMA devices are set up: GIDs, subnets, traffic classes, virtual functions, who
 * may open them, and where their interrupts go; see environment.h.
 */
#include "common/system/environment_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_CHARS = 512, KEY_CHARS = 160, GIDS = 256, PREFIX_CHARS = 19 };

static const char class[] = "/sys/class/infiniband/";

static bool read_gid(const char *root, const char *port, int i, char text[FB_LINE_CHARS])
{
	char file[PATH_CHARS];

	snprintf(file, sizeof(file), "%.400s/gids/%d", port, i);
	return fb_read_line(root, file, text, FB_LINE_CHARS);
}

/* One GID: counts its kind, adds its interface to the others. False behind the last one. */
static bool add_gid(const char *root, const char *port, int i, int kinds[2], char *interfaces,
		    size_t n)
{
	static const char none[] = "0000:0000:0000:0000:0000:0000:0000:0000";
	char file[PATH_CHARS], text[FB_LINE_CHARS];
	size_t used = strlen(interfaces);

	if (!read_gid(root, port, i, text))
		return false;
	if (!strcmp(text, none))
		return true;
	snprintf(file, sizeof(file), "%.400s/gid_attrs/types/%d", port, i);
	if (!fb_read_line(root, file, text, sizeof(text)))
		return true;
	kinds[!strcmp(text, "RoCE v2")]++;
	snprintf(file, sizeof(file), "%.400s/gid_attrs/ndevs/%d", port, i);
	if (fb_read_line(root, file, text, 32) && !strstr(interfaces, text) &&
	    used + strlen(text) + 2 < n)
		snprintf(interfaces + used, n - used, "%s%.31s", used ? " " : "", text);
	return true;
}

/*
 * Kinds of the GIDs in use ("RoCE v2 2, others 2"), their interfaces, and by what others know the
 * port. path: ".../DEVICE/ports", name: a number.
 */
static void add_port(struct fb_facts *facts, const char *root, const char *path, const char *name)
{
	static const struct {
		const char *key, *file;
	} files[] = {{"lid", "lid"}, {"sm_lid", "sm_lid"}, {"pkey", "pkeys/0"}};
	char port[PATH_CHARS], key[KEY_CHARS], text[FB_LINE_CHARS], interfaces[128] = "";
	char prefix[KEY_CHARS / 2];
	const char *device = path + strlen(class);
	int kinds[2] = {0}, length = (int)strcspn(device, "/");

	snprintf(port, sizeof(port), "%s/%.8s", path, name);
	snprintf(prefix, sizeof(prefix), "infiniband.%.*s.port%.8s", length, device, name);
	for (int i = 0; i < GIDS && add_gid(root, port, i, kinds, interfaces, sizeof(interfaces));)
		i++;
	snprintf(key, sizeof(key), "%s.gids", prefix);
	fb_facts_add(facts, key, "RoCE v2 %d, others %d", kinds[1], kinds[0]);
	snprintf(key, sizeof(key), "%s.interfaces", prefix);
	fb_facts_add(facts, key, "%s", interfaces);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(key, sizeof(key), "%s.%s", prefix, files[i].key);
		fb_facts_add_file(facts, key, root, "%s/%s", port, files[i].file);
	}
	if (read_gid(root, port, 0, text) && strlen(text) > PREFIX_CHARS) {
		snprintf(key, sizeof(key), "%s.subnet_prefix", prefix);
		fb_facts_add(facts, key, "%.*s", PREFIX_CHARS, text);
	}
	snprintf(key, sizeof(key), "%s.traffic_class", prefix);
	fb_facts_add_file(facts, key, root, "%s%.*s/tc/%s/traffic_class", class, length, device,
			  name);
	snprintf(key, sizeof(key), "%s.cm_type_of_service", prefix);
	fb_facts_add_file(facts, key, root, "/sys/kernel/config/rdma_cm/%.*s/ports/%s/"
			  "default_roce_tos", length, device, name);
}

/* A group of devices or a container's rights show themselves only when the file is opened. */
static void add_device_file(struct fb_facts *facts, const char *root, const char *path,
			    const char *name)
{
	const char *device = path + strlen(class);
	char full[PATH_MAX], key[KEY_CHARS];
	int fd;

	snprintf(key, sizeof(key), "infiniband.%.*s.device_file", (int)strcspn(device, "/"),
		 device);
	if (snprintf(full, sizeof(full), "%s/dev/infiniband/%s", root, name) >= (int)sizeof(full))
		return;
	fd = open(full, O_RDWR | O_CLOEXEC);
	fb_facts_add(facts, key, "%s: %s", name, fd < 0 ? strerror(errno) : "opens");
	if (fd >= 0)
		close(fd);
}

static void add_function(struct fb_facts *facts, const char *root, const char *prefix,
			 const char *device)
{
	char path[PATH_CHARS], key[KEY_CHARS], text[FB_LINE_CHARS];

	snprintf(key, sizeof(key), "%s.function", prefix);
	snprintf(path, sizeof(path), "%.400s/physfn", device);
	if (fb_path_exists(root, path)) {
		fb_facts_add(facts, key, "virtual");
		return;
	}
	snprintf(path, sizeof(path), "%.400s/sriov_numvfs", device);
	if (fb_read_line(root, path, text, sizeof(text)))
		fb_facts_add(facts, key, "physical, with %.8s virtual ones", text);
}

static void add_adapter(struct fb_facts *facts, const char *root, const char *path,
			const char *name)
{
	char folder[PATH_CHARS], prefix[KEY_CHARS / 2];

	snprintf(prefix, sizeof(prefix), "infiniband.%.40s", name);
	snprintf(folder, sizeof(folder), "%s/%.40s/ports", path, name);
	fb_visit_folder(facts, root, folder, add_port);
	snprintf(folder, sizeof(folder), "%s/%.40s/device/infiniband_verbs", path, name);
	fb_visit_folder(facts, root, folder, add_device_file);
	snprintf(folder, sizeof(folder), "%s/%.40s/device", path, name);
	add_function(facts, root, prefix, folder);
	fb_facts_add_interrupts(facts, prefix, root, folder);
}

void fb_environment_rdma(struct fb_facts *facts, const char *root)
{
	char text[FB_LINE_CHARS];

	fb_visit_folder(facts, root, "/sys/class/infiniband", add_adapter);
	if (fb_read_line(root, "/sys/module/ib_core/parameters/netns_mode", text, sizeof(text)))
		fb_facts_add(facts, "device.infiniband_namespaces", "%s",
			     *text == 'Y' || *text == '1' ? "shared" : "exclusive");
}
