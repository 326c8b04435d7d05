/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about the container and the control group around the process; see environment.h. */
#include "common/system/environment_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Traces that container engines leave, the surest first. `text` NULL: the file's presence. */
static const struct {
	const char *path, *text, *engine;
} traces[] = {
	{"/var/run/secrets/kubernetes.io", NULL, "kubernetes"},
	{"/.dockerenv", NULL, "docker"},
	{"/run/.containerenv", NULL, "podman"},
	{"/.singularity.d", NULL, "apptainer"},
	{"/run/systemd/container", "", "systemd"},
	{"/proc/1/cgroup", "kubepods", "kubernetes"},
	{"/proc/1/cgroup", "docker", "docker"},
	{"/proc/1/cgroup", "containerd", "containerd"},
	{"/proc/1/cgroup", "lxc", "lxc"},
	{"/proc/1/environ", "container=", "unknown engine"},
};

static const char *container(const char *root)
{
	char text[4096];

	for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
		if (!traces[i].text) {
			if (fb_path_exists(root, traces[i].path))
				return traces[i].engine;
		} else if (fb_read_text(root, traces[i].path, text, sizeof(text)) &&
			   strstr(text, traces[i].text)) {
			return traces[i].engine;
		}
	}
	return "none found";
}

/* Only who starts a container knows its image: FB_IMAGE, or what the engine leaves. */
static void add_image(struct fb_facts *facts, const char *root)
{
	static const char *const variables[] = {"FB_IMAGE", "SLURM_CONTAINER_IMAGE",
						"SLURM_CONTAINER", "APPTAINER_CONTAINER",
						"SINGULARITY_CONTAINER"};
	char text[FB_LINE_CHARS];

	if (fb_read_tagged(root, "/run/.containerenv", "image", text, sizeof(text)))
		fb_facts_add(facts, "container.image", "%s", text);
	for (size_t i = sizeof(variables) / sizeof(variables[0]); i-- > 0;) {
		const char *value = getenv(variables[i]);

		if (value && !fb_environment_secret(variables[i], value))
			fb_facts_add(facts, "container.image", "%s", value);
	}
}

/* The group's own folder in the unified hierarchy, or the hierarchy's root in a container. */
static void add_limit(struct fb_facts *facts, const char *root, const char *group, const char *file,
		      const char *key)
{
	fb_facts_add_file(facts, key, root, "/sys/fs/cgroup/%s", file);
	if (group[0])
		fb_facts_add_file(facts, key, root, "/sys/fs/cgroup%s/%s", group, file);
}

void fb_environment_container(struct fb_facts *facts, const char *root)
{
	char group[FB_LINE_CHARS] = "";

	fb_facts_add(facts, "container.engine", "%s", container(root));
	add_image(facts, root);
	if (!fb_read_tagged(root, "/proc/self/cgroup", "0:", group, sizeof(group)))
		group[0] = '\0';
	add_limit(facts, root, group, "cpu.max", "cgroup.cpu_max");
	add_limit(facts, root, group, "memory.max", "cgroup.memory_max");
	add_limit(facts, root, group, "cpuset.cpus.effective", "cgroup.cpus");
	fb_facts_add_file(facts, "cgroup.cpu_quota_us", root,
			  "/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
}
