/* SPDX-License-Identifier: BSD-3-Clause */
/* NVML by dlopen, with prototypes of its documented, stable interface; see cuda_nvml.h. */
#include "common/cuda/cuda_nvml.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* nvmlClockType_t; nvmlReturn_t is 0 for success. */
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2 };

struct fb_nvml {
	void *library, *device;
	int (*init)(void);
	int (*shutdown)(void);
	int (*by_bus_id)(const char *bus_id, void **device);
	int (*clock)(void *device, int type, unsigned *MHz);
	int (*throttle)(void *device, unsigned long long *reasons);
};

static bool find(const struct fb_nvml *n, const char *name, void *entry)
{
	void *function = dlsym(n->library, name);

	/* ISO C has no conversion from void * to a function's address. */
	memcpy(entry, &function, sizeof(function));
	return function != NULL;
}

void *fb_nvml_open(const char *bus_id)
{
	struct fb_nvml *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!n->library)
		goto free_nvml;
	if (!find(n, "nvmlInit_v2", &n->init) || !find(n, "nvmlShutdown", &n->shutdown) ||
	    !find(n, "nvmlDeviceGetHandleByPciBusId_v2", &n->by_bus_id) ||
	    !find(n, "nvmlDeviceGetClockInfo", &n->clock) ||
	    !find(n, "nvmlDeviceGetCurrentClocksThrottleReasons", &n->throttle))
		goto close_library;
	if (n->init())
		goto close_library;
	if (n->by_bus_id(bus_id, &n->device))
		goto shut_down;
	return n;
shut_down:
	n->shutdown();
close_library:
	dlclose(n->library);
free_nvml:
	free(n);
	return NULL;
}

void fb_nvml_close(void *nvml)
{
	struct fb_nvml *n = nvml;

	if (!n)
		return;
	n->shutdown();
	dlclose(n->library);
	free(n);
}

bool fb_gpu_clocks(const struct fb_gpu *gpu, struct fb_gpu_clocks *clocks)
{
	const struct fb_nvml *n = gpu->nvml;
	unsigned sm, memory;
	unsigned long long throttle;

	if (!n || n->clock(n->device, CLOCK_SM, &sm) ||
	    n->clock(n->device, CLOCK_MEMORY, &memory) || n->throttle(n->device, &throttle))
		return false;
	*clocks = (struct fb_gpu_clocks){.sm_MHz = sm, .memory_MHz = memory, .throttle = throttle};
	return true;
}
