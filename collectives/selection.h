/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects what --algorithm auto, --protocol auto, --channels 0 and --copy-direction auto mean for a
 * case: by the machine's tuning table, else by the cost model. The key of the row keeps "auto", so
 * that rows of runs with different tables can be compared. The column path says what ran, and
 * whether a table or the model selected it.
 */
#ifndef FB_COLLECTIVES_SELECTION_H
#define FB_COLLECTIVES_SELECTION_H

#include "collectives/engine/engine.h"
#include "collectives/tuning/price.h"
#include "collectives/tuning/tuning.h"
#include "common/cuda/gpu.h"
#include "common/record/case.h"
#include "common/session.h"

/* The tuning tables for a group of ranks, and the prices that were computed before. */
struct fb_selector {
	struct fb_tunings tunings;
	const struct fb_tuning *tuning[FB_MACHINES]; /* into `tunings`; NULL: none matches */
	struct fb_price_entry {
		const struct fb_algorithm *algorithm;
		bool direct;
		int err;
		struct fb_price price;
	} *price; /* [nprices] */
	size_t nprices;
};

/* A case with every auto replaced. */
struct fb_selection {
	struct fb_case c;     /* names of the algorithm and the protocol, never auto */
	bool named;           /* fb_select has replaced a name */
	const char *by;       /* the name of the table, or "model"; NULL: nothing was replaced */
	struct fb_tuned tuned;
};

/*
 * Collective over the group: reads the tables of --tuning and finds those for this machine. `gpu`
 * is NULL if the ranks have no GPU. Returns the same on all ranks: 0, FB_EINPUT (printed by rank 0)
 * or FB_ENOMEM. Close also after an error.
 */
int fb_selector_open(struct fb_selector *selector, const struct fb_session *session,
		     const struct fb_group *group, const struct fb_gpu *gpu);
void fb_selector_close(struct fb_selector *selector);

/*
 * Fills *selection and op->tuned for a case, without communication and equally on all ranks of the
 * engine's group. Returns false with the reason if the engine can run neither the case nor any of
 * the candidates that auto stands for.
 */
bool fb_select(struct fb_selector *selector, const struct fb_engine *engine,
	       const struct fb_case *c, struct fb_operation *op, struct fb_selection *selection,
	       char reason[FB_REASON_CHARS]);

/* Writes the selection in front of the engine's text in `path`. */
void fb_selection_path(const struct fb_selection *selection, char path[FB_PATH_CHARS]);

#endif
