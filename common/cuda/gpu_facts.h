/* SPDX-License-Identifier: BSD-3-Clause */
/* What CUDA and NVML say of the GPUs of a host, as facts of environment.csv. */
#ifndef FB_COMMON_CUDA_GPU_FACTS_H
#define FB_COMMON_CUDA_GPU_FACTS_H

#include "common/cuda/gpu.h"

/*
 * Local: adds facts about all GPUs that NVML shows of this host, nothing where it is missing or
 * does not say. BUS_ID is as "0000:1b:00.0":
 *
 *	gpu.BUS_ID.nvlinks        "17 of 18": how many NVLinks are up
 *	gpu.BUS_ID.nvlink_MBps    what one of them carries in each direction
 *	gpu.BUS_ID.nvlinks_to     "0000:2a:00.0 18, ...": links up to other GPUs, or to the
 *	                          NVSwitches through which they are reached
 *	gpu.BUS_ID.c2c_links      "10 of 10": how many NVLink-C2C to the processor are active
 *	gpu.BUS_ID.c2c_link_MBps  what one of them carries in each direction, the fastest and, where
 *				  it is slower, the slowest: "44712, least 22356"
 *	gpu.BUS_ID.fabric         the GPU's state at the fabric manager: "completed", "not
 *	                          started", "in progress", "completed, error 999" (nvmlReturn_t)
 *	                          or "completed, degraded bandwidth"; none without NVSwitch
 *	gpu.BUS_ID.fabric_clique  "UUID.CLIQUE": NVLink domain of several hosts, and the part of
 *	                          it in which GPUs reach each other's memory
 *	gpu.BUS_ID.ecc            "on" or "off"
 *	gpu.BUS_ID.ecc_errors     "corrected 3, uncorrected 0" in the GPU's lifetime
 *	gpu.BUS_ID.remapped_rows  rows of memory that were replaced: "none", "some", "waiting for
 *	                          a reset" or "failed"
 *
 * and, also without NVML, cuda.driver_version, the newest CUDA that the driver supports, and
 * cuda.runtime_version, with which the program was built.
 */
void fb_gpu_facts(const struct fb_gpu *gpu, const struct fb_session *session);

#endif
