/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of all movers. */
#include "common/mover/mover.h"

const struct fb_mover_ops *const fb_movers[] = {
	&fb_mover_shm, &fb_mover_cma, &fb_mover_tcp, &fb_mover_rdma, &fb_mover_ucx,
	&fb_mover_mpi, &fb_mover_mpi_window, &fb_mover_file, &fb_mover_nixl, &fb_mover_nixl_gpu,
	&fb_mover_copy, &fb_mover_cuda, &fb_mover_nccl, NULL,
};
