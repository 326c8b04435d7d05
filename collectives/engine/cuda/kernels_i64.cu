/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that reduce i64; see kernels.h. */
#define TYPE_i64
#define TABLE fb_gpu_kernels_i64
#include "collectives/engine/cuda/kernels.h"
