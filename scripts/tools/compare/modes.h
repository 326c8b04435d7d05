/* SPDX-License-Identifier: BSD-3-Clause */
/* The modes of `compare`: compare two sets, test itself on one set, or find changes over many. */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_MODES_H
#define FB_SCRIPTS_TOOLS_COMPARE_MODES_H

#include "scripts/tools/compare/launches.h"

#include <stdio.h>

/* The command line. Texts are borrowed from it. */
struct fb_compare_settings {
	const char *metric, *filter;
	double threshold, alpha;
	const char *thresholds, *noise; /* files; NULL: none */
	bool paired, keep_marked, force;
	uint64_t seed;
	bool strict, all;
	const char *csv, *junit, *forest; /* files; NULL: not asked for */
	bool self_test, history;

	struct fb_metric_name metric_name; /* of `metric` and `filter`, parsed */
	struct fb_key_filter key_filter;
};

/* Each prints to stdout and returns the exit code. */

/* Two paths, or one whose folders a and b are the sides. */
int fb_mode_compare(const struct fb_compare_settings *settings, char *const *paths, size_t count);

/* One path, all of whose launches were made under the same conditions. */
int fb_mode_self_test(const struct fb_compare_settings *settings, char *const *paths, size_t count);

/* A path for each night, in order of time. */
int fb_mode_history(const struct fb_compare_settings *settings, char *const *paths, size_t count);

/*
 * Reads a side as the settings say; see fb_set_read. Returns 0 or FB_EINPUT (printed), also where
 * no file has a column of the metric's name.
 */
int fb_mode_read(const struct fb_compare_settings *settings, struct fb_keys *keys,
		 struct fb_set *set, const char *path, const char *side);

/*
 * Opens a file for writing. NULL path: *out is NULL, which fb_output_close takes. Returns 0 or
 * FB_EINPUT (printed, naming the option).
 */
int fb_output_open(FILE **out, const char *option, const char *path);

/* Closes. Returns 0, or FB_EIO (printed) where not everything reached the file. */
int fb_output_close(FILE *out, const char *path);

#endif
