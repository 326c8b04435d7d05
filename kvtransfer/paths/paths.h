/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Path tables: what movers were measured to take on a machine, for --engine auto of the programs
 * here; --tuning FILE names one. scripts/kv-paths writes them from rows of
 * `handoff --operation fit`; docs/kvtransfer.md.
 *
 * A table is text. `#` begins a comment; the first word of a line says what it is:
 *
 *	machine gpu|cpu MODEL
 *	path MOVER VERB alone|overlapped A_US B_NS GBPS
 *	best MOVER VERB alone|overlapped PIECE_BYTES PIECES
 *	tier MOVER[:FORM] VERB PIECE_BYTES PIECES
 *
 * A path belongs to the machine line above it, of which there may be several with one model. The
 * time of a transfer is A + B pieces + bytes / rate; "-" for A: it was not measured, and counts as
 * nothing. overlapped: measured while both ends compute. best: of
 * the movers that were measured with a list of so many pieces of this size, the fastest. tier: the
 * same of a list that leaves memory for the tier below it (put) or comes back (get), with the
 * mover's form; `offload --crossover` writes these.
 */
#ifndef FB_KVTRANSFER_PATHS_PATHS_H
#define FB_KVTRANSFER_PATHS_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/option/settings.h"

enum { FB_PATH_MOVER_CHARS = 24, FB_PATH_FORM_CHARS = 24, FB_PATHS_MODEL_CHARS = 128 };

struct fb_path_line {
	char mover[FB_PATH_MOVER_CHARS];
	bool get;
	enum fb_auto_objective objective;
	double a_us, b_ns, gbps; /* a_us NAN: not measured */
};

/* A list for which movers were compared, and the fastest of them. */
struct fb_path_best {
	char mover[FB_PATH_MOVER_CHARS];
	char form[FB_PATH_FORM_CHARS]; /* of a tier's; empty: the usual one */
	bool get, tier;
	enum fb_auto_objective objective;
	double piece_bytes, pieces;
};

/* The lines of one machine. */
struct fb_paths {
	struct fb_path_line *line; /* [count] */
	size_t count;
	struct fb_path_best *best; /* [bests] */
	size_t bests;
};

/*
 * Takes from a text the lines for the model, of GPUs or of processors; `file` names it in messages.
 * The whole text is checked. 0; FB_EINPUT after one line "FILE:LINE: ..." to `errors` (may be
 * NULL); or FB_ENOMEM (printed). Free with fb_paths_free(), which is safe on a zeroed structure.
 */
int fb_paths_parse(struct fb_paths *paths, const char *text, const char *file, bool gpu,
		   const char *model, FILE *errors);
void fb_paths_free(struct fb_paths *paths);

/* What a transfer takes in us by the line. */
double fb_path_us(const struct fb_path_line *line, double pieces, double bytes);

/*
 * The line for the mover and direction: of the objective, else measured alone; NULL: nobody has
 * measured it.
 */
const struct fb_path_line *fb_paths_find(const struct fb_paths *paths, const char *mover, bool get,
					 enum fb_auto_objective objective);

/*
 * The line of the list that is most like a transfer of these pieces and bytes: of the objective,
 * else measured alone; NULL: none has between half and twice as many pieces, and of that size.
 * `tier`: of lines `tier`, else of lines `best`.
 */
const struct fb_path_best *fb_paths_best(const struct fb_paths *paths, bool tier, bool get,
					 enum fb_auto_objective objective, double pieces,
					 double bytes);

/* The tables that were built in: all kvtransfer/paths/ *.paths, one behind the other. */
const char *fb_paths_built_in(void);

#endif
