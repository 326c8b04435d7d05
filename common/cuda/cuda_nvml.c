/* SPDX-License-Identifier: BSD-3-Clause */
/* NVML by dlopen, with prototypes of its documented, stable interface; see cuda_nvml.h. */
#include "common/cuda/cuda_nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* nvmlClockType_t; nvmlReturn_t is 0 for success. */
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2 };

/* NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_*, in KiB; nvmlGpuP2PCapsIndex_t, nvmlGpuP2PStatus_t. */
enum { DATA_SENT = 138, DATA_RECEIVED = 139, P2P_NVLINK = 2, P2P_OK = 0 };

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

enum { ALL_LINKS = -1, TYPE_U32 = 1 };

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

void fb_gpu_links_read(const struct fb_gpu *gpu, struct fb_gpu_links *links)
{
	const struct fb_nvml *n = gpu->nvml;
	struct field field[2] = {{.id = DATA_SENT, .scope = (unsigned)ALL_LINKS},
				 {.id = DATA_RECEIVED, .scope = (unsigned)ALL_LINKS}};
	uint64_t bytes[2];

	links->known = false;
	if (!n || !n->fields || n->fields(n->device, 2, field))
		return;
	for (int i = 0; i < 2; i++) {
		if (field[i].result)
			return;
		bytes[i] = (field[i].type == TYPE_U32 ? field[i].value.u32
						      : field[i].value.u64) << 10;
	}
	*links = (struct fb_gpu_links){true, bytes[0], bytes[1]};
}

void fb_gpu_links_text(const struct fb_gpu *gpu, const struct fb_gpu_links *before, double bytes,
		       char *text, size_t n)
{
	struct fb_gpu_links after;
	double carried;

	snprintf(text, n, "%s", "");
	fb_gpu_links_read(gpu, &after);
	if (!before->known || !after.known || bytes <= 0)
		return;
	carried = (double)(after.sent_bytes - before->sent_bytes) +
		  (double)(after.received_bytes - before->received_bytes);
	if (carried >= bytes / 10)
		snprintf(text, n, "NVLink %.2f", carried / bytes);
}

const char *fb_gpu_link_to(const struct fb_gpu *gpu, int rank)
{
	const struct fb_nvml *n = gpu->nvml;
	void *peer;
	int status;

	if (!n || !n->p2p || n->by_bus_id(gpu->peers[rank], &peer) ||
	    n->p2p(n->device, peer, P2P_NVLINK, &status))
		return "peer";
	return status == P2P_OK ? "NVLink" : "PCIe";
}
