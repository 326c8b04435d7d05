/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of this folder, put into the programs as they are by the assembler's .incbin, so that
 * programs find them wherever they are started from. Which there are is a list that the Makefile
 * makes of the folder; paths are from the folder that make runs in.
 */
#include "collectives/tuning/tuning.h"

#define FB_TUNING_FILE(file) ".incbin \"" file "\"\n"

__asm__(".pushsection .rodata\n"
	".global fb_tunings_text\n"
	"fb_tunings_text:\n"
#include "tuning_files.h"
	".byte 0\n"
	".popsection\n");

extern const char fb_tunings_text[];

const char *fb_tunings_built_in(void)
{
	return fb_tunings_text;
}
