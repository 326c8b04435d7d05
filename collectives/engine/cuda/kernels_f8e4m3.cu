/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that reduce f8e4m3; see kernels.h. */
#define TYPE_f8e4m3
#define TABLE fb_gpu_kernels_f8e4m3
#include "collectives/engine/cuda/kernels.h"
