/* SPDX-License-Identifier: BSD-3-Clause */
/* The writers of samples.csv and ranks.csv; see samples.h. */
#include "common/record/samples.h"

#include "common/base/error.h"
#include "common/record/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int open_file(struct fb_samples *samples, struct fb_samples opened, const char *dir,
		     const char *name, const char *columns)
{
	int ret = fb_append_open(&opened.file, dir, name, columns, false);

	*samples = opened;
	return ret;
}

int fb_samples_open(struct fb_samples *samples, const char *dir, const char *run,
		    uint64_t launch_index, const char *program)
{
	return open_file(samples, (struct fb_samples){{0}, run, program, launch_index}, dir,
			 "samples.csv", "run,launch_index,program,row,repetition,time_us\n");
}

int fb_samples_open_ranks(struct fb_samples *samples, const char *dir, const char *run,
			  uint64_t launch_index, const char *program)
{
	return open_file(samples, (struct fb_samples){{0}, run, program, launch_index}, dir,
			 "ranks.csv",
			 "run,launch_index,program,row,repetition,rank,begin_us,end_us\n");
}

static void put_begin(const struct fb_samples *samples, uint64_t row, size_t repetition, FILE *out)
{
	fb_csv_put_field(out, samples->run);
	fprintf(out, ",%" PRIu64 ",", samples->launch_index);
	fb_csv_put_field(out, samples->program);
	fprintf(out, ",%" PRIu64 ",%zu,", row, repetition);
}

/* Closes and writes a block that open_memstream made. */
static int finish(struct fb_samples *samples, FILE *out, char *const *text, const size_t *bytes)
{
	int ret = FB_OK;

	if (fclose(out))
		ret = fb_error(FB_ENOMEM, "no memory for the samples of a row");
	else if (*bytes)
		ret = fb_append_write(&samples->file, *text, *bytes);
	free(*text);
	return ret;
}

int fb_samples_append(struct fb_samples *samples, uint64_t row, const double *time_us, size_t count)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return fb_error(FB_ENOMEM, "no memory for the samples of a row");
	for (size_t i = 0; i < count; i++) {
		put_begin(samples, row, i, out);
		fprintf(out, "%.4f\n", time_us[i]);
	}
	return finish(samples, out, &text, &bytes);
}

int fb_samples_append_ranks(struct fb_samples *samples, uint64_t row,
			    const struct fb_rank_time *time, size_t count, size_t ranks,
			    bool one_clock)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return fb_error(FB_ENOMEM, "no memory for the samples of a row");
	for (size_t i = 0; i < count * ranks; i++) {
		if (isnan(time[i].begin))
			continue;
		put_begin(samples, row, i / ranks, out);
		fprintf(out, "%zu,", i % ranks);
		if (one_clock)
			fprintf(out, "%.4f", time[i].begin);
		fprintf(out, ",%.4f\n", time[i].end);
	}
	return finish(samples, out, &text, &bytes);
}

int fb_samples_close(struct fb_samples *samples)
{
	return fb_append_close(&samples->file);
}
