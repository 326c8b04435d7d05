/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading ranks.csv; see rank_times.h. */
#include "common/base/error.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/rank_times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 65536 };

enum { RUN, LAUNCH, PROGRAM, ROW, REPETITION, RANK, BEGIN, END, COLUMNS };
static const char *const names[] = {"run",  "launch_index", "program", "row", "repetition",
				    "rank", "begin_us",	    "end_us",  NULL};

static int compare_samples(const void *x, const void *y)
{
	const struct fb_rank_sample *a = x, *b = y;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return a->repetition < b->repetition ? -1 : a->repetition > b->repetition;
}

/* Lines of one row of one launch come together; where they do not, it is another group. */
static bool same_group(const struct fb_sheet *table, const int *c, size_t a, size_t b)
{
	for (int i = RUN; i <= ROW; i++)
		if (strcmp(fb_sheet_text(table, a, c[i]), fb_sheet_text(table, b, c[i])))
			return false;
	return true;
}

int fb_rank_times_read(struct fb_rank_times *r, const char *path)
{
	int c[COLUMNS], err = fb_sheet_read_any(&r->table, path);

	if (!err)
		err = fb_sheet_columns(&r->table, names, c);
	if (err)
		return err;
	r->sample = fb_new(r->table.nrows + 1, sizeof(*r->sample));
	r->group_row = fb_new(r->table.nrows + 1, sizeof(*r->group_row));
	for (size_t i = 0; i < r->table.nrows; i++) {
		struct fb_rank_sample *s = &r->sample[i];
		double rank = fb_sheet_number(&r->table, i, c[RANK]);

		if (i == 0 || !same_group(&r->table, c, i, i - 1))
			r->group_row[r->groups++] = i;
		s->group = r->groups;
		s->repetition = strtoull(fb_sheet_text(&r->table, i, c[REPETITION]), NULL, 10);
		s->begin_us = *fb_sheet_text(&r->table, i, c[BEGIN])
				      ? fb_sheet_number(&r->table, i, c[BEGIN])
				      : 0; /* no common clock: end_us is the duration */
		r->late_known |= s->begin_us > 0;
		s->end_us = fb_sheet_number(&r->table, i, c[END]);
		if (!(rank >= 0 && rank < RANKS_MAX) || !isfinite(s->begin_us) ||
		    !(s->end_us >= s->begin_us))
			return fb_error(FB_EINPUT,
					"%s: data line %zu: rank, begin_us or end_us "
					"is no such number",
					path, i + 1);
		s->rank = (size_t)rank;
		r->ranks = s->rank >= r->ranks ? s->rank + 1 : r->ranks;
	}
	qsort(r->sample, r->table.nrows, sizeof(*r->sample), compare_samples);
	return FB_OK;
}

size_t fb_rank_times_end(const struct fb_rank_times *times, size_t i)
{
	size_t e = i;

	while (e < times->table.nrows && !compare_samples(&times->sample[i], &times->sample[e]))
		e++;
	return e;
}
