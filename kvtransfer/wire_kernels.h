/* SPDX-License-Identifier: BSD-3-Clause */
/* What wire.cu gives to cuda_wire.c. */
#ifndef FB_KVTRANSFER_WIRE_KERNELS_H
#define FB_KVTRANSFER_WIRE_KERNELS_H

#include "kvtransfer/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One end of a message, on the default stream. Returns a cudaError_t, of launching only. */
int fb_kv_kernel_packing(const struct fb_kv_packing *packing);

#ifdef __cplusplus
}
#endif

#endif
