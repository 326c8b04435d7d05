/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tuning tables, and looking up in them.
 *
 * seeds: collectives/tuning
 */
#include "collectives/tuning/tuning.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const struct fb_tuning_key key = {.engine = "host", .operation = "all_reduce",
					  .transport = "shm", .algorithm = "auto",
					  .protocol = "auto", .ranks = 4, .nodes = 1, .element = 4};
	char *text = fuzz_text(bytes, n);
	struct fb_tunings tunings = {.table = NULL};
	const struct fb_tuning *table;

	if (!fb_tunings_parse(&tunings, text, "fuzz", NULL)) {
		table = fb_tunings_for(&tunings, FB_MACHINE_CPU, NULL);
		if (table)
			fb_tuning_find(table, &key, 4096, NULL, NULL);
	}
	fb_tunings_free(&tunings);
	free(text);
	return 0;
}
