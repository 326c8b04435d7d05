/* SPDX-License-Identifier: BSD-3-Clause */
/* The program kv_reshard; all it does is in program.h. */
#include "kvtransfer/program.h"

int main(int argc, char **argv)
{
	return fb_kv_main(fb_kv_engines, NULL, argc, argv);
}
