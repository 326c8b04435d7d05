/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that reduce i8; see kernels.h. */
#define TYPE_i8
#define TABLE fb_gpu_kernels_i8
#include "collectives/engine/cuda/kernels.h"
