/* SPDX-License-Identifier: BSD-3-Clause */
/* See base.h. */
#include "collectives/engine/nccl/base.h"

#include "common/base/error.h"
#include "common/cuda/gpu_segment.h"
#include "common/library/nccl/watch.h"
#include "common/measure/clock.h"

int fb_nccl_base_open(struct fb_nccl_base *b)
{
	const struct fb_session *session = b->engine.session;
	const struct fb_group *group = b->engine.group;
	int err = fb_gpu_view_open(&b->gpu, session, group, b->why);

	b->has_gpu = !err;
	if (err)
		return err == FB_EUNSUPPORTED ? FB_OK : err;
	MPI_Allreduce(&b->gpu.major, &b->least_major, 1, MPI_INT, MPI_MIN, group->comm);
	if (session->settings->nccl_gpu_time)
		fb_nccl_watch_open();
	b->has_nccl = !fb_nccl_find(&b->nccl, session, group, b->gpu.shared, b->why);
	return FB_OK;
}

void fb_nccl_base_close(struct fb_nccl_base *b)
{
	if (b->has_gpu)
		fb_gpu_view_close(&b->gpu);
}

double fb_nccl_now_us(const struct fb_nccl_base *b)
{
	const struct fb_clock *clock = b->engine.session->clock;

	return clock ? 1e6 * fb_clock_now(clock) : 0;
}

int fb_nccl_base_allocate(const struct fb_nccl *nccl, void **memory, size_t bytes)
{
	int code = nccl->MemAlloc(memory, bytes);
	int err = fb_nccl_error(nccl, NULL, code, "MemAlloc");

	return code == FB_NCCL_CUDA_ERROR ? FB_ENOMEM : err;
}

int fb_nccl_base_segment(struct fb_engine *engine, struct fb_segment *segment, size_t part_bytes)
{
	const size_t page = (size_t)2 << 20;
	const struct fb_nccl *nccl = &((struct fb_nccl_base *)engine)->nccl;
	unsigned long long wanted = part_bytes ? part_bytes : 1;
	void *memory = NULL;
	int err;

	MPI_Allreduce(MPI_IN_PLACE, &wanted, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX,
		      engine->group->comm);
	part_bytes = ((size_t)wanted + page - 1) / page * page;
	err = fb_nccl_base_allocate(nccl, &memory, part_bytes);
	err = fb_group_agree(engine->group, err);
	if (!err)
		err = fb_gpu_segment_adopt(segment, engine->group, &memory, 1, part_bytes,
					   nccl->MemFree);
	if (err && memory)
		(void)nccl->MemFree(memory);
	return err;
}
