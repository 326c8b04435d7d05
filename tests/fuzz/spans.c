/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spans of time from CSV and from traces in Chrome's format.
 *
 * seeds: tests/golden/plotdata
 */
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/plot/spans.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct fb_spans spans = {.span = NULL};

	fb_spans_read(&spans, fuzz_file(bytes, n));
	fb_memory_end();
	return 0;
}
