/* SPDX-License-Identifier: BSD-3-Clause */
/* The program hazards; its schedule is in overlap/schedule/hazards.c. */
#include "overlap/frame/frame.h"

int main(int argc, char **argv)
{
	return fb_step_main(&fb_schedule_hazards, argc, argv);
}
