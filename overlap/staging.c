/* SPDX-License-Identifier: BSD-3-Clause */
/* The program staging; its schedule is in overlap/schedule/staging.c. */
#include "overlap/frame/frame.h"

int main(int argc, char **argv)
{
	return fb_step_main(&fb_schedule_staging, argc, argv);
}
