/* SPDX-License-Identifier: BSD-3-Clause */
/* The program graph; its schedule is in overlap/schedule/graph.c. */
#include "overlap/frame/frame.h"

int main(int argc, char **argv)
{
	return fb_step_main(&fb_schedule_graph, argc, argv);
}
