/* SPDX-License-Identifier: BSD-3-Clause */
/* Utilisation of multiprocessors by NVML's GPM; see gpu_busy.h. */
#include <stdlib.h>

#include "common/cuda/cuda_nvml.h"
#include "common/cuda/gpu_busy.h"
#include "common/library/library.h"

/* nvmlGpmMetricId_t; versions of structures. */
enum { SM_UTIL = 2, SM_OCCUPANCY = 3, ASKED = 2, VERSION = 1 };

/* nvmlGpmMetric_t */
struct metric {
	unsigned id;
	int result;
	double value; /* percent */
	char *names[3];
};

/* nvmlGpmMetricsGet_t, whose array has NVML_GPM_METRIC_MAX: 98 at first, more in later versions. */
struct metrics {
	unsigned version, count;
	void *sample[2];
	struct metric metric[512];
};

/* nvmlGpmSupport_t */
struct support {
	unsigned version, supported;
};

struct calls {
	int (*support)(void *device, struct support *support);
	int (*alloc)(void **sample);
	int (*free)(void *sample);
	int (*get)(void *device, void *sample);
	int (*metrics)(struct metrics *metrics);
};

struct fb_gpu_busy {
	struct calls calls;
	void *device;
	struct metrics metrics;
};

#define NEEDED(name, member) { name, offsetof(struct calls, member), false }

static const struct fb_library_symbol symbols[] = {
	NEEDED("nvmlGpmQueryDeviceSupport", support), NEEDED("nvmlGpmSampleAlloc", alloc),
	NEEDED("nvmlGpmSampleFree", free), NEEDED("nvmlGpmSampleGet", get),
	NEEDED("nvmlGpmMetricsGet", metrics),
};

static void close_busy(struct fb_gpu_busy *busy)
{
	for (int i = 0; i < 2; i++)
		if (busy->metrics.sample[i])
			busy->calls.free(busy->metrics.sample[i]);
	free(busy);
}

struct fb_gpu_busy *fb_gpu_busy_begin(const struct fb_gpu *gpu)
{
	const struct fb_nvml *n = gpu->nvml;
	struct fb_gpu_busy *busy = n ? calloc(1, sizeof(*busy)) : NULL;
	struct support support = {.version = VERSION};

	if (!busy)
		return NULL;
	busy->device = n->device;
	if (fb_library_functions(n->library, symbols, sizeof(symbols) / sizeof(symbols[0]),
				 &busy->calls) ||
	    busy->calls.support(n->device, &support) || !support.supported ||
	    busy->calls.alloc(&busy->metrics.sample[0]) ||
	    busy->calls.alloc(&busy->metrics.sample[1]) ||
	    busy->calls.get(busy->device, busy->metrics.sample[0])) {
		close_busy(busy);
		return NULL;
	}
	return busy;
}

void fb_gpu_busy_end(struct fb_gpu_busy *busy, struct fb_gpu_busy_shares *shares)
{
	struct metric *metric = busy ? busy->metrics.metric : NULL;

	if (!metric)
		return;
	busy->metrics.version = VERSION;
	busy->metrics.count = ASKED;
	metric[0].id = SM_UTIL;
	metric[1].id = SM_OCCUPANCY;
	if (!busy->calls.get(busy->device, busy->metrics.sample[1]) &&
	    !busy->calls.metrics(&busy->metrics)) {
		if (!metric[0].result)
			shares->sms = metric[0].value / 100;
		if (!metric[1].result)
			shares->occupancy = metric[1].value / 100;
	}
	close_busy(busy);
}
