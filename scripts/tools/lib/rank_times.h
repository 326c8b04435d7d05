/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times of single ranks (ranks.csv), and the ranks that lag.
 *
 * Ranks of one host have one clock, so their times show which rank begins or ends late. Ranks of
 * several hosts have durations only. In an operation that no rank can leave before all have entered
 * it, the rank with the shortest duration entered last.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_RANK_TIMES_H
#define FB_SCRIPTS_TOOLS_LIB_RANK_TIMES_H

#include "scripts/tools/lib/results.h"
#include "scripts/tools/lib/sheet.h"

#include <stdbool.h>

/* One line of the file. */
struct fb_rank_sample {
	uint64_t group, repetition; /* group: from 1 */
	size_t rank;
	double begin_us, end_us; /* begin 0 where there is no common clock */
};

struct fb_rank_times {
	struct fb_sheet table;
	struct fb_rank_sample *sample; /* [table.nrows], sorted by group and repetition */
	size_t *group_row; /* [groups]: a line of the group, which is a row of a launch */
	size_t groups, ranks;
	bool late_known; /* there is a common clock */
};

/* Returns 0 or FB_EINPUT (printed). */
int fb_rank_times_read(struct fb_rank_times *times, const char *path);

/* The index behind the last sample of the repetition that begins at sample[i]. */
size_t fb_rank_times_end(const struct fb_rank_times *times, size_t i);

/*
 * Gives `use` a sentence for each rank that lags in more than half of the rows of a program, as
 * "all_reduce: rank 3 (host n2, GPU 1 at 0000:61:00.0, mlx5_3:1) begins 35.1 us after the others,
 * 21% of the time, in 12 of 14 rows". A rank lags in a row where the median over repetitions is
 * later than that of the other ranks by a tenth of the row's time and by more than ranks differ
 * among each other.
 */
void fb_laggards(const struct fb_rank_times *times, const struct fb_results *facts,
		 void (*use)(void *arg, const char *sentence), void *arg);

#endif
