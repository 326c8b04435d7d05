/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that reduce u32; see kernels.h. */
#define TYPE_u32
#define TABLE fb_gpu_kernels_u32
#include "collectives/engine/cuda/kernels.h"
