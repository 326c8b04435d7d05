/* SPDX-License-Identifier: BSD-3-Clause */
/* The program fsdp; its schedule is in overlap/schedule/fsdp.c. */
#include "overlap/frame/frame.h"

int main(int argc, char **argv)
{
	return fb_step_main(&fb_schedule_fsdp, argc, argv);
}
