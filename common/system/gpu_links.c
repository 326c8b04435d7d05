/* SPDX-License-Identifier: BSD-3-Clause */
/* Differences of links' counters; see gpu_links.h. */
#include "common/system/gpu_links.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double grown(uint64_t before, uint64_t after, uint64_t wraps_at)
{
	return (double)(wraps_at ? (after - before) & (wraps_at - 1) : after - before);
}

double fb_gpu_links_share(const struct fb_gpu_links *before, const struct fb_gpu_links *after,
			  enum fb_gpu_link kind, double bytes)
{
	const struct fb_link_counter *x = &before->of[kind], *y = &after->of[kind];

	/* Other traffic passes too, by which a counter could wrap more than once. */
	if (!x->known || !y->known || bytes <= 0 ||
	    (y->wraps_at && bytes > (double)y->wraps_at / 2))
		return NAN;
	return (grown(x->sent_bytes, y->sent_bytes, y->wraps_at) +
		grown(x->received_bytes, y->received_bytes, y->wraps_at)) /
	       bytes;
}

void fb_gpu_links_text(const struct fb_gpu_links *before, const struct fb_gpu_links *after,
		       double bytes, char *text, size_t n)
{
	static const char *const names[] = {[FB_GPU_NVLINK] = "NVLink", [FB_GPU_PCIE] = "PCIe"};

	snprintf(text, n, "%s", "");
	for (int kind = 0; kind < FB_GPU_LINKS; kind++) {
		double share = fb_gpu_links_share(before, after, kind, bytes);
		size_t used = strlen(text);

		if (share >= 0.1)
			snprintf(text + used, n - used, "%s%s %.2f", used ? ", " : "", names[kind],
				 share);
	}
}

bool fb_gpu_links_stray(const struct fb_gpu_links *before, const struct fb_gpu_links *after,
			double bytes)
{
	return fb_gpu_links_share(before, after, FB_GPU_NVLINK, bytes) < 0.9 &&
	       fb_gpu_links_share(before, after, FB_GPU_PCIE, bytes) >= 0.4;
}
