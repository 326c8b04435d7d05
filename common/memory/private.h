/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of one rank alone, in pages of a kind: what devices copy from, and what it costs. */
#ifndef FB_COMMON_MEMORY_PRIVATE_H
#define FB_COMMON_MEMORY_PRIVATE_H

#include <stddef.h>

#include "common/system/pages.h"

struct fb_private {
	char *memory;  /* NULL: none */
	char *mapping; /* the mapping that contains it, of this many bytes */
	size_t mapped;
};

/*
 * Local: fresh zeroed pages, `bytes` rounded up to whole ones, all present, which malloc's need not
 * be; on NUMA node `node` or, with -1, where the thread's policy says. Some of them may not be huge
 * if the kind is transparent huge pages. 0; FB_ENOMEM or FB_ESYS (printed), with nothing to free.
 */
int fb_private_get(struct fb_private *p, enum fb_pages kind, size_t bytes, int node);

/* Writes to each page of fresh memory, because the kernel allocates a page at its first write. */
void fb_private_touch(char *memory, size_t bytes, size_t page);

/* Safe on zeroes. */
void fb_private_put(struct fb_private *p);

#endif
