/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of this folder; see collectives/tuning/built_in.c, which has its own the same way. */
#include "kvtransfer/paths/paths.h"

#define FB_PATHS_FILE(file) ".incbin \"" file "\"\n"

__asm__(".pushsection .rodata\n"
	".global fb_paths_text\n"
	"fb_paths_text:\n"
#include "paths_files.h"
	".byte 0\n"
	".popsection\n");

extern const char fb_paths_text[];

const char *fb_paths_built_in(void)
{
	return fb_paths_text;
}
