/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes rules of a tuning table from measured rows. Rows are grouped into families; a rule chooses
 * among the rows of one family. Private to the tune tool.
 */
#ifndef FB_SCRIPTS_TOOLS_TUNE_TUNE_H
#define FB_SCRIPTS_TOOLS_TUNE_TUNE_H

#include <stdio.h>

#include "collectives/tuning/tuning.h"
#include "scripts/tools/lib/cells.h"
#include "scripts/tools/tune/choose.h"

struct fb_tune_settings {
	const char *name, *gpu, *cpu; /* of the table; NULL: from the rows' facts */
	const char *like;             /* name of a similar machine's table; NULL: none */
	const char *output;           /* NULL: standard output */
	const char *without;          /* algorithms that are left out, a list; NULL: none */
	double change;
	int objective; /* enum fb_auto_objective of all rules */
	bool nccl_table, nccl_env; /* what is written instead */
	bool best_only;
	/* Not options: COLUMN=VALUE,... among the arguments. */
	char *const *filter;
	size_t nfilters;
	int argc;
	char **argv;
};

enum { FB_TUNE_CONTEXT = 256 };

/* What a rule may choose. Texts are those of rows. */
struct fb_tune_candidate {
	const char *algorithm, *protocol;
	struct fb_tuned tuned;
};

/*
 * A cell from which rules are made. A cell of an engine that `auto` may choose is used twice: for
 * rules of its own engine, and for rules of auto, with the algorithm's name as auto's rules have
 * it.
 */
struct fb_tune_sample {
	const struct fb_cell *cell;
	const char *engine, *algorithm, *operation;
	uint64_t bytes;               /* of a collective */
	bool unaligned;               /* fb_tuning_unaligned */
	char context[FB_TUNE_CONTEXT]; /* keys of `variant` that say nothing of the shape */
	struct fb_tuned tuned;
};

/*
 * All rows of an operation with one engine, number of ranks and nodes, and transport, either with
 * aligned blocks or with others. Apart from candidate and size, rows differ in their contexts (data
 * type, cadence, ...). Of a context, a rule may name only in_place and the element's size.
 */
struct fb_tune_family {
	const struct fb_cell *first; /* for the names of what is common, but for the engine's */
	const char *engine, *operation;
	bool unaligned;
	struct fb_tune_candidate *candidate;
	unsigned *numbers; /* [ncandidates] that the candidate fixes */
	size_t ncandidates;
	uint64_t *bytes; /* [nsizes], ascending */
	size_t nsizes;
	struct fb_tune_context {
		const struct fb_tune_sample *sample;
		int in_place, element;
	} *context;
	size_t ncontexts;
	struct fb_tune_point *point; /* [context][size][candidate] */
};

/*
 * Selects the cells from which rules are made, sorted by family: rows of engines that read tables,
 * whose algorithm is named (not auto), and whose `variant` has only keys that a rule can have. For
 * the objective `overlapped` these are steps of ddp, and of contention beside gemm. A step of ddp
 * counts as an all_reduce of its bucket's bytes, a step of contention as its collective, each with
 * the time of the step. Returns 0; FB_EDATA (a row has wrong data) or FB_EPEER (a row is a fault),
 * because no table is made from such rows; FB_EINPUT (no row with a time is left, or a filter has
 * an unknown column). All errors are printed.
 */
int fb_tune_samples(const struct fb_cells *cells, const struct fb_tune_settings *settings,
		    struct fb_tune_sample **samples, size_t *count);

/* How many of sample[0 .. n) are of the first one's family. */
size_t fb_tune_family_length(const struct fb_tune_sample *sample, size_t n);

/* Makes a family of sample[0 .. n). */
void fb_tune_family_make(struct fb_tune_family *family, const struct fb_tune_sample *sample,
			 size_t n);

/* Writes the family's rules. */
void fb_tune_rules(const struct fb_tune_family *family, const struct fb_tune_settings *settings,
		   FILE *out);

/* Whether a table of NCCL's plugin can be made of the cell, or of its row as NCCL's own choice. */
bool fb_tune_nccl_takes(const struct fb_cell *cell);

/*
 * Writes the table of NCCL's tuner plugin, from samples of cells that fb_tune_nccl_takes(). 0 or
 * FB_EINPUT (several numbers of ranks; printed).
 */
int fb_tune_nccl(const struct fb_tune_settings *settings, const struct fb_tune_sample *sample,
		 size_t count, FILE *out);

/* Writes exports of NCCL's variables and their gain. 0 or FB_EINPUT (no such rows; printed). */
int fb_tune_variables(const struct fb_cells *cells, const struct fb_tune_settings *settings,
		      FILE *out);

/*
 * Whether the objective and the filters want the cell. 0, or FB_EINPUT (printed) for a filter with
 * an unknown column.
 */
int fb_tune_wants(const struct fb_cell *cell, const struct fb_tune_settings *settings,
		  bool *wanted);

/* Whether the sample's engine works on GPUs, so that its rules belong to a table of that kind. */
enum fb_machine fb_tune_kind(const struct fb_tune_sample *sample);

#endif
