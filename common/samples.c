/* SPDX-License-Identifier: BSD-3-Clause */
/* The writer of samples.csv; see samples.h. */
#include "common/samples.h"

#include "common/csv.h"
#include "common/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int fb_samples_open(struct fb_samples *samples, const char *dir, const char *run,
		    uint64_t launch_index, const char *program)
{
	struct fb_samples opened = {
		.run = run,
		.program = program,
		.launch_index = launch_index,
	};
	int ret = fb_append_open(&opened.file, dir, "samples.csv",
				 "run,launch_index,program,row,repetition,time_us\n", false);

	if (!ret)
		*samples = opened;
	return ret;
}

int fb_samples_append(struct fb_samples *samples, uint64_t row, const double *time_us, size_t count)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	int ret = FB_OK;

	if (!out)
		return fb_error(FB_ENOMEM, "no memory for the samples of a row");
	for (size_t i = 0; i < count; i++) {
		fb_csv_put_field(out, samples->run);
		fprintf(out, ",%" PRIu64 ",", samples->launch_index);
		fb_csv_put_field(out, samples->program);
		fprintf(out, ",%" PRIu64 ",%zu,%.4f\n", row, i, time_us[i]);
	}
	if (fclose(out))
		ret = fb_error(FB_ENOMEM, "no memory for the samples of a row");
	else if (count)
		ret = fb_append_write(&samples->file, text, bytes);
	free(text);
	return ret;
}

int fb_samples_close(struct fb_samples *samples)
{
	return fb_append_close(&samples->file);
}
