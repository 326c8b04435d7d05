/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that reduce bf16; see kernels.h. */
#define TYPE_bf16
#define TABLE fb_gpu_kernels_bf16
#include "collectives/engine/cuda/kernels.h"
