/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that reduce f32; see kernels.h. */
#define TYPE_f32
#define TABLE fb_gpu_kernels_f32
#include "collectives/engine/cuda/kernels.h"
