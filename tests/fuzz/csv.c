/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Result files and all others of a folder: the reader, the checker, and what tools make of them.
 *
 * seeds: tests/golden/query tests/golden/plotdata tests/golden/summary tests/golden/summary/fault
 */
#include "common/record/csv_check.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/results.h"
#include "scripts/tools/lib/sheet.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const char *path = fuzz_file(bytes, n);
	struct fb_csv_check check = {.out = NULL};
	struct fb_results results = {.row = NULL};
	struct fb_sheet sheet = {.path = NULL};

	fb_csv_check_file(&check, path);
	fb_sheet_read(&sheet, path);
	if (!fb_sheet_read_any(&sheet, path))
		for (size_t row = 0; row < sheet.nrows; row++)
			fb_sheet_number(&sheet, row, 0);
	if (!fb_results_read(&results, path))
		for (size_t i = 0; i < results.count; i++)
			fb_result_number(&results.row[i], "median_us");
	fb_memory_end();
	return 0;
}
