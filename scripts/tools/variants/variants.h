/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows that the tool variants compares. Private to that tool. */
#ifndef FB_SCRIPTS_TOOLS_VARIANTS_VARIANTS_H
#define FB_SCRIPTS_TOOLS_VARIANTS_VARIANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One row of one launch. */
struct fb_variant_row {
	const char *variant; /* "A=1;B=2", sorted */
	const char *key;     /* all other keys */
	uint64_t launch;
	double value; /* NAN: not measured */
	bool marked;  /* launches.csv marks its launch as disturbed */
	const char *path, *channels;
};

struct fb_variant_rows {
	struct fb_variant_row *item; /* [count] */
	size_t count;
};

/* Assignments joined by ';', in the order of their texts, whatever order they come in. */
char *fb_variant_sorted(const char *assignments);

/*
 * Reads the rows of a folder that meet the conditions; or of two folders, whose paths are then the
 * names of the variants. Rows of launches that launches.csv marks as disturbed get `marked`, unless
 * keep_marked. Returns 0 or FB_EINPUT (printed).
 */
int fb_variant_rows_read(struct fb_variant_rows *rows, char **path, size_t paths,
			 char *const *condition, size_t conditions, const char *metric,
			 bool keep_marked);

#endif
