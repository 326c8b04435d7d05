/* SPDX-License-Identifier: BSD-3-Clause */
/* The program tensor_parallel; its schedule is in overlap/schedule/tensor_parallel.c. */
#include "overlap/frame/frame.h"

int main(int argc, char **argv)
{
	return fb_step_main(&fb_schedule_tensor_parallel, argc, argv);
}
