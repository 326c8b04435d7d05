/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks and links from NVML, opened at run time; its header is not part of the toolkit. */
#ifndef FB_COMMON_CUDA_CUDA_NVML_H
#define FB_COMMON_CUDA_CUDA_NVML_H

#include "common/cuda/gpu.h"
#include "common/system/gpu_links.h"

enum { FB_NVML_ROOM = 16 };

/* nvmlFieldValue_t: what is asked for, and the answer. */
struct fb_nvml_field {
	unsigned id, scope; /* scope: which link */
	long long timestamp, latency_us;
	int type, result;
	union {
		unsigned u32;
		unsigned long long u64;
	} value;
};

struct fb_nvml {
	void *library, *device;
	/*
	 * One run ended with a damaged stack in the function in which the driver fills these; the
	 * cause is not known. So they are not on the stack, and there is room behind them.
	 */
	struct fb_nvml_field *answer; /* [FB_NVML_ROOM], of which two are asked for */
	int (*init)(void);
	int (*shutdown)(void);
	int (*by_bus_id)(const char *bus_id, void **device);
	int (*clock)(void *device, int type, unsigned *MHz);
	int (*throttle)(void *device, unsigned long long *reasons);
	/* NULL in versions without these functions. */
	int (*fields)(void *device, int n, struct fb_nvml_field *fields);
	int (*p2p)(void *device, void *peer, int index, int *status);
	int (*ancestor)(void *device, void *peer, int *level);
};

/* NULL if the library or the device is not found; rows then have no clocks. */
void *fb_nvml_open(const char *bus_id);
void fb_nvml_close(void *nvml);

#endif
