/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Path tables: measured times of movers on a machine, by which --engine auto of these programs
 * chooses; --tuning FILE names a table. scripts/kv-paths writes tables from rows of
 * `handoff --operation fit`; see docs/kvtransfer.md.
 *
 * A table is text. `#` begins a comment; the first word of a line says what it is:
 *
 *	machine gpu|cpu MODEL
 *	path MOVER VERB alone|overlapped A_US B_NS GBPS
 *	best MOVER VERB alone|overlapped PIECE_BYTES PIECES
 *	tier MOVER[:FORM] VERB PIECE_BYTES PIECES
 *
 * A line belongs to the machine line above it; several machine lines may have the same model. path:
 * a transfer takes A + B pieces + bytes / rate; "-" for A: not measured, it counts as 0.
 * overlapped: measured while both ends compute. best: the fastest of the movers that were measured
 * with a list of PIECES pieces of this size. tier: the same for a list that is written to the tier
 * below memory (put) or read back (get), with the mover's form; `offload --crossover` writes these.
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
 * Reads the lines for a model of GPUs or processors from a text; `file` names it in messages. All
 * other lines are checked too. 0; FB_EINPUT after one line "FILE:LINE: ..." to `errors` (may be
 * NULL); or FB_ENOMEM (printed). Free with fb_paths_free(), which is safe on a zeroed structure.
 */
int fb_paths_parse(struct fb_paths *paths, const char *text, const char *file, bool gpu,
		   const char *model, FILE *errors);
void fb_paths_free(struct fb_paths *paths);

/* The time of a transfer in us, as the line estimates it. */
double fb_path_us(const struct fb_path_line *line, double pieces, double bytes);

/* The line for the mover and direction: of the objective, else measured alone; NULL: neither. */
const struct fb_path_line *fb_paths_find(const struct fb_paths *paths, const char *mover, bool get,
					 enum fb_auto_objective objective);

/*
 * The line whose list is most similar to a transfer of these pieces and bytes: of the objective, or
 * else measured alone; NULL: no list has between half and twice as many pieces, and pieces between
 * half and twice as long. `tier`: looks at lines `tier`, else at lines `best`.
 */
const struct fb_path_best *fb_paths_best(const struct fb_paths *paths, bool tier, bool get,
					 enum fb_auto_objective objective, double pieces,
					 double bytes);

/* The tables that were built in: all kvtransfer/paths/ *.paths, one behind the other. */
const char *fb_paths_built_in(void);

#endif
