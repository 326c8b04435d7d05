/* SPDX-License-Identifier: BSD-3-Clause */
/* RDMA ports as /sys shows them; see rdma_ports.h. */
#include "common/system/rdma_ports.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <unistd.h>

#if defined(__has_include) && !defined(FB_WITHOUT_VERBS)
#if __has_include(<infiniband/verbs.h>)
#define BUILT_WITH_VERBS 1
#endif
#endif
#ifndef BUILT_WITH_VERBS
#define BUILT_WITH_VERBS 0
#endif

/* "4: ACTIVE" */
static bool is_active(const char *path)
{
	FILE *file = fopen(path, "re");
	int state = 0;

	if (!file)
		return false;
	if (fscanf(file, "%d", &state) != 1)
		state = 0;
	fclose(file);
	return state == 4;
}

static bool port_active(void)
{
	glob_t found = {.gl_pathc = 0};
	bool active = false;

	if (!glob("/sys/class/infiniband/*/ports/*/state", GLOB_NOSORT, NULL, &found))
		for (size_t i = 0; i < found.gl_pathc && !active; i++)
			active = is_active(found.gl_pathv[i]);
	globfree(&found);
	return active;
}

/* Containers often see the host's /sys but not its devices. */
static bool may_open(void)
{
	glob_t found = {.gl_pathc = 0};
	bool may = false;

	if (!glob("/dev/infiniband/uverbs*", GLOB_NOSORT, NULL, &found))
		for (size_t i = 0; i < found.gl_pathc && !may; i++)
			may = access(found.gl_pathv[i], R_OK | W_OK) == 0;
	globfree(&found);
	return may;
}

bool fb_rdma_usable(void)
{
	void *library;

	if (!BUILT_WITH_VERBS || !port_active() || !may_open())
		return false;
	library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (library)
		dlclose(library);
	return library != NULL;
}
