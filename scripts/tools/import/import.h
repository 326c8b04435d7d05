/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts other tools' output to rows of result files. Private to the import tool.
 *
 * A format reads a file and adds sections (one start of one program, which becomes a launch) with
 * records (one row each). What a tool does not report stays empty. A mean over many iterations is
 * one sample, because nothing is known about the spread of the iterations. All formats have the
 * same columns beyond the fixed ones, so that their files can be merged.
 */
#ifndef FB_SCRIPTS_TOOLS_IMPORT_IMPORT_H
#define FB_SCRIPTS_TOOLS_IMPORT_IMPORT_H

#include "common/record/schema.h"
#include "common/system/environment.h"
#include "scripts/tools/import/config.h"
#include "scripts/tools/import/text.h"

#include <stdbool.h>

/* The columns beyond the fixed ones. */
enum fb_import_extra {
	FB_EXTRA_ITERATIONS,
	FB_EXTRA_MEAN_US,
	FB_EXTRA_RANK_MAX_US,
	FB_EXTRA_STDEV_US,
	FB_EXTRA_REPORTED_MIN_US,
	FB_EXTRA_REPORTED_MAX_US,
	FB_EXTRA_REPORTED_P95_US,
	FB_EXTRA_REPORTED_P99_US,
	FB_EXTRA_REPORTED_P999_US,
	FB_EXTRA_PEAK_GBPS,
	FB_EXTRA_RATE_MPS,
	FB_EXTRA_OVERLAP_PERCENT,
	FB_EXTRA_CPU_PERCENT,
	FB_EXTRAS,
};
extern const struct fb_column fb_import_extras[FB_EXTRAS];

/* What the user says because the files do not; 0 and NULL: nothing. */
struct fb_import_hints {
	const char *operation;
	const char *tags; /* fb_variant_good; keys of all rows */
	uint64_t ranks, nodes, bytes;
};

struct fb_import_record {
	struct fb_case key; /* of the section's program; texts are static or below */
	struct fb_row row;  /* status, times other than those of samples, rates, errors */
	double extra[FB_EXTRAS];
	char operation[96], reason[200], flags[96];
	double *sample; /* [nsamples] times in us; none: row has its times already */
	size_t nsamples;
	double counted_bytes; /* algbw is this by the time; NAN: no rate */
	double bus_factor;    /* busbw is algbw times this; NAN: no busbw */
	size_t section, line; /* line of the input, for complaints */
};

struct fb_import_section {
	char program[64], path[128]; /* path: tool and version, for the column of that name */
	uint64_t ranks, nodes;
	bool nodes_assumed;
	bool unmarked; /* no line marks the end of its run, so no case may come twice */
	struct fb_facts facts; /* keys without prefix: "nccl.version" */
	struct fb_facts tags;  /* keys of all its rows: "NCCL_ALGO" */
	const char *file, *format;
	uint64_t hash; /* of the file's bytes */
	char utc[24];  /* when the file was last written */
	uint64_t launch;
	bool side; /* only facts, no rows, of a launch that the folder has; `launch` is known */
};

struct fb_import {
	struct fb_import_hints hints;
	const char *folder; /* of the results; borrowed */
	struct fb_config config; /* of the file that is being read */
	struct fb_import_section *section; /* [nsections] */
	size_t nsections;
	struct fb_import_record **record; /* [nrecords] */
	size_t nrecords;
};

struct fb_import_format {
	const char *name, *what;
	/* Whether the file looks like this format. Prints nothing. */
	bool (*detect)(const struct fb_text *text);
	/*
	 * Adds sections and records. NULL where the library it needs was not there at build time.
	 * Returns 0 or FB_EINPUT (printed, with the line).
	 */
	int (*read)(struct fb_import *import, const struct fb_text *text);
};

extern const struct fb_import_format fb_import_formats[];
extern const size_t fb_import_formats_count;

/*
 * Reads one file with the format of that name, or (NULL) with all that detect themselves in it.
 * Returns 0 or FB_EINPUT (also: no known format, no row); printed.
 */
int fb_import_file(struct fb_import *import, const char *path, const char *format);

/*
 * Begins a section: one start of `program`, which must be usable as a file name. The configuration
 * found so far (`config`) becomes its tags.
 */
int fb_import_begin(struct fb_import *import, const struct fb_text *text, const char *program,
		    const char *path);

/*
 * Sets ranks and nodes of the current section, which must be done before records are added. 0: the
 * file does not say it, so the user's hint is used. Without a hint, unknown ranks are FB_EINPUT
 * (printed), and nodes become `usual` with the flag nodes_assumed in every row.
 */
int fb_import_size(struct fb_import *import, const struct fb_text *text, size_t line,
		   uint64_t ranks, uint64_t nodes, uint64_t usual);

/* Adds a fact of the current section. */
void fb_import_fact(struct fb_import *import, const char *key, const char *value);

/* Adds a key for all rows of the current section; the value may be any text. */
void fb_import_tag(struct fb_import *import, const char *key, const char *value);

/*
 * Adds a record to the current section with everything empty: texts "-", algorithm, protocol and
 * transport "library", status few. NULL where memory is out (printed).
 */
struct fb_import_record *fb_import_add(struct fb_import *import, size_t line);

/* Adds one time to the record's samples. */
void fb_import_sample(struct fb_import_record *record, double us);

/*
 * Makes it one sample, the mean of so many iterations (NAN: unknown), and its reason; counted
 * bytes and bus factor as in struct fb_import_record. Returns 0, for `return fb_import_mean(...)`.
 */
int fb_import_mean(struct fb_import_record *record, double us, double iterations,
		   double counted_bytes, double bus_factor);

/* Adds a flag. */
void fb_import_flag(struct fb_import_record *record, const char *flag);

/* Adds key=value to the record's variant; call it in the order of the keys. */
void fb_import_variant(struct fb_import_record *record, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Puts each section's tags into its rows' variant, joins records of equal key within a section
 * (their times are samples), numbers the launches behind those of the folder, or from `first`, and
 * appends all to DIR/PROGRAM.csv and environment.csv. Returns 0, FB_EINPUT (a file was imported
 * before, a launch is there, keys do not fit; nothing written) or FB_EIO; printed.
 */
int fb_import_write(struct fb_import *import, const char *folder, const char *run, bool numbered,
		    uint64_t first);

/* Frees the facts; the rest is of lib/memory.h. */
void fb_import_free(struct fb_import *import);

/* The formats' functions, in files of their own. */
bool fb_telemetry_csv_detect(const struct fb_text *text);
int fb_telemetry_csv_read(struct fb_import *import, const struct fb_text *text);
bool fb_dcgm_dmon_detect(const struct fb_text *text);
int fb_dcgm_dmon_read(struct fb_import *import, const struct fb_text *text);
bool fb_nccl_text_detect(const struct fb_text *text);
int fb_nccl_text_read(struct fb_import *import, const struct fb_text *text);
bool fb_nccl_json_detect(const struct fb_text *text);
int fb_nccl_json_read(struct fb_import *import, const struct fb_text *text);
bool fb_osu_detect(const struct fb_text *text);
int fb_osu_read(struct fb_import *import, const struct fb_text *text);
bool fb_imb_detect(const struct fb_text *text);
int fb_imb_read(struct fb_import *import, const struct fb_text *text);
bool fb_perftest_text_detect(const struct fb_text *text);
int fb_perftest_text_read(struct fb_import *import, const struct fb_text *text);
bool fb_perftest_json_detect(const struct fb_text *text);
int fb_perftest_json_read(struct fb_import *import, const struct fb_text *text);
bool fb_nvbandwidth_text_detect(const struct fb_text *text);
int fb_nvbandwidth_text_read(struct fb_import *import, const struct fb_text *text);
bool fb_nvbandwidth_json_detect(const struct fb_text *text);
int fb_nvbandwidth_json_read(struct fb_import *import, const struct fb_text *text);

#endif
