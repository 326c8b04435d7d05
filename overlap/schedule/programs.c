/* SPDX-License-Identifier: BSD-3-Clause */
/* The schedules that there are. */
#include "overlap/options.h"
#include "overlap/schedule/schedule.h"

const char *const fb_overlap_priorities[] = {"high", "normal", NULL};
const char *const fb_overlap_compute_types[] = {"bf16", "fp8", NULL};
const char *const fb_background_operations[] = {"all_gather", "all_reduce", NULL};

const struct fb_schedule_program *const fb_schedule_programs[] = {
	&fb_schedule_ddp,
	&fb_schedule_fsdp,
	&fb_schedule_tensor_parallel,
	&fb_schedule_pipeline,
	&fb_schedule_moe,
	&fb_schedule_context_parallel,
	&fb_schedule_hazards,
	&fb_schedule_graph,
	&fb_schedule_contention,
	&fb_schedule_dataparallel,
	&fb_schedule_staging,
	NULL,
};
