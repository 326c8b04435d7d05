/* SPDX-License-Identifier: BSD-3-Clause */
/* What should remain of a transfer behind the computing; see stream.h. */
#include <math.h>

#include "kvtransfer/stream/stream.h"

double fb_stream_recursion(const double *computed_s, const double *layer_s, double transfer_s,
			   uint32_t layers)
{
	double others = 0, share = 0, there = -HUGE_VAL;

	for (uint32_t l = 1; l < layers; l++)
		others += layer_s[l];
	if (isnan(others + layer_s[0] + transfer_s))
		return (double)NAN;
	/* The first of the layers in a row takes as long as alone, the others what is left. */
	if (others > 0)
		share = fmax(0, (transfer_s - layer_s[0]) / others);
	for (uint32_t l = 0; l < layers; l++)
		there = fmax(there + share * layer_s[l], computed_s[l] + layer_s[l]);
	return there - computed_s[layers - 1];
}
