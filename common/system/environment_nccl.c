/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts about the variables that NCCL takes from files, and its topology file; see environment.h.
 *
 * As NCCL does: the environment goes before the user's file ($NCCL_CONF_FILE, else ~/.nccl.conf),
 * and that before /etc/nccl.conf. NCCL puts them into the environment of the process itself, so a
 * rank that has used NCCL has them as variables.
 */
#include "common/system/environment_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_CHARS = 128 };

static void add_line(struct fb_facts *facts, const char *line)
{
	const char *equals = strchr(line, '=');
	char name[NAME_CHARS], key[NAME_CHARS + 16];

	if (*line == '#' || !equals || (size_t)(equals - line) >= sizeof(name))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)(equals - line), line);
	snprintf(key, sizeof(key), "nccl.conf.%s", name);
	if (!fb_environment_listed(name) || getenv(name) || fb_facts_get(facts, key))
		return;
	fb_facts_add(facts, key, "%s",
		     fb_environment_secret(name, equals + 1) ? "(withheld)" : equals + 1);
}

/* Which of the files is there; where it lies is its user's business. */
static void add_file(struct fb_facts *facts, const char *root, const char *path, const char *name)
{
	const char *others = fb_facts_get(facts, "nccl.conf_files");
	char full[PATH_MAX], *line = NULL;
	size_t capacity = 0;
	FILE *file;

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
		return;
	file = fopen(full, "re");
	if (!file)
		return;
	fb_facts_add(facts, "nccl.conf_files", "%s%s%s", others ? others : "", others ? ", " : "",
		     name);
	while (getline(&line, &capacity, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		add_line(facts, line);
	}
	free(line);
	fclose(file);
}

/* What NCCL reads in place of what it finds of PCIe; without a variable, what hypervisors give. */
static void add_topology(struct fb_facts *facts, const char *root)
{
	static const char usual[] = "/var/run/nvidia-topologyd/virtualTopology.xml";
	const char *set = getenv("NCCL_TOPO_FILE");
	const char *named = set ? set : fb_facts_get(facts, "nccl.conf.NCCL_TOPO_FILE");
	bool is_named = named && *named;
	struct stat file;
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s%s", root, is_named ? named : usual) >=
	    (int)sizeof(path))
		return;
	if (access(path, R_OK) == 0 && stat(path, &file) == 0)
		fb_facts_add(facts, "nccl.topology_file", "%s: %lld bytes",
			     is_named ? "NCCL_TOPO_FILE" : usual, (long long)file.st_size);
	else if (is_named)
		fb_facts_add(facts, "nccl.topology_file", "NCCL_TOPO_FILE: %s", strerror(errno));
}

void fb_environment_nccl(struct fb_facts *facts, const char *root)
{
	const char *named = getenv("NCCL_CONF_FILE"), *home = getenv("HOME");
	char path[PATH_MAX];

	if (named && *named)
		add_file(facts, root, named, "NCCL_CONF_FILE");
	else if (home && snprintf(path, sizeof(path), "%s/.nccl.conf", home) < (int)sizeof(path))
		add_file(facts, root, path, "~/.nccl.conf");
	add_file(facts, root, "/etc/nccl.conf", "/etc/nccl.conf");
	add_topology(facts, root);
}
