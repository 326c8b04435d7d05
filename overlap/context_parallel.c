/* SPDX-License-Identifier: BSD-3-Clause */
/* The program context_parallel; its schedule is in overlap/schedule/context_parallel.c. */
#include "overlap/frame/frame.h"

int main(int argc, char **argv)
{
	return fb_step_main(&fb_schedule_context_parallel, argc, argv);
}
