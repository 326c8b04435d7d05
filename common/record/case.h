/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A case: one combination of axis values, that is, the key columns of one CSV row.
 *
 * All programs share this structure, so that files from different programs join on their keys.
 * A field that has no meaning for a program is "-" (texts) or 0 / -1 (numbers).
 */
#ifndef FB_COMMON_RECORD_CASE_H
#define FB_COMMON_RECORD_CASE_H

#include "common/base/datatype.h"

enum fb_cadence {
	FB_ISOLATED,  /* synchronise before every repetition; a sample is one call */
	FB_STREAMING, /* calls back to back; a sample is a batch divided by its calls */
	FB_CADENCES,
};

enum { FB_VARIANT_CHARS = 1024, FB_OVERFULL_CHARS = 128, FB_OWN_BYTES = 208 };

struct fb_case {
	const char *program;      /* "all_reduce" */
	const char *operation;    /* "all_reduce"; differs where a program has several */
	const char *engine;       /* "host", "mpi", "cuda", "nccl", ... */
	const char *algorithm;    /* "ring"; "library" where the library chooses */
	const char *protocol;     /* "simple", "ll", "ll128", "direct", "library" */
	const char *transport;    /* "shm", "tcp", "shm+tcp", "library" */
	const char *memory;       /* "host", "hugepage", "device", ... */
	const char *registration; /* "registered", "none", ... */
	const char *launch;       /* "blocking", "nonblocking", "persistent", "stream", "graph" */
	enum fb_cadence cadence;
	enum fb_datatype datatype;
	int redop; /* enum fb_redop, or -1 where nothing is reduced ("-") */
	int root;  /* -1 where there is none */
	bool in_place;
	uint64_t bytes; /* as asked for; see docs/csv.md for what it counts per operation */
	char variant[FB_VARIANT_CHARS]; /* program-specific keys, sorted "k=v;k=v", or "" */
	/* The program's own axes: a separate structure, of which `variant` is made; see key.h. */
	_Alignas(8) unsigned char own[FB_OWN_BYTES];
	int place;     /* fb_place.number; 0: no NUMA node was asked for */
	/* Nothing computes beside this collective of a step: auto chooses what is best alone. */
	bool alone;
	bool cold;     /* caches are cleared before each repetition; key cache=cold */
	/* Keys for which `variant` had no room: fb_run_add refuses the case. "": none. */
	char overfull[FB_OVERFULL_CHARS];
};

#endif
