/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of engines: a new one is a file in this folder and a line here. */
#include "p2p/engine/engine.h"

const struct fb_p2p_engine_ops *const fb_p2p_engines[] = {
	&fb_p2p_host,
	&fb_p2p_mpi,
	&fb_p2p_rdma,
	&fb_p2p_ucx,
	&fb_p2p_copy,
	&fb_p2p_cuda,
	&fb_p2p_nccl,
	NULL,
};
