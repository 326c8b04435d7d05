/* SPDX-License-Identifier: BSD-3-Clause */
/* The column messages_per_s; see program.h. */
#include <stdlib.h>

#include "common/measure/stats.h"
#include "p2p/program.h"

const struct fb_column fb_p2p_rate_columns[FB_P2P_RATE_COLUMNS] = {
	{.name = "messages_per_s", .kind = FB_COLUMN_VALUE, .type = FB_COLUMN_F64, .unit = "1/s",
	 .help = "message rate of all flows together, from the median time"},
};

void fb_p2p_rate(const struct fb_job *job, const double *us, size_t n, struct fb_traits *traits)
{
	double *scratch = malloc(2 * n * sizeof(*scratch));
	double median = scratch && n ? fb_median(us, n, scratch) : 0;

	if (median > 0)
		traits->extra[0] = (double)job->nflows * job->window / median * 1e6;
	free(scratch);
}
