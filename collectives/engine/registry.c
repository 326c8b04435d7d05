/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of engines: a new one is a file in this folder and a line here. */
#include "collectives/engine/engine.h"

const struct fb_engine_ops *const fb_engines[] = {
	&fb_engine_host,
	&fb_engine_mpi,
	&fb_engine_cuda,
	&fb_engine_nccl,
	&fb_engine_copy,
	NULL,
};
