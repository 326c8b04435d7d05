/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices of pairs, wherever they come from; drawn by matrix.c. */
#ifndef FB_SCRIPTS_TOOLS_PLOT_MATRIX_H
#define FB_SCRIPTS_TOOLS_PLOT_MATRIX_H

#include "scripts/tools/plot/plot.h"

enum { FB_MATRIX_MAX = 1024 };

struct fb_matrix {
	size_t rows, columns;
	double *value; /* [rows * columns], row by row; NAN: none. Owned */
	bool more_is_better;
	char title[FB_PLOT_TITLE_CHARS];
	char unit[32];
	char row_name[32], column_name[32];
	bool gpus;	     /* of messages between GPUs */
	const char *network; /* the fact that names a rank's adapter: "rdma", "tcp"; NULL: none */
};

/* Sets value to NAN for rows x columns. */
void fb_matrix_make(struct fb_matrix *matrix, size_t rows, size_t columns);

/*
 * The figure-th matrix of a text that nvbandwidth printed (from 1); *count is how many there are.
 * Returns 0 (matrix untouched where there is none of that number) or FB_EINPUT (printed).
 */
int fb_matrix_read_text(struct fb_matrix *matrix, const char *path, size_t figure, size_t *count);

/* The same of result rows whose variant column has src and dst. */
void fb_matrix_read_rows(struct fb_matrix *matrix, const struct fb_cells *cells, size_t figure,
			 size_t *count);

/* Whether rows and columns are the ranks that messages come from and go to. */
bool fb_matrix_is_of_ranks(const struct fb_matrix *matrix);

/*
 * Which ranks, links and nodes are slow (lib/stragglers.h), in words: "rank 3 is slow: 2 times; the
 * link 0 to 2 is slow: 1.3 times"; empty where nobody is or the axes are no ranks. Which host a
 * rank is on, and which GPU and adapter it has, is known from the facts of `results` (may be NULL).
 */
enum { FB_MATRIX_SLOW_CHARS = 1024 };
void fb_matrix_name_slow(const struct fb_matrix *matrix, const struct fb_results *results,
			 char *text, size_t n);

#endif
