/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that reduce f64; see kernels.h. */
#define TYPE_f64
#define TABLE fb_gpu_kernels_f64
#include "collectives/engine/cuda/kernels.h"
