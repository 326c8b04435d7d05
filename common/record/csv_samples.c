/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that samples.csv has all samples of the rows beside it; see csv_samples.h. The rows of a
 * launch are numbered from 0 in the order of the result file, including rows without samples.
 */
#include "common/record/csv_samples.h"

#include "common/base/error.h"
#include "common/record/csv_kind.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUN, LAUNCH, PROGRAM, ROW, REPETITION, FIELDS };

struct fb_csv_row_samples {
	size_t launch;
	uint64_t row, line, wanted, found;
};

/* The same run, launch and program. */
struct fb_csv_launch_samples {
	char *key;
	uint64_t rows;
	bool raw; /* samples.csv knows it */
};

static bool launch_of(const struct fb_csv_samples *s, const char *key, size_t *launch)
{
	for (size_t i = s->nlaunches; i-- > 0;)
		if (!strcmp(s->launch[i].key, key)) {
			*launch = i;
			return true;
		}
	return false;
}

static int out_of_memory(void)
{
	return fb_error(FB_ENOMEM, "no memory for the numbers of samples");
}

static int add_launch(struct fb_csv_samples *s, char *key, size_t *launch)
{
	struct fb_csv_launch_samples *more =
		realloc(s->launch, (s->nlaunches + 1) * sizeof(*more));

	if (!more)
		return out_of_memory();
	s->launch = more;
	s->launch[s->nlaunches] = (struct fb_csv_launch_samples){.key = strdup(key)};
	if (!s->launch[s->nlaunches].key)
		return out_of_memory();
	*launch = s->nlaunches++;
	return FB_OK;
}

int fb_csv_samples_row(struct fb_csv_samples *s, const char *const id[3], uint64_t line,
		       uint64_t samples)
{
	struct fb_csv_row_samples *more;
	size_t launch;
	char *key;
	int ret = FB_OK;

	if (asprintf(&key, "%s\x1f%s\x1f%s", id[0], id[1], id[2]) < 0)
		return out_of_memory();
	if (!launch_of(s, key, &launch))
		ret = add_launch(s, key, &launch);
	free(key);
	if (ret)
		return ret;
	if (s->nrows == s->capacity) {
		size_t capacity = s->capacity ? 2 * s->capacity : 64;

		more = realloc(s->row, capacity * sizeof(*more));
		if (!more)
			return out_of_memory();
		s->row = more;
		s->capacity = capacity;
	}
	s->row[s->nrows++] = (struct fb_csv_row_samples){
		.launch = launch,
		.row = s->launch[launch].rows++,
		.line = line,
		.wanted = samples,
	};
	return FB_OK;
}

/* Rows come in order in both files, so the search goes on where the last one ended. */
static void count_sample(struct fb_csv_samples *s, size_t launch, uint64_t row, size_t *last)
{
	s->launch[launch].raw = true;
	for (size_t n = 0; n < s->nrows; n++) {
		struct fb_csv_row_samples *r = &s->row[(*last + n) % s->nrows];

		if (r->launch == launch && r->row == row) {
			r->found++;
			*last = (*last + n) % s->nrows;
			return;
		}
	}
}

static int read_samples(struct fb_csv_samples *s, struct fb_csv_reader *r)
{
	size_t launch, last = 0;
	int more = fb_csv_reader_next(r);

	if (more != 1 || fb_csv_kind(r->fields, r->nfields) != FB_CSV_SAMPLES)
		return FB_OK;
	while ((more = fb_csv_reader_next(r)) == 1) {
		char *key;

		if (r->nfields <= FIELDS || r->torn)
			continue;
		if (asprintf(&key, "%s\x1f%s\x1f%s", r->fields[RUN], r->fields[LAUNCH],
			     r->fields[PROGRAM]) < 0)
			return out_of_memory();
		if (launch_of(s, key, &launch))
			count_sample(s, launch, strtoull(r->fields[ROW], NULL, 10), &last);
		free(key);
	}
	return more == FB_EDATA ? FB_OK : more;
}

int fb_csv_samples_judge(struct fb_csv_samples *s, struct fb_csv_check *check,
			 const struct fb_csv_reader *results)
{
	const char *slash = strrchr(results->path, '/');
	struct fb_csv_reader r = {.file = NULL}, at = *results;
	char *beside;
	int ret = FB_OK;

	if (asprintf(&beside, "%.*ssamples.csv", slash ? (int)(slash - results->path) + 1 : 0,
		     results->path) < 0)
		return out_of_memory();
	if (access(beside, R_OK) == 0)
		ret = fb_csv_reader_open(&r, beside);
	if (!ret && r.file)
		ret = read_samples(s, &r);
	fb_csv_reader_close(&r);
	free(beside);
	for (size_t i = 0; !ret && i < s->nrows; i++) {
		const struct fb_csv_row_samples *row = &s->row[i];

		at.line = row->line;
		if (s->launch[row->launch].raw && row->found != row->wanted)
			fb_csv_problem(check, &at, "samples",
				       "is %" PRIu64 ", and samples.csv has %" PRIu64
				       " of row %" PRIu64,
				       row->wanted, row->found, row->row);
	}
	return ret;
}

void fb_csv_samples_free(struct fb_csv_samples *s)
{
	for (size_t i = 0; i < s->nlaunches; i++)
		free(s->launch[i].key);
	free(s->launch);
	free(s->row);
	*s = (struct fb_csv_samples){.row = NULL};
}
