/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that only move bytes, of any datatype; see kernels.h. */
#define TABLE fb_gpu_kernels_move
#include "collectives/engine/cuda/kernels.h"
