/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that reduce u8; see kernels.h. */
#define TYPE_u8
#define TABLE fb_gpu_kernels_u8
#include "collectives/engine/cuda/kernels.h"
