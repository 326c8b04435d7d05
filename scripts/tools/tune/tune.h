/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From rows to rules: families of rows among which a rule may choose, and what is written of them.
 * Private to the tune tool.
 */
#ifndef FB_SCRIPTS_TOOLS_TUNE_TUNE_H
#define FB_SCRIPTS_TOOLS_TUNE_TUNE_H

#include <stdio.h>

#include "collectives/tuning/tuning.h"
#include "scripts/tools/lib/cells.h"
#include "scripts/tools/tune/choose.h"

struct fb_tune_settings {
	const char *name, *gpu, *cpu; /* of the table; NULL: from the rows' facts */
	const char *like;             /* of a machine like it: a table's name; NULL: none */
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
 * A cell that takes part. Those of engines that `auto` chooses between take part twice: under their
 * own engine, and under auto with the algorithm's name as that engine's rules have it.
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
 * All that was measured of an operation with an engine on so many ranks and nodes over a
 * transport, with aligned blocks or with others. What rows differ in beside candidate and size are
 * contexts; of these a rule may name in_place and the element's size.
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
 * Which cells take part, sorted by family: rows of engines that a table can tell something, with
 * names and not auto, with no keys in `variant` but those that a rule has. For the objective
 * `overlapped` these are steps of ddp and of contention beside gemm: a row is one of all_reduce, of
 * its bucket's bytes, or of the collective that contention names, and its time is the step's.
 * Returns 0; FB_EDATA (a row has wrong data) or FB_EPEER (one is a fault): no table is made of such
 * rows; FB_EINPUT (no row with a time is left; an unknown column in a filter); all printed.
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
