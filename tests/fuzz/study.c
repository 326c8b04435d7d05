/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Study files, and the order of launches made of them.
 *
 * seeds: scripts/studies tests/golden/study tests/aa
 */
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/study/plan.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const struct fb_study_changes changes = {.folder = "/none"};
	struct fb_sweep_plan plan = {.count = 0};
	struct fb_study study = {.nprograms = 0};

	if (!fb_study_read(&study, fuzz_file(bytes, n), &changes))
		fb_sweep_plan_make(&plan, &study, 4, 1);
	fb_memory_end();
	return 0;
}
