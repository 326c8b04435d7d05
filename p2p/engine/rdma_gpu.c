/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rdma engine in GPU memory. The network adapter reads and writes this memory itself. It is
 * registered by its dma-buf, or else by its address, as --gpu-direct says
 * (common/cuda/gpu_direct.h). The processor cannot access it. So nothing is sent inline, no rank
 * polls a message's last byte, and passive ends are notified by a number that is written into their
 * `finished`. **Not run on hardware.**
 */
#include "p2p/engine/rdma.h"

#if FB_HAVE_VERBS

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/cuda/gpu_direct.h"
#include "common/option/option.h"
#include "p2p/program.h"

int fb_raw_gpu_open(struct fb_raw_engine *e, const struct fb_settings *settings)
{
	int err;

	e->chosen = settings->rdma;
	e->settings = &e->chosen;
	e->qps = e->chosen.qps;
	e->chosen.qps += fb_rdma_sleeps(e->settings);
	e->how = FB_RDMA_HOST;
	if (!fb_option_names(settings->memory, fb_memory_kinds[FB_MEMORY_DEVICE].name))
		return FB_OK;
	err = fb_gpu_view_open(&e->gpu, e->engine.session, e->world, e->no_direct);
	e->has_gpu = !err;
	if (e->has_gpu)
		e->chosen.near = e->gpu.bus_id;
	return err == FB_EUNSUPPORTED ? FB_OK : err;
}

static bool takes(void *arg, void *memory, size_t bytes, int fd, uint64_t offset, char *why,
		  size_t n)
{
	const struct fb_raw_engine *e = arg;

	return fb_rdma_can_register_device(&e->cache, memory, bytes, fd, offset, why, n);
}

void fb_raw_gpu_choose(struct fb_raw_engine *e, int asked)
{
	const struct fb_gpu_direct_taker taker = {takes, e};
	unsigned own = 0, all;

	if (!e->has_gpu)
		return;
	if (asked == FB_GPU_DIRECT_NO)
		snprintf(e->no_direct, sizeof(e->no_direct), "--gpu-direct no");
	else
		own = fb_gpu_direct_methods(&e->gpu, asked, &taker, &e->flushes, e->no_direct,
					    sizeof(e->no_direct));
	all = fb_gpu_direct_agree(e->world, own, e->no_direct, sizeof(e->no_direct));
	if (all >> FB_GPU_DIRECT_DMABUF & 1)
		e->how = FB_RDMA_DMABUF;
	else if (all)
		e->how = FB_RDMA_PEERMEM;
}

int fb_raw_gpu_register(struct fb_raw_engine *e, void *base, size_t bytes,
			const struct fb_rdma_region **region)
{
	char why[FB_REASON_CHARS];
	uint64_t offset = 0;
	int fd = -1, err;

	if (e->how == FB_RDMA_DMABUF &&
	    fb_gpu_direct_export(&e->gpu, base, bytes, &fd, &offset, why, sizeof(why)))
		return fb_error(FB_ESYS, "rdma: %zu bytes of GPU memory: %s", bytes, why);
	err = fb_rdma_register_device(&e->cache, base, bytes, fd, offset, false, region);
	if (fd >= 0)
		close(fd);
	return err;
}

int fb_raw_settle(struct fb_p2p_request *request)
{
	struct fb_raw_request *r = (struct fb_raw_request *)request;

	return r->device && r->engine->flushes ? fb_gpu_direct_flush(&r->engine->gpu) : FB_OK;
}

#endif
