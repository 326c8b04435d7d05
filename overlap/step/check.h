/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proves a step before it runs, from the graphs of all ranks.
 *
 * On each rank: dependencies point to earlier tasks (so there is no cycle); spans and sizes fit;
 * two tasks that touch the same elements, one of them writing, are ordered; the collectives of a
 * group are ordered; inputs stay as they are, so that a step can be repeated; memory is within a
 * budget. Over all ranks: buffers and groups agree; the collectives of a group match one by one;
 * nothing waits for ever. On symbols: nothing is read that was not written, members reduce the
 * same data and each once, and every read and every output has the content that it should have.
 */
#ifndef FB_OVERLAP_STEP_CHECK_H
#define FB_OVERLAP_STEP_CHECK_H

#include "overlap/step/dag.h"

enum { FB_DAG_WHY_CHARS = 320 };

/*
 * `dags`: [nranks], linked. `budget`: most elements of all buffers of a rank; 0: any number. 0,
 * FB_EPLAN with what is wrong in `why`, or FB_ENOMEM. Prints nothing.
 */
int fb_dag_check(const struct fb_dag *dags, int nranks, uint64_t budget,
		 char why[FB_DAG_WHY_CHARS]);

/* --- internal to check.c and model.c ------------------------------------------------------- */

/* Writes "rank 1, lane compute, backward 3: " and the message; returns FB_EPLAN. */
int fb_dag_fail(const struct fb_dag *dag, int task, char why[FB_DAG_WHY_CHARS],
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/* All that concerns several ranks, or content (model.c). */
int fb_dag_simulate(const struct fb_dag *dags, int nranks, char why[FB_DAG_WHY_CHARS]);

#endif
