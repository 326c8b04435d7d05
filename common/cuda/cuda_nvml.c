/* SPDX-License-Identifier: BSD-3-Clause */
/* NVML by dlopen, with prototypes of its documented, stable interface; see cuda_nvml.h. */
#include "common/cuda/cuda_nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* nvmlClockType_t; nvmlReturn_t is 0 for success. */
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2 };

/* nvmlGpuP2PCapsIndex_t, nvmlGpuP2PStatus_t. */
enum { P2P_NVLINK = 2, P2P_OK = 0 };

/*
 * NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_*, in KiB, and NVML_FI_DEV_PCIE_COUNT_*_BYTES, which drivers
 * before 565 do not know.
 */
static const struct {
	unsigned sent, received, scope, shift;
} counters[] = {
	[FB_GPU_NVLINK] = {138, 139, (unsigned)-1 /* all links */, 10},
	[FB_GPU_PCIE] = {197, 198, 0, 0},
};

/* nvmlGpuTopologyLevel_t, by tens from "on one board" on; and the names of nvidia-smi. */
static const char *const levels[] = {"PCIe",	 "PCIe PIX",  "PCIe PXB",
				     "PCIe PHB", "PCIe NODE", "PCIe SYS"};

/* nvmlFieldValue_t: what is asked for, and the answer. */
struct field {
	unsigned id, scope; /* scope: which link */
	long long timestamp, latency_us;
	int type, result;
	union {
		unsigned u32;
		unsigned long long u64;
	} value;
};

enum { TYPE_U32 = 1 };

struct fb_nvml {
	void *library, *device;
	int (*init)(void);
	int (*shutdown)(void);
	int (*by_bus_id)(const char *bus_id, void **device);
	int (*clock)(void *device, int type, unsigned *MHz);
	int (*throttle)(void *device, unsigned long long *reasons);
	/* Not in every version: NULL then. */
	int (*fields)(void *device, int n, struct field *fields);
	int (*p2p)(void *device, void *peer, int index, int *status);
	int (*ancestor)(void *device, void *peer, int *level);
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
	(void)find(n, "nvmlDeviceGetFieldValues", &n->fields);
	(void)find(n, "nvmlDeviceGetP2PStatus", &n->p2p);
	(void)find(n, "nvmlDeviceGetTopologyCommonAncestor", &n->ancestor);
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

static struct fb_gpu_counter read_counter(const struct fb_nvml *n, enum fb_gpu_link kind)
{
	struct field field[2] = {{.id = counters[kind].sent, .scope = counters[kind].scope},
				 {.id = counters[kind].received, .scope = counters[kind].scope}};
	struct fb_gpu_counter counter = {.known = false};
	uint64_t bytes[2];

	if (n->fields(n->device, 2, field))
		return counter;
	for (int i = 0; i < 2; i++) {
		bool narrow = field[i].type == TYPE_U32;

		if (field[i].result)
			return counter;
		bytes[i] = (narrow ? field[i].value.u32 : field[i].value.u64)
			   << counters[kind].shift;
		if (narrow)
			counter.wraps_at = UINT64_C(1) << (32 + counters[kind].shift);
	}
	counter.known = true;
	counter.sent_bytes = bytes[0];
	counter.received_bytes = bytes[1];
	return counter;
}

void fb_gpu_links_read(const struct fb_gpu *gpu, struct fb_gpu_links *links)
{
	const struct fb_nvml *n = gpu->nvml;

	memset(links, 0, sizeof(*links));
	for (int kind = 0; n && n->fields && kind < FB_GPU_LINKS; kind++)
		links->of[kind] = read_counter(n, kind);
}

const char *fb_gpu_link_to(const struct fb_gpu *gpu, int rank)
{
	const struct fb_nvml *n = gpu->nvml;
	void *peer;
	int status, level;

	if (!n || !n->p2p || n->by_bus_id(gpu->peers[rank], &peer) ||
	    n->p2p(n->device, peer, P2P_NVLINK, &status))
		return "peer";
	if (status == P2P_OK)
		return "NVLink";
	if (!n->ancestor || n->ancestor(n->device, peer, &level) || level < 0 || level % 10 ||
	    (size_t)level / 10 >= sizeof(levels) / sizeof(levels[0]))
		return "PCIe";
	return levels[level / 10];
}
