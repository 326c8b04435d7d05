/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes what the links of a GPU carried, from their counters before and after. NVML is asked by
 * fb_gpu_links_read() of common/cuda/gpu.h, not here.
 */
#ifndef FB_COMMON_SYSTEM_GPU_LINKS_H
#define FB_COMMON_SYSTEM_GPU_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fb_gpu_link { FB_GPU_NVLINK, FB_GPU_PCIE, FB_GPU_LINKS };

/* All links of a kind together, since some moment; NVLink's is payload, without headers. */
struct fb_link_counter {
	bool known;
	uint64_t sent_bytes, received_bytes;
	uint64_t wraps_at; /* bytes, a power of two; 0: never */
};

struct fb_gpu_links {
	struct fb_link_counter of[FB_GPU_LINKS];
};

/*
 * What the links of a kind sent and received between the two readings, divided by `bytes`: 1 where
 * a GPU sends so much by them. NAN where it is not known: no counter, `bytes` 0, or so many that
 * the counter may have passed all its numbers. NVML's counters are updated now and then, so the
 * last few ms may be missing.
 */
double fb_gpu_links_share(const struct fb_gpu_links *before, const struct fb_gpu_links *after,
			  enum fb_gpu_link kind, double bytes);

/* "NVLink 1.02, PCIe 0.25": the kinds that carried at least a tenth of `bytes`; else empty. */
void fb_gpu_links_text(const struct fb_gpu_links *before, const struct fb_gpu_links *after,
		       double bytes, char *text, size_t n);

/*
 * Whether bytes that should have passed NVLink did not: less than 0.9 of them, and 0.4 or more
 * passed PCIe. False where either is not known.
 */
bool fb_gpu_links_stray(const struct fb_gpu_links *before, const struct fb_gpu_links *after,
			double bytes);

#endif
