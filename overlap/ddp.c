/* SPDX-License-Identifier: BSD-3-Clause */
/* The program ddp; its schedule is in overlap/schedule/ddp.c. */
#include "overlap/frame/frame.h"

int main(int argc, char **argv)
{
	return fb_step_main(&fb_schedule_ddp, argc, argv);
}
