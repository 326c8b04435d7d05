/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mover rdma_gpu: mover rdma with regions in GPU memory, which the network's device reads and
 * writes itself (GPUDirect RDMA). A region is registered by its dma-buf, or by its address where
 * the driver's peer memory module is loaded (--gpu-direct).
 *
 * A processor that sees the notice sees the bytes that the device wrote before it, but the GPU's
 * kernels may not see them yet. If the GPU does not order such writes itself, they are flushed
 * before a notice or a completed GET is reported. Not run on hardware with a network's device.
 */
#include "common/mover/rdma.h"

#include <stdio.h>

#include "common/base/error.h"

#if FB_HAVE_VERBS

#include <unistd.h>

#include "common/cuda/gpu_direct.h"

static bool takes(void *arg, void *memory, size_t bytes, int fd, uint64_t offset, char *why,
		  size_t n)
{
	const struct fb_rdma_mover *m = arg;

	return fb_rdma_can_register_device(&m->cache, memory, bytes, fd, offset, why, n);
}

int fb_rdma_gpu_begin(struct fb_rdma_mover *m, char why[FB_REASON_CHARS])
{
	const struct fb_gpu_direct_taker taker = {takes, m};
	const struct fb_group *g = m->mover.group;
	int asked = m->mover.session->settings->gpu_direct;
	int err = fb_gpu_view_open(&m->gpu, m->mover.session, g, why);
	unsigned ways;

	if (err)
		return err;
	if (asked == FB_GPU_DIRECT_NO) {
		snprintf(why, FB_REASON_CHARS, "--gpu-direct no");
		return FB_EUNSUPPORTED;
	}
	ways = fb_gpu_direct_methods(&m->gpu, asked, &taker, &m->flushes, why, FB_REASON_CHARS);
	m->ways = fb_gpu_direct_agree(g, ways, why, FB_REASON_CHARS);
	return m->ways ? FB_OK : FB_EUNSUPPORTED;
}

int fb_rdma_gpu_register(struct fb_rdma_mover *m, char *base, size_t bytes,
			 const struct fb_rdma_region **region)
{
	char why[FB_REASON_CHARS] = "";
	uint64_t offset = 0;
	int fd = -1, err = FB_OK;

	if (m->ways & 1u << FB_GPU_DIRECT_DMABUF)
		err = fb_gpu_direct_export(&m->gpu, base, bytes, &fd, &offset, why, sizeof(why));
	if (err && !(m->ways & 1u << FB_GPU_DIRECT_PEERMEM))
		return fb_error(FB_ESYS, "mover rdma_gpu: %s", why);
	err = fb_rdma_register_device(&m->cache, base, bytes, fd, offset,
				      m->ways >> FB_GPU_DIRECT_PEERMEM & 1, region);
	if (fd >= 0)
		close(fd);
	return err;
}

int fb_rdma_gpu_flush(struct fb_rdma_mover *m)
{
	return m->flushes ? fb_gpu_direct_flush(&m->gpu) : FB_OK;
}

#endif
