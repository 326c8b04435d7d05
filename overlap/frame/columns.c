/* SPDX-License-Identifier: BSD-3-Clause */
/* The columns that programs of steps have; measure.c and program.c fill them in. */
#include "overlap/frame/frame.h"

#define COLUMN(name_, type_, unit_, help_)                                                         \
	{                                                                                          \
		.name = (name_), .kind = FB_COLUMN_VALUE, .type = (type_), .unit = (unit_),        \
		.help = (help_)                                                                    \
	}

const struct fb_column fb_step_columns[] = {
	COLUMN("compute_us", FB_COLUMN_TIME_US, "us", "computing alone, between the row's steps"),
	COLUMN("communication_us", FB_COLUMN_TIME_US, "us", "communicating alone, likewise"),
	COLUMN("exposed_us", FB_COLUMN_F64, "us", "a step less the computing behind it, median"),
	COLUMN("exposed_low_us", FB_COLUMN_F64, "us", "lower end of its 95% interval"),
	COLUMN("exposed_high_us", FB_COLUMN_F64, "us", "upper end"),
	COLUMN("hidden_share", FB_COLUMN_F64, "", "share of communication_us that is not exposed; "
	       "empty where the interval of exposed_us is wider than communication_us, and "
	       "for pipelines, whose exposed_us contains the bubble"),
	COLUMN("tail_us", FB_COLUMN_F64, "us", "from the end of computing to the end of the step"),
	COLUMN("compute_slowdown", FB_COLUMN_F64, "",
	       "time in tasks that compute: in the step over alone"),
	COLUMN("communication_slowdown", FB_COLUMN_F64, "",
	       "time in collectives: in the step over alone"),
	COLUMN("collectives", FB_COLUMN_U64, "", "collectives of a rank in a step"),
	COLUMN("launches", FB_COLUMN_U64, "", "products, copies and collectives of a rank; 1: "
	       "a graph"),
	COLUMN("tokens", FB_COLUMN_U64, "", "tokens that a rank computes for"),
	COLUMN("tokens_per_s", FB_COLUMN_F64, "1/s", "tokens of a step of all ranks over its time"),
	COLUMN("tokens_per_s_rank", FB_COLUMN_F64, "1/s", "tokens_per_s over the ranks"),
	COLUMN("compute_TFLOPS", FB_COLUMN_F64, "TFLOP/s", "of computing alone, on rank 0"),
	COLUMN("bubble_share", FB_COLUMN_F64, "", "exposed_us over the step"),
	COLUMN("bubble_theory", FB_COLUMN_F64, "",
	       "idle share where passes take equal times and communication none"),
	COLUMN("logical_GBps", FB_COLUMN_F64, "GB/s",
	       "all that a rank dispatches and combines, over communication_us"),
	COLUMN("wire_GBps", FB_COLUMN_F64, "GB/s", "of it what is for other ranks"),
	COLUMN("budget_share", FB_COLUMN_F64, "", "communication_us over --token-budget"),
	COLUMN("compression_error", FB_COLUMN_F64, "", "of a sum of random gradients that are "
	       "compressed, not the row's: length of the difference over that of the sum"),
	COLUMN("base_us", FB_COLUMN_TIME_US, "us", "the step that this one is compared with"),
	COLUMN("cost_us", FB_COLUMN_F64, "us", "this step less that one behind it, median"),
	COLUMN("cost_low_us", FB_COLUMN_F64, "us", "lower end of its 95% interval"),
	COLUMN("cost_high_us", FB_COLUMN_F64, "us", "upper end"),
	COLUMN("capture_us", FB_COLUMN_F64, "us", "capturing the step's graph"),
	COLUMN("instantiate_us", FB_COLUMN_F64, "us", "making it ready to launch"),
	COLUMN("break_even", FB_COLUMN_F64, "", "steps until a graph has saved what both took"),
	COLUMN("over_bound", FB_COLUMN_F64, "", "the step over the longer one of compute_us and "
	       "communication_us"),
	COLUMN("background_us", FB_COLUMN_TIME_US, "us", "traffic of --background alone"),
	COLUMN("over_longer", FB_COLUMN_F64, "", "the step over the longer one of base_us and "
	       "background_us"),
	COLUMN("sm_busy", FB_COLUMN_F64, "", "share of the time in which a multiprocessor of rank "
	       "0's GPU had a warp, mean of all, in steps that are not timed; from Hopper on"),
	COLUMN("sm_occupancy", FB_COLUMN_F64, "", "warps that were there then, of as many as fit"),
};

_Static_assert(sizeof(fb_step_columns) / sizeof(fb_step_columns[0]) ==
	       FB_STEP_COLUMNS - FB_COLLECTIVE_COLUMNS, "every column is there");
