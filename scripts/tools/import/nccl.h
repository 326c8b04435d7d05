/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the readers of nccl-tests' text and JSON. Private to import. */
#ifndef FB_SCRIPTS_TOOLS_IMPORT_NCCL_H
#define FB_SCRIPTS_TOOLS_IMPORT_NCCL_H

#include "scripts/tools/import/import.h"

/* One run of one of its programs, as far as it is known. */
struct fb_nccl_run {
	char program[64];	    /* "all_reduce_perf"; "": not known */
	char version[32];	    /* of nccl-tests; "": not known */
	char library[32];	    /* of NCCL; "": not known */
	char gpu[64];		    /* of rank 0 */
	double iterations;	    /* calls behind a mean; NAN: not known */
	uint64_t ranks, nodes;	    /* of a communicator; 0: not known */
	uint64_t groups;	    /* communicators at work at once; 0 and 1 are the same */
	uint64_t aggregated;	    /* calls in one group; 0 and 1 are the same */
	uint64_t blocking, unalign; /* -z, -u */
	uint64_t threads, gpus;	    /* -t, -g: of a process, of a thread; 0 and 1 are the same */
	bool graph;
	int registered; /* -R; -1: not known */
};

/* One half of a line: out of place or in place. */
struct fb_nccl_cell {
	uint64_t bytes;
	const char *type, *redop; /* nccl-tests' names; redop may be "" */
	int64_t root;
	bool in_place;
	double us, algbw_GBps;	       /* as reported */
	double wrong;		       /* elements; NAN: not checked */
	double min_us, max_us, p99_us; /* of -I; NAN: none */
};

/* The program of an operation or program name ("all_reduce"), or NULL. */
const char *fb_nccl_program(const char *name);

/* All names of programs, one after the other; NULL behind the last. */
const char *fb_nccl_program_at(size_t index);

/*
 * Begins a section for the run, and adds to *run what the options of its command line say (see
 * import->config): options without a field become tags. Returns as fb_import_begin and
 * fb_import_size do.
 */
int fb_nccl_begin(struct fb_import *import, const struct fb_text *text, size_t line,
		  struct fb_nccl_run *run);

/*
 * Whether the words are a whole row, whatever the log says or lacks around it. `header` becomes the
 * line that names its columns (200 characters are enough).
 */
bool fb_nccl_header(const struct fb_words *row, char *header, size_t chars);

/* Whether the text names one of nccl-tests' datatypes. */
bool fb_nccl_is_type(const char *text);

/*
 * Adds a record without times: key, errors, bytes that count. NULL where memory is out or a
 * number is beyond its range (printed).
 */
struct fb_import_record *fb_nccl_add(struct fb_import *import, size_t line,
				     const struct fb_nccl_run *run, const struct fb_nccl_cell *cell,
				     const char *timing);

/* Adds a record with the mean of the host's clock. Returns 0. */
int fb_nccl_add_mean(struct fb_import *import, size_t line, const struct fb_nccl_run *run,
		     const struct fb_nccl_cell *cell);

/* "2.27.3" of 22703. Returns buf. */
const char *fb_nccl_version(uint64_t code, char *buf, size_t n);

#endif
