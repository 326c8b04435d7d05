/* SPDX-License-Identifier: BSD-3-Clause */
/* The program kv_reshard; all it does is in program.h. */
#include "kvtransfer/program.h"

#include <stddef.h>

int main(int argc, char **argv)
{
	static const struct fb_kv_engine_ops *const more[] = {NULL};

	return fb_kv_main(more, NULL, argc, argv);
}
