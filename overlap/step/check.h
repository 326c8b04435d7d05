/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Proves a step before it runs, from the graphs of all ranks.
 *
 * On each rank: dependencies point to earlier tasks, so there is no cycle. Spans and sizes fit. Two
 * tasks that access the same elements are ordered if one of them writes. The collectives of a group
 * are ordered. Inputs keep their content, so that the step can be repeated. Memory is within a
 * budget.
 *
 * Over all ranks: buffers and groups agree, the collectives of a group match one by one, and no
 * task waits for ever.
 *
 * By running the step on symbols instead of numbers: nothing is read before it was written, a
 * reduction adds each member's contribution exactly once, and every read and every output has the
 * content that the builder declared.
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
