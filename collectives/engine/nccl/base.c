/* SPDX-License-Identifier: BSD-3-Clause */
/* See base.h. */
#include "collectives/engine/nccl/base.h"

#include <stdlib.h>

#include "common/base/error.h"

int fb_nccl_base_open(struct fb_nccl_base **base, size_t bytes, const struct fb_engine_ops *ops,
		      const struct fb_session *session, const struct fb_group *group)
{
	struct fb_nccl_base *b = calloc(1, bytes);
	int err = fb_group_agree(group, b ? FB_OK : FB_ENOMEM);

	if (err || !b) {
		free(b);
		return fb_error(err, "out of memory for engine %s", ops->name);
	}
	b->engine = (struct fb_engine){ops, session, group};
	err = fb_gpu_view_open(&b->gpu, session, group, b->why);
	b->has_gpu = !err;
	if (err && err != FB_EUNSUPPORTED) {
		free(b);
		return err;
	}
	if (b->has_gpu) {
		MPI_Allreduce(&b->gpu.major, &b->least_major, 1, MPI_INT, MPI_MIN, group->comm);
		b->has_nccl = !fb_nccl_find(&b->nccl, session, group, b->gpu.shared, b->why);
	}
	*base = b;
	return FB_OK;
}

void fb_nccl_base_close(struct fb_nccl_base *base)
{
	if (base->has_gpu)
		fb_gpu_view_close(&base->gpu);
	free(base);
}
