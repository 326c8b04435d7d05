/* SPDX-License-Identifier: BSD-3-Clause */
/* All engines of the KV transfer programs, in the order of their rows. */
#include <stddef.h>

#include "kvtransfer/engine/engine.h"

const struct fb_kv_engine_ops *const fb_kv_engines[] = {
	&fb_kv_host, &fb_kv_mpi, &fb_kv_copy, &fb_kv_cuda, &fb_kv_nccl, NULL,
};
