/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The facts of environment.csv with their scopes: what a side was measured on.
 *
 * Unlike results.h, facts of single nodes and ranks are kept: one node with another firmware is
 * what one looks for after an upgrade.
 */
#ifndef FB_SCRIPTS_TOOLS_COMPARE_FACTS_H
#define FB_SCRIPTS_TOOLS_COMPARE_FACTS_H

#include <stddef.h>

struct fb_env_fact {
	char *key; /* owned: one allocation with the other texts */
	const char *value, *host;
	int rank; /* -1: not of one rank */
};

struct fb_env {
	struct fb_env_fact *fact; /* [count]; sorted by key, host, rank, value when read */
	size_t count, capacity;
	size_t files;
};

/*
 * Adds the facts of an environment.csv. Returns 0, FB_EINPUT (no such file, malformed, other
 * columns; printed), FB_ENOMEM (printed).
 */
int fb_env_read(struct fb_env *env, const char *path);

/* Adds one fact; texts are copied. Returns 0 or FB_ENOMEM (printed). */
int fb_env_add(struct fb_env *env, const char *key, const char *host, int rank, const char *value);

/*
 * plan_facts.c: adds what a sweep's plan.tsv (docs/studies.md) says of a side, its variables as
 * variable.NAME and its build. Returns 0, FB_EINPUT (no plan; printed), FB_ENOMEM (printed).
 */
int fb_env_read_plan(struct fb_env *env, const char *path, const char *side);

/* Sorts, and drops what was said twice. To be called once after the last file. */
void fb_env_sort(struct fb_env *env);

/* The facts of a key: their number, the first one in *first. Only after fb_env_sort. */
size_t fb_env_find(const struct fb_env *env, const char *key, size_t *first);

void fb_env_free(struct fb_env *env);

#endif
