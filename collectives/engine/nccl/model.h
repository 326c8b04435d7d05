/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL's estimate of a call by the model that selects algorithms (ncclGroupSimulateEnd, 2.22). */
#ifndef FB_COLLECTIVES_ENGINE_NCCL_MODEL_H
#define FB_COLLECTIVES_ENGINE_NCCL_MODEL_H

#include "collectives/engine/nccl/calls.h"
#include "common/library/nccl/comm.h"

/*
 * Collective. The time of the call in us, as made on a communicator for the need; NAN where NCCL
 * estimates nothing: versions before 2.22, sends and receives, and kernels of symmetric windows.
 * It is asked on a communicator that is made for it and aborted: by its source (2.28.9, 2.30.7)
 * NCCL leaves a simulated call in the communicator's plan, and would run it with the next real
 * one. The same error on all ranks, or 0.
 */
int fb_nccl_model(const struct fb_nccl *nccl, const struct fb_group *group,
		  const struct fb_nccl_need *need, const struct fb_nccl_call *call, double *us);

#endif
