/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the readers of nvbandwidth's text and JSON. Private to import. */
#ifndef FB_SCRIPTS_TOOLS_IMPORT_NVBANDWIDTH_H
#define FB_SCRIPTS_TOOLS_IMPORT_NVBANDWIDTH_H

#include "scripts/tools/import/import.h"

struct fb_nvbandwidth_run {
	char version[32]; /* "v0.8" */
	char driver[32], cuda[32], gpu[96];
	uint64_t processes, hosts; /* of a multi-node run; 0: one process */
};

/* Where a value stands. */
struct fb_nvbandwidth_cell {
	const char *testcase, *description;
	char matrix[16]; /* "Read1", "Total"; "": the only one */
	char row[64], column[64];
};

int fb_nvbandwidth_begin(struct fb_import *import, const struct fb_text *text,
			 const struct fb_nvbandwidth_run *run);

/* Adds a value in GB/s or, where the description says (ns), in nanoseconds. */
int fb_nvbandwidth_add(struct fb_import *import, size_t line, const struct fb_nvbandwidth_run *run,
		       const struct fb_nvbandwidth_cell *cell, double value);

/* Adds a row for a test case without values: waived (skipped), or failed (fault). */
int fb_nvbandwidth_add_none(struct fb_import *import, size_t line, const char *testcase,
			    bool failed, const char *why);

/* The word before "bandwidth" or "latency" that tells several matrices of a test case apart. */
const char *fb_nvbandwidth_matrix(const char *description, char *buf, size_t n);

#endif
