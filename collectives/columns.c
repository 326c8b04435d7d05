/* SPDX-License-Identifier: BSD-3-Clause */
/* The collective programs' own columns; see engine/engine.h. */
#include "collectives/state.h"

#include <stdlib.h>

#include "common/measure/stats.h"

const struct fb_column fb_collective_columns[FB_COLLECTIVE_COLUMNS] = {
	[FB_EVENT_US] = {"event_us", FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us",
			 "a call by CUDA events around a batch, median over batches"},
	[FB_ITERATION_US] = {"iteration_us", FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us",
			     "from call to call by the device's clock, median"},
	[FB_ITERATION_P99_US] = {"iteration_p99_us", FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us",
				 "the same, 99th percentile"},
	[FB_THREADS] = {"threads", FB_COLUMN_VALUE, FB_COLUMN_U64, "", "threads of a block"},
	[FB_SLOTS] = {"slots", FB_COLUMN_VALUE, FB_COLUMN_U64, "", "slots of a link, at most"},
	[FB_SLOT_BYTES] = {"slot_bytes", FB_COLUMN_VALUE, FB_COLUMN_U64, "bytes",
			   "largest message, or zero-copy piece"},
	[FB_SM_MHZ] = {"sm_MHz", FB_COLUMN_VALUE, FB_COLUMN_F64, "MHz",
		       "clock of the multiprocessors right after the last call"},
	[FB_MEMORY_MHZ] = {"memory_MHz", FB_COLUMN_VALUE, FB_COLUMN_F64, "MHz",
			   "clock of the GPU's memory"},
	[FB_THROTTLE] = {"throttle", FB_COLUMN_VALUE, FB_COLUMN_U64, "",
			 "why clocks are not higher, as NVML's bits"},
	[FB_FRESH_CALLS] = {"fresh_calls", FB_COLUMN_VALUE, FB_COLUMN_U64, "",
			    "calls that had a producer and were checked"},
	[FB_STALE_CALLS] = {"stale_calls", FB_COLUMN_VALUE, FB_COLUMN_U64, "",
			    "those with wrong data"},
	[FB_STALE_BOUND] = {"stale_bound", FB_COLUMN_VALUE, FB_COLUMN_F64, "",
			    "where none was wrong: 95% bound of the share that is"},
	[FB_MODEL_US] = {"model_us", FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us",
			 "the call by NCCL's own model (--nccl-model)"},
	[FB_GPU_US] = {"gpu_us", FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us",
		       "the kernel of a ring by the GPU's timer (--nccl-gpu-time)"},
};

/* The kernel of a call lasts no longer than the call. */
void fb_collective_summarise(void *instance, const double *samples_us, size_t n,
			     struct fb_traits *traits)
{
	const double most = 1.5;
	double *scratch = malloc((2 * n + 1) * sizeof(*scratch));

	(void)instance;
	if (scratch && n && traits->extra[FB_GPU_US] > most * fb_median(samples_us, n, scratch))
		fb_traits_flag(traits, "gpu-time-long");
	free(scratch);
}
