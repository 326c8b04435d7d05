/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cold caches of processors: writing so much other memory that nothing else is left in them.
 *
 * The ranks of a host clear its caches together, each from the processor on which it will work:
 * all of them write twice what the last levels hold, and each at least four times its own second
 * level. Stores are ordinary ones, a word in each line: memset() may go around the caches.
 */
#ifndef FB_COMMON_SYSTEM_CACHE_H
#define FB_COMMON_SYSTEM_CACHE_H

#include <stddef.h>

/* The caches of the machine. Bytes 0: not known. */
struct fb_caches {
	size_t second, last; /* bytes of one cache of the second and of the last level */
	int count;	     /* caches of the last level, at least 1 */
};

struct fb_cache_area {
	volatile unsigned char *memory; /* NULL: closed */
	size_t bytes;
};

/* Local. Files are looked up below `root`, "" for the machine itself. */
void fb_caches_read(struct fb_caches *caches, const char *root);

/* Bytes that each of a host's ranks has to write. 0 where the caches are not known. Pure. */
size_t fb_caches_share(const struct fb_caches *caches, int ranks);

/*
 * Local: memory for one of `ranks` ranks of the host. 0, FB_ENOMEM, or FB_EUNSUPPORTED where the
 * size of the caches is not known (printed). Closing what is zeroed or closed is fine.
 */
int fb_cache_open(struct fb_cache_area *area, int ranks);
void fb_cache_close(struct fb_cache_area *area);

/* Local: writes all of the area. Some GB/s, so 0.1 s for caches of hundreds of MiB. */
void fb_cache_clear(const struct fb_cache_area *area);

#endif
