/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of all movers, and users' movers from FB_MOVERS; see mover.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/library/library.h"
#include "common/mover/mover.h"

enum { OWN = 20, PLUGINS = 8, PATH = 4096 };

const struct fb_mover_ops *fb_movers[OWN + PLUGINS + 1] = {
	&fb_mover_shm, &fb_mover_cma, &fb_mover_tcp, &fb_mover_rdma, &fb_mover_ucx,
	&fb_mover_mpi, &fb_mover_mpi_window, &fb_mover_file, &fb_mover_nixl, &fb_mover_nixl_gpu,
	&fb_mover_mooncake, &fb_mover_rdma_gpu, &fb_mover_copy, &fb_mover_cuda, &fb_mover_nccl,
	&fb_mover_nvshmem, &fb_mover_nvshmem_device, &fb_mover_ucx_gpu,
	&fb_mover_libfabric, &fb_mover_libfabric_gpu,
};

static int refuse(const char *file, const char *why)
{
	return fb_error(FB_EINPUT, "FB_MOVERS: %s: %s", file, why);
}

static int load(const char *file)
{
	struct {
		fb_mover_plugin_fn *plugin;
	} found = {NULL};
	static const struct fb_library_symbol table[] = {{"fb_mover_plugin", 0, false}};
	char why[FB_REASON_CHARS];
	void *library = fb_library_open(file, NULL, 0, why, sizeof(why));
	const struct fb_mover_ops *ops;
	int n = 0;

	if (!library)
		return refuse(file, why);
	if (fb_library_functions(library, table, 1, &found))
		return refuse(file, "it has no fb_mover_plugin");
	ops = found.plugin(FB_MOVER_VERSION);
	if (!ops)
		return refuse(file, "it was made for another version of movers");
	for (; fb_movers[n]; n++)
		if (!strcmp(fb_movers[n]->name, ops->name))
			return fb_movers[n] == ops ? FB_OK
						   : refuse(file, "a mover of its name is there");
	if (n == OWN + PLUGINS)
		return refuse(file, "there are too many");
	fb_movers[n] = ops;
	return FB_OK;
}

int fb_movers_load(void)
{
	const char *next = getenv("FB_MOVERS");
	int err = FB_OK;

	while (next && *next && !err) {
		size_t length = strcspn(next, ":");
		char file[PATH];

		snprintf(file, sizeof(file), "%.*s", (int)length, next);
		err = length < sizeof(file) ? load(file) : refuse(next, "the path is too long");
		next += length + (next[length] == ':');
	}
	return err;
}
