/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory shared by the ranks of one host; see node_memory.h. */
#include "common/base/error.h"
#include "common/system/node_file.h"
#include "common/system/node_memory.h"

#include <sys/mman.h>

int fb_node_memory_open(struct fb_node_memory *memory, const struct fb_group *world, size_t bytes)
{
	void *base = NULL;
	int err = fb_group_agree(world, fb_node_file_map(world, bytes, true, &base));

	if (err) {
		if (base)
			munmap(base, bytes);
		return err;
	}
	memory->base = base;
	memory->bytes = bytes;
	return FB_OK;
}

void fb_node_memory_close(struct fb_node_memory *memory)
{
	if (memory->base)
		munmap(memory->base, memory->bytes);
	memory->base = NULL;
	memory->bytes = 0;
}
