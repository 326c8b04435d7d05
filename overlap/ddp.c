/* SPDX-License-Identifier: BSD-3-Clause */
/* The program ddp; its parts are in program.h. */
#include "overlap/program.h"

int main(int argc, char **argv)
{
	struct fb_ddp_settings settings = {.layers = 0};
	struct fb_column columns[FB_DDP_COLUMNS];
	const struct fb_program program = fb_ddp_describe(&settings, columns);

	return fb_program_main(&program, argc, argv);
}
