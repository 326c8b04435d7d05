/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The GPU of a rank: one rank per GPU, chosen by the rank's number on its host, and which peers'
 * memory it can reach.
 *
 * A build without CUDA, or a machine without a driver or a device, is no error: opening returns
 * FB_EUNSUPPORTED with the reason, and rows are skipped with it. The driver's own interface and
 * NVML are found at run time, never linked. No CUDA header is needed to include this one.
 * NVLink multicast is used by engine multimem alone (gpu_multicast.h).
 */
#ifndef FB_COMMON_CUDA_GPU_H
#define FB_COMMON_CUDA_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/session.h"

/* The reason of every row on GPUs in a build that has no CUDA. */
#define FB_NO_CUDA "built without CUDA"

struct fb_gpu_links; /* common/system/gpu_links.h */

/* A rank's GPU as a group of ranks sees it: `peers`, `reaches` and `all_reach` are of the group. */
struct fb_gpu {
	const struct fb_group *group;
	int device, devices;  /* this rank's, and how many the process sees */
	int sms;              /* multiprocessors */
	int major, minor;     /* compute capability */
	size_t memory_bytes;  /* free for one rank when devices were opened; least of all ranks */
	char name[64];        /* "NVIDIA H200" */
	char bus_id[16];      /* "0000:1b:00.0" */
	char uuid[48];        /* "GPU-..." as nvidia-smi has it */
	bool shared;          /* several ranks share a GPU, so times mean nothing */
	char (*peers)[16];    /* [nranks]: bus ids of the ranks' devices */
	bool *reaches;        /* [nranks]: this rank's GPU can map memory of that rank's GPU */
	bool all_reach;       /* every rank reaches every other */
	bool posix, fabric;   /* handle types that every rank's device can export */
	void *nvml;           /* struct fb_nvml, the session's; NULL: the library is missing */
	struct fb_gpu_kept *kept; /* mapped memory for the next segments (cuda_ipc.c) */
};

/* Clocks in MHz; throttle: NVML's bits of reasons why clocks are lowered. */
struct fb_gpu_clocks {
	double sm_MHz, memory_MHz;
	uint64_t throttle;
};

/*
 * Collective over the world: chooses, opens and makes current this rank's device. Called once in a
 * process, by fb_gpu_view_open. Returns the same on all ranks: FB_OK, FB_EUNSUPPORTED with the
 * reason, or FB_ENOMEM, FB_ESYS (printed); after an error *gpu needs no closing.
 */
int fb_gpu_open(struct fb_gpu *gpu, const struct fb_group *world, char reason[FB_REASON_CHARS]);

/* Local. Safe on a zeroed structure. */
void fb_gpu_close(struct fb_gpu *gpu);

/*
 * Collective over the group, and over the world the first time in a process, when the device is
 * opened: a rank that is in no group then opens a view of the world. The view has memory of its own
 * for the next segments, and uses the session's device. Returns as fb_gpu_open.
 */
int fb_gpu_view_open(struct fb_gpu *view, const struct fb_session *session,
		     const struct fb_group *group, char reason[FB_REASON_CHARS]);

/* Local. Safe on a zeroed structure. */
void fb_gpu_view_close(struct fb_gpu *view);

/* Local: the number of a rank's GPU in this process; negative: the process does not see it. */
int fb_gpu_device_of(const struct fb_gpu *gpu, int rank);

/* Local: free bytes of the current device; 0 where the runtime does not say. */
size_t fb_gpu_free_bytes(void);

/* Local: false where NVML is missing or does not say. */
bool fb_gpu_clocks(const struct fb_gpu *gpu, struct fb_gpu_clocks *clocks);

/* Local: of[].known is false where NVML is missing or does not say. */
void fb_gpu_links_read(const struct fb_gpu *gpu, struct fb_gpu_links *links);

/*
 * Local: how the GPU reaches another rank's GPU on this host: "NVLink"; or "PCIe" and what both
 * GPUs have in common, as nvidia-smi names it: PIX (one switch), PXB (several switches), PHB (the
 * host bridge), NODE (the NUMA node), SYS (only the host), or nothing if NVML does not know; "peer"
 * if NVML does not know the kind of connection.
 */
const char *fb_gpu_link_to(const struct fb_gpu *gpu, int rank);

#endif
