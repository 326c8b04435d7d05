/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threshold and noise files, filters of keys, and matrices as nvbandwidth prints them.
 *
 * seeds: tests/golden/plotdata tests/golden/compare tests/golden/import
 */
#include "scripts/tools/compare/filter.h"
#include "scripts/tools/compare/limits.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/plot/matrix.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const char *path = fuzz_file(bytes, n);
	struct fb_limits limits = {.threshold = 0};
	struct fb_key_filter filter;
	struct fb_matrix matrix = {.rows = 0};
	char *text = fuzz_text(bytes, n), why[128];
	size_t count = 0;

	fb_limits_read_thresholds(&limits, path);
	limits = (struct fb_limits){.threshold = 0};
	fb_limits_read_noise(&limits, path, "median_us");
	fb_key_filter_parse(text, &filter, why, sizeof(why));
	fb_matrix_read_text(&matrix, path, 1, &count);
	free(text);
	fb_memory_end();
	return 0;
}
