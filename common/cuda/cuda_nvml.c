/* SPDX-License-Identifier: BSD-3-Clause */
/* NVML, loaded at run time, by prototypes of its documented interface; see cuda_nvml.h. */
#include "common/cuda/cuda_nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/library/library.h"

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

/* Names as of nvidia-smi for nvmlGpuTopologyLevel_t, whose values are 0 (one board), 10, 20, ... */
static const char *const levels[] = {"PCIe",	 "PCIe PIX",  "PCIe PXB",
				     "PCIe PHB", "PCIe NODE", "PCIe SYS"};

enum { TYPE_U32 = 1, ASKED = 2 };

#define NEEDED(name, member) { name, offsetof(struct fb_nvml, member), false }
#define OPTIONAL(name, member) { name, offsetof(struct fb_nvml, member), true }

static const struct fb_library_symbol symbols[] = {
	NEEDED("nvmlInit_v2", init),
	NEEDED("nvmlShutdown", shutdown),
	NEEDED("nvmlDeviceGetHandleByPciBusId_v2", by_bus_id),
	NEEDED("nvmlDeviceGetClockInfo", clock),
	NEEDED("nvmlDeviceGetCurrentClocksThrottleReasons", throttle),
	OPTIONAL("nvmlDeviceGetFieldValues", fields),
	OPTIONAL("nvmlDeviceGetP2PStatus", p2p),
	OPTIONAL("nvmlDeviceGetTopologyCommonAncestor", ancestor),
};

void *fb_nvml_open(const char *bus_id)
{
	struct fb_nvml *n = calloc(1, sizeof(*n));
	char ignored[256];

	if (!n)
		return NULL;
	n->answer = calloc(FB_NVML_ROOM, sizeof(*n->answer));
	n->library = fb_library_open("libnvidia-ml.so.1", NULL, 0, ignored, sizeof(ignored));
	if (n->answer && n->library &&
	    !fb_library_functions(n->library, symbols, sizeof(symbols) / sizeof(symbols[0]), n) &&
	    !n->init()) {
		if (!n->by_bus_id(bus_id, &n->device))
			return n;
		n->shutdown();
	}
	n->shutdown = NULL;
	fb_nvml_close(n);
	return NULL;
}

void fb_nvml_close(void *nvml)
{
	struct fb_nvml *n = nvml;

	if (!n)
		return;
	if (n->shutdown)
		n->shutdown();
	fb_library_close(n->library);
	free(n->answer);
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

static struct fb_link_counter read_counter(const struct fb_nvml *n, enum fb_gpu_link kind)
{
	struct fb_nvml_field *field = n->answer;
	struct fb_link_counter counter = {.known = false};
	uint64_t bytes[ASKED];

	memset(field, 0, FB_NVML_ROOM * sizeof(*field));
	field[0].id = counters[kind].sent;
	field[1].id = counters[kind].received;
	field[0].scope = field[1].scope = counters[kind].scope;
	if (n->fields(n->device, ASKED, field))
		return counter;
	for (int i = 0; i < ASKED; i++) {
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
