/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that reduce f16; see kernels.h. */
#define TYPE_f16
#define TABLE fb_gpu_kernels_f16
#include "collectives/engine/cuda/kernels.h"
