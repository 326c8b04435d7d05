/* SPDX-License-Identifier: BSD-3-Clause */
/* The program kv_reshard: handoff --operation handover, with the options that it had by itself. */
#include "kvtransfer/handoff/handoff.h"

int main(int argc, char **argv)
{
	return fb_handoff_main(&fb_handoff_kv_reshard, argc, argv);
}
