/* SPDX-License-Identifier: BSD-3-Clause */
/* The program handoff; all it does is in handoff/. */
#include "kvtransfer/handoff/handoff.h"

#include <stddef.h>

int main(int argc, char **argv)
{
	static const struct fb_default defaults[] = {
		{"bytes", "0"}, {"datatype", "bf16"}, {"algorithm", "put"}, {NULL, NULL}};
	static const struct fb_handoff_name name = {.name = "handoff", .defaults = defaults};

	return fb_handoff_main(&name, argc, argv);
}
