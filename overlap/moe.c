/* SPDX-License-Identifier: BSD-3-Clause */
/* The program moe; its schedule is in overlap/schedule/moe.c. */
#include "overlap/frame/frame.h"

int main(int argc, char **argv)
{
	return fb_step_main(&fb_schedule_moe, argc, argv);
}
