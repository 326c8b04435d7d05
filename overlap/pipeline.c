/* SPDX-License-Identifier: BSD-3-Clause */
/* The program pipeline; its schedule is in overlap/schedule/pipeline.c. */
#include "overlap/frame/frame.h"

int main(int argc, char **argv)
{
	return fb_step_main(&fb_schedule_pipeline, argc, argv);
}
