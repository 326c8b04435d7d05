/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that reduce f8e5m2; see kernels.h. */
#define TYPE_f8e5m2
#define TABLE fb_gpu_kernels_f8e5m2
#include "collectives/engine/cuda/kernels.h"
