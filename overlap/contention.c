/* SPDX-License-Identifier: BSD-3-Clause */
/* The program contention; its schedule is in overlap/schedule/contention.c. */
#include "overlap/frame/frame.h"

int main(int argc, char **argv)
{
	return fb_step_main(&fb_schedule_contention, argc, argv);
}
