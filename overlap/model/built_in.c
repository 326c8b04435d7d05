/* SPDX-License-Identifier: BSD-3-Clause */
/* The models of this folder, put into the programs as collectives/tuning/built_in.c puts tables. */
#include "overlap/model/model.h"

#define FB_NN_FILE(file) ".incbin \"" file "\"\n"

__asm__(".pushsection .rodata\n"
	".global fb_nns_text\n"
	"fb_nns_text:\n"
#include "model_files.h"
	".byte 0\n"
	".popsection\n");

extern const char fb_nns_text[];

const char *fb_nns_built_in(void)
{
	return fb_nns_text;
}
