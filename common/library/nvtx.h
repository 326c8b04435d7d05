/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Named ranges on the host's thread for profilers: NVIDIA's NVTX, found at run time. Its header is
 * not needed: both functions are the same since version 1 (nvToolsExt.h).
 */
#ifndef FB_COMMON_LIBRARY_NVTX_H
#define FB_COMMON_LIBRARY_NVTX_H

#include <stddef.h>

struct fb_nvtx {
	int (*RangePushA)(const char *name); /* NULL: no profiler, so a range costs nothing */
	int (*RangePop)(void);
};

/*
 * Local. Loads it if the process runs under a profiler, which sets NVTX_INJECTION64_PATH. 0, also
 * without a profiler; or FB_EUNSUPPORTED with the reason (not printed), and ranges do nothing.
 */
int fb_nvtx_open(struct fb_nvtx *nvtx, char *reason, size_t n);

/* Ranges of a thread are nested: each pop ends the newest. `name` is copied by the profiler. */
void fb_nvtx_push(const struct fb_nvtx *nvtx, const char *name);
void fb_nvtx_pop(const struct fb_nvtx *nvtx);

#endif
