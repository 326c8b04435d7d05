/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of engine nccl-process for the program communicator, beside the engine's own. */
#ifndef FB_COLLECTIVES_ENGINE_NCCL_PROCESS_H
#define FB_COLLECTIVES_ENGINE_NCCL_PROCESS_H

#include "collectives/engine/engine.h"
#include "collectives/engine/nccl/team.h"

/* The GPUs of this process; NULL before the engine's first segment. Owned by the engine. */
struct fb_nccl_team *fb_nccl_process_team(const struct fb_engine *engine);

#endif
