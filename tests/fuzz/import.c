/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logs of other benchmarks: each format's reader, whether or not the file looks like its own.
 *
 * seeds: tests/golden/import
 */
#include "scripts/tools/import/import.h"
#include "scripts/tools/lib/memory.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const char *path = fuzz_file(bytes, n);

	for (size_t i = 0; i < fb_import_formats_count; i++) {
		struct fb_import import = {.hints = {.ranks = i % 2 ? 2 : 0, .nodes = 1}};

		fb_import_file(&import, path, fb_import_formats[i].name);
		fb_import_free(&import);
	}
	fb_memory_end();
	return 0;
}
