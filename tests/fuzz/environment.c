/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * environment.csv and launches.csv as compare sees them.
 *
 * seeds: tests/golden/summary/one tests/golden/summary/six
 */
#include "scripts/tools/compare/environment_view.h"
#include "scripts/tools/compare/limits.h"
#include "scripts/tools/compare/marks.h"
#include "scripts/tools/lib/memory.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const char *path = fuzz_file(bytes, n);
	struct fb_limits limits = {.threshold = 0};
	struct fb_marks marks = {.mark = NULL};
	struct fb_view view = {.line = NULL};
	struct fb_env env = {.fact = NULL};

	if (!fb_env_read(&env, path)) {
		fb_env_sort(&env);
		fb_view_make(&view, &env);
		fb_limits_add_floors(&limits, &env, 0);
	}
	fb_marks_read(&marks, path, "a");
	fb_memory_end();
	return 0;
}
