/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL's estimate of a call; see model.h. */
#include "collectives/engine/nccl/model.h"

#include <math.h>

#include "common/base/error.h"

/* Asks for an estimate of the call. Nothing runs, so any stream will do. */
static int simulate(const struct fb_nccl_call *call, struct fb_nccl_estimate *estimate)
{
	const struct fb_nccl *nccl = call->nccl;
	int err = fb_nccl_error(nccl, call->comm, nccl->GroupStart(), "GroupStart"), end;

	if (err)
		return err;
	err = fb_nccl_call_enqueue(call, NULL);
	end = fb_nccl_error(nccl, call->comm, nccl->GroupSimulateEnd(estimate),
			    "GroupSimulateEnd");
	return err ? err : end;
}

int fb_nccl_model(const struct fb_nccl *nccl, const struct fb_group *group,
		  const struct fb_nccl_need *need, const struct fb_nccl_call *call, double *us)
{
	struct fb_nccl_estimate estimate = {.size = sizeof(estimate),
					    .magic = FB_NCCL_ESTIMATE_MAGIC,
					    .version = FB_NCCL_ESTIMATE_VERSION, .us = -1};
	struct fb_nccl_need plain = *need;
	struct fb_nccl_call asked = *call;
	struct fb_nccl_group *list = NULL, *made;
	int err;

	*us = NAN;
	if (!nccl->GroupSimulateEnd || need->registration == FB_NCCL_WINDOW ||
	    need->registration == FB_NCCL_WINDOW_COPY)
		return FB_OK;
	plain.registration = FB_NCCL_NONE;
	err = fb_nccl_group_get(&list, nccl, group, &plain, &made);
	if (err)
		return err;
	asked.comm = made->comm;
	err = fb_group_agree(group, simulate(&asked, &estimate));
	fb_nccl_group_drop(&list, nccl, made);
	if (!err && estimate.us > 0)
		*us = (double)estimate.us;
	return err;
}
