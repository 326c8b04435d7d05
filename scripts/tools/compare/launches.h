/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One side of a comparison: its result files as one number for each launch and row.
 *
 * The unit of replication is the launch. The repetitions within a launch are one median already,
 * and two numbers for one row and launch are refused.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_LAUNCHES_H
#define FB_SCRIPTS_TOOLS_COMPARE_LAUNCHES_H

#include "common/record/closing.h"
#include "common/record/csv.h"
#include "scripts/tools/lib/env.h"
#include "scripts/tools/compare/filter.h"
#include "scripts/tools/compare/keys.h"
#include "scripts/tools/compare/metric.h"

#include <stdbool.h>

struct fb_marks;

enum { FB_LAUNCHES_MAX = 4096, FB_MARK_CHARS = 64 };

struct fb_launch {
	const char *run;
	uint64_t index;
	char utc[FB_UTC_CHARS];	  /* when its first row was written; "" unknown */
	char mark[FB_MARK_CHARS]; /* the flags that launches.csv gives its rows ("drift"), or "" */
	size_t marked;		  /* how many of its rows */
	bool out;		  /* not used: marked, or it lacks too many rows */
};

/* One row of a file. */
struct fb_observation {
	double value;	 /* of the metric, > 0; NAN where there is none */
	uint32_t key;	 /* number in the set of keys */
	float time_us;	 /* median_us; NAN where there is none */
	uint16_t launch; /* number in `launch` */
	uint8_t status;	 /* enum fb_status */
	bool marked;	 /* launches.csv marks it as disturbed: not used */
};

/* The first reason and the first path that rows of a key have. */
struct fb_key_note {
	char *reason;  /* of the first row that is not ok, or NULL */
	uint16_t path; /* number in fb_set.path_text + 1; 0: none */
};

struct fb_set {
	const char *name;	  /* "BASE", "NEW"; borrowed */
	const char *path;	  /* borrowed */
	const char *side;	  /* the folder in it that was read; NULL: all. Borrowed */
	struct fb_launch *launch; /* [nlaunches], by run and index after reading */
	size_t nlaunches;
	struct fb_observation *row; /* [count], as read */
	size_t count;
	struct fb_key_note *note; /* [nnotes] by key */
	size_t nnotes;
	char **path_text; /* [npath_texts] values of column `path`, up to " (" */
	size_t npath_texts;
	struct fb_env facts;
	size_t incomplete; /* launches without their closing fact; the first of them in `lacking` */
	char lacking[FB_CLOSING_CHARS];
	struct fb_marks *marks; /* what launches.csv says of them; see marks.h */
	bool has_metric; /* at least one file has a column of the metric's name */
	size_t files;
};

/* What is to be read. */
struct fb_reading {
	struct fb_keys *keys; /* shared by both sides */
	const struct fb_metric_name *metric;
	const struct fb_key_filter *filter;
	bool keep_marked;
};

/*
 * Adds the rows of a result file, or of all result files of a folder and of the folders in it,
 * the facts of environment.csv and the marks of launches.csv there. With `tag` ("a") it reads only
 * the folder of that name in `path`, and in each folder of `path` (the parts of a study). It also
 * reads launches.csv and plan.tsv of the folder above; lines whose column `side` names another side
 * do not count. Then it sorts launches by (run, index). Returns 0 or FB_EINPUT (printed).
 */
int fb_set_read(struct fb_set *set, const struct fb_reading *reading, const char *path,
		const char *tag);

/* What really ran for a key, as far as the file says; "" for not known. Borrowed. */
const char *fb_set_path(const struct fb_set *set, uint32_t key);

/* Whether a folder holds two sides: folders a and b, in it or in folders of it. */
bool fb_folder_has_sides(const char *path);

#endif
