/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes cases from lists on the command line: an axis is the list of values of one key column, and
 * the cases are the product of the axes.
 *
 * Each combination is tried. The program's `adjust` drops combinations that do not exist, and its
 * `can` skips cases that cannot run here: they get a row with the reason.
 */
#ifndef FB_COMMON_RUN_AXES_H
#define FB_COMMON_RUN_AXES_H

#include "common/record/case.h"
#include "common/run/program.h"

#include <stdio.h>

struct fb_axis {
	size_t count; /* at least 1 after fb_axis_open */
	char **value; /* [count], owned */
	int *index;   /* [count] position of the value in the choices; -1 without choices */
};

/*
 * Splits a comma-separated list. With `choices` (ending in NULL) each item must be one of them, and
 * "all" stands for all of them except "auto", which would repeat another one. Without `choices` any
 * item is accepted. An item given twice is an error, like an unknown one: one line to `errors` (may
 * be NULL) naming --option, and FB_EINPUT; or FB_ENOMEM (printed). The caller frees with
 * fb_axis_close.
 */
int fb_axis_open(struct fb_axis *axis, const char *option, const char *list,
		 const char *const *choices, FILE *errors);
void fb_axis_close(struct fb_axis *axis);

/*
 * Advances index[0..n) to the next element of the product of count[0..n), the last index
 * fastest. Starts from all zeroes; false after the last (index is then all zeroes again).
 */
bool fb_product_next(size_t index[], const size_t count[], size_t n);

/* The values that a program accepts on its axes; each list ends in NULL; NULL: the axis is "-". */
struct fb_axes_accepted {
	const char *const *engines, *const *algorithms, *const *protocols;
	const char *const *transports, *const *memories, *const *launches;
	bool has_redop, has_root, has_in_place; /* else redop -1, root -1, no */
	const char *engine_list; /* the engines that --engine stands for; NULL: its value */
	size_t *added; /* plus the new cases; NULL: a base without cases is an error */
};

/*
 * Makes the case right (the library's own algorithm is "library", ...), or returns false where
 * the combination does not exist. Pure, equal on all ranks.
 */
typedef bool (*fb_axes_adjust_fn)(void *arg, struct fb_case *c);

/*
 * Adds all cases of the settings' axes to the run: `base` gives what is no axis (operation,
 * registration, variant). Equal cases count once. adjust may be NULL. Errors are printed by
 * rank 0. FB_EINPUT also where nothing is left. For fb_program.expand.
 */
int fb_axes_expand(struct fb_run *run, const struct fb_case *base,
		   const struct fb_axes_accepted *accepted, fb_axes_adjust_fn adjust, void *arg);

/* FB_EINPUT: none of several bases has a case, which rank 0 says with the lists of the axes. */
int fb_axes_none_left(const struct fb_run *run, const struct fb_axes_accepted *accepted);

#endif
