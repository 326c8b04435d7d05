/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that reduce u64; see kernels.h. */
#define TYPE_u64
#define TABLE fb_gpu_kernels_u64
#include "collectives/engine/cuda/kernels.h"
