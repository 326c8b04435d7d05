/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Differences between the environments of two sides. They say whether the sides may be compared,
 * and what may have caused a change.
 *
 * A difference of identity makes the comparison meaningless: other GPUs, another number of GPUs,
 * another processor, ranks bound to other processors. All other differences (driver, libraries,
 * firmware, kernel, clocks, variables, options) are what an upgrade changes, and are shown.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_ENVIRONMENT_DIFF_H
#define FB_SCRIPTS_TOOLS_COMPARE_ENVIRONMENT_DIFF_H

#include "scripts/tools/lib/env.h"

#include <stdbool.h>

/* In the order in which they are suspected if the rows give no hint. */
enum fb_difference_class {
	FB_DIFFERS_DRIVER,
	FB_DIFFERS_LIBRARY,
	FB_DIFFERS_FIRMWARE,
	FB_DIFFERS_KERNEL,
	FB_DIFFERS_CLOCKS,
	FB_DIFFERS_TOPOLOGY,
	FB_DIFFERS_VARIABLE,
	FB_DIFFERS_OPTION,
	FB_DIFFERS_BUILD,
	FB_DIFFERS_OTHER,
	FB_DIFFERS_CLASSES,
};

struct fb_difference {
	const char *name, *base, *new; /* "(none)" where a side does not have it */
	enum fb_difference_class kind;
	bool identity;
	size_t programs; /* of an option: how many programs have the same difference */
	int weight;	 /* see cause.h */
	const char *why; /* static, or NULL */
};

struct fb_differences {
	struct fb_difference *item; /* [count] by class and name, until fb_cause_rank sorts them */
	size_t count;
	size_t identities;
	bool known; /* both sides have an environment.csv */
};

/* "driver", "loaded libraries", ... */
const char *fb_difference_class_name(enum fb_difference_class kind);

/* Compares sorted facts. */
void fb_differences_find(struct fb_differences *differences, const struct fb_env *base,
			 const struct fb_env *new);

/* Removes the differences for whose name `hidden` returns true. */
void fb_differences_hide(struct fb_differences *differences,
			 bool (*hidden)(const char *name, const void *arg), const void *arg);

#endif
