/* SPDX-License-Identifier: BSD-3-Clause */
/* The program dataparallel; its schedule is in overlap/schedule/dataparallel.c. */
#include "overlap/frame/frame.h"

int main(int argc, char **argv)
{
	return fb_step_main(&fb_schedule_dataparallel, argc, argv);
}
