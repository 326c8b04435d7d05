/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What --algorithm auto, --protocol auto, --channels 0 and --copy-direction auto mean for a case:
 * by the tuning table of the machine, else by the cost model. The row's key stays what was asked
 * for, so that rows of unlike tables join; its column path says what ran and by what.
 */
#ifndef FB_COLLECTIVES_CHOSEN_H
#define FB_COLLECTIVES_CHOSEN_H

#include "collectives/engine/engine.h"
#include "collectives/tuning/price.h"
#include "collectives/tuning/tuning.h"
#include "common/cuda/gpu.h"
#include "common/record/case.h"
#include "common/session.h"

/* The tables for a group of ranks, and prices that are known already. */
struct fb_choosing {
	struct fb_tunings tunings;
	const struct fb_tuning *tuning[FB_MACHINES]; /* into it; NULL: none matches */
	struct fb_price_entry {
		const struct fb_algorithm *algorithm;
		bool direct;
		int err;
		struct fb_price price;
	} *price; /* [nprices] */
	size_t nprices;
};

/* A case with all of its choices made. */
struct fb_chosen {
	struct fb_case c;     /* names of the algorithm and the protocol, never auto */
	bool named;           /* they were chosen here */
	const char *by;       /* the table that said something; "model"; NULL: nothing did */
	struct fb_tuned tuned;
};

/*
 * Collective over the group: reads the table of --tuning and finds those for this machine. `gpu`:
 * NULL without one. Returns the same on all ranks: 0, FB_EINPUT (printed by rank 0) or FB_ENOMEM.
 * Close also after an error.
 */
int fb_choosing_open(struct fb_choosing *choosing, const struct fb_session *session,
		     const struct fb_group *group, const struct fb_gpu *gpu);
void fb_choosing_close(struct fb_choosing *choosing);

/*
 * Makes the choices of a case: *chosen and op->tuned. Equal on all ranks of the engine's group, and
 * without communication. False with the reason where the engine can do none of what auto stands
 * for, or not the case.
 */
bool fb_choose(struct fb_choosing *choosing, const struct fb_engine *engine,
	       const struct fb_case *c, struct fb_operation *op, struct fb_chosen *chosen,
	       char reason[FB_REASON_CHARS]);

/* Puts what was chosen before the engine's own path. */
void fb_chosen_path(const struct fb_chosen *chosen, char path[FB_PATH_CHARS]);

#endif
