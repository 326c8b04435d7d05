/* SPDX-License-Identifier: BSD-3-Clause */
/* What operation fit measures (fit.c) and what is made of it (fit_model.c). */
#ifndef FB_KVTRANSFER_HANDOFF_FIT_H
#define FB_KVTRANSFER_HANDOFF_FIT_H

#include "kvtransfer/handoff/handoff.h"

enum {
	FB_FIT_SIZES = 6,  /* 256 bytes ... 256 KiB */
	FB_FIT_COUNTS = 4, /* 1, 12, 144, 1728 pieces */
	FB_FIT_POINTS = FB_FIT_SIZES * FB_FIT_COUNTS,
	FB_FIT_MODES = 2, /* piece by piece; packed into one message */
};

/* A list of pieces, of one size; rank 0 has the sources, rank 1 the targets. */
struct fb_fit_point {
	uint64_t bytes, pieces; /* of a piece; how many, 0: too much */
	uint64_t at;		/* in the zones of sources and targets */
	struct fb_piece *piece; /* [MODES][pieces], the packed message; local: this rank's side */
	struct fb_move *move[FB_FIT_MODES]; /* of who posts */
	struct fb_kv_packing packing;	    /* this rank's end */
	double fastest_s[FB_FIT_MODES];	    /* on this rank; 0: it was not carried yet */
};

struct fb_fit {
	struct fb_fit_point point[FB_FIT_POINTS];
	struct fb_move *note; /* rank 1: permits the next list; rank 0, GET: permits reading */
	uint64_t base, handed; /* notices that came before the case; lists so far */
	double *begin, *end; /* [sweeps][POINTS][MODES], in s: at rank 0, at rank 1 */
	size_t sweeps;
};

/* Bytes of a rank's part; and the case's life, as of others (instance.c). */
uint64_t fb_fit_bytes(void);
int fb_fit_open(struct fb_handoff_instance *i);
void fb_fit_close(struct fb_handoff_instance *i);
int fb_fit_prime(struct fb_handoff_instance *i);
int fb_fit_run(struct fb_handoff_instance *i);
int fb_fit_check(struct fb_handoff_instance *i, struct fb_mismatch *bad);
void fb_fit_describe(struct fb_handoff_instance *i, struct fb_traits *traits);

/* Local: the columns of the model, from [sweeps][POINTS][MODES] times in us. */
void fb_fit_model(struct fb_handoff_instance *i, const double *us);

#endif
