/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that reduce i32; see kernels.h. */
#define TYPE_i32
#define TABLE fb_gpu_kernels_i32
#include "collectives/engine/cuda/kernels.h"
