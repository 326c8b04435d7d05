/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The facts of environment.csv with their scopes. Facts of single nodes and ranks are kept apart,
 * because a single node with another firmware is a typical fault after an upgrade.
 */
#ifndef FB_SCRIPTS_TOOLS_LIB_ENV_H
#define FB_SCRIPTS_TOOLS_LIB_ENV_H

#include <stddef.h>

struct fb_env_fact {
	const char *key, *value;
	const char *host, *scope; /* "": of all hosts; as in the file, or "" */
	int rank;		  /* -1: not of one rank */
};

struct fb_env {
	struct fb_env_fact *fact; /* [count] */
	size_t count;
	size_t files;
};

/*
 * Adds the facts of an environment.csv. Returns 0 or FB_EINPUT (no such file, malformed, other
 * columns; printed).
 */
int fb_env_read(struct fb_env *env, const char *path);

/*
 * Splits the key program.NAME.LAUNCH.REST of a launch's fact. Returns the length of NAME, which
 * begins behind "program.", and sets *rest; 0 for any other key.
 */
size_t fb_env_program(const char *key, const char **rest);

/* Adds one fact; its texts are borrowed. */
void fb_env_add(struct fb_env *env, const char *key, const char *host, int rank, const char *value);

/* Sorts by key, host, rank and value, and removes duplicates. */
void fb_env_sort(struct fb_env *env);

/* The facts of a key: their number, the first one in *first. Only after fb_env_sort. */
size_t fb_env_find(const struct fb_env *env, const char *key, size_t *first);

#endif
