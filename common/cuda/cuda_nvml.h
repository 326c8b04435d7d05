/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks and links from NVML, opened at run time; its header is not part of the toolkit. */
#ifndef FB_COMMON_CUDA_CUDA_NVML_H
#define FB_COMMON_CUDA_CUDA_NVML_H

#include "common/cuda/gpu.h"
#include "common/system/gpu_links.h"

/* NULL where the library or the device is not found: then nothing is said about clocks. */
void *fb_nvml_open(const char *bus_id);
void fb_nvml_close(void *nvml);

#endif
