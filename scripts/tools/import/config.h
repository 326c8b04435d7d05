/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration of a run, which a log has beside the output of the tool itself: command lines,
 * exported variables, and what a user's script prints. Private to import.
 *
 * Runs of unlike configuration must not become launches of one case, so what is found here goes
 * into the rows' keys.
 */
#ifndef FB_SCRIPTS_TOOLS_IMPORT_CONFIG_H
#define FB_SCRIPTS_TOOLS_IMPORT_CONFIG_H

#include "common/system/environment.h"

#include <stdint.h>

struct fb_config {
	struct fb_facts script;	 /* exported variables: they hold for all runs below */
	struct fb_facts command; /* others: they hold until the next such line after a run */
	char *words;		 /* of the last command line, each ended by NUL, and an empty one */
	size_t program;		 /* where the benchmark's name begins in words */
	uint64_t processes;	 /* that the launcher was to start; 0: not said */
	bool launched;		 /* a launcher is part of the command */
	bool used;		 /* a run has begun since */
};

/* Takes one line of a log; a line without configuration changes nothing. */
void fb_config_take(struct fb_config *config, const char *line);

/* Takes a variable as "NAME=VALUE" that holds for all runs below. */
void fb_config_export(struct fb_config *config, const char *variable);

/*
 * The value of the benchmark's option -LETTER or --NAME in the last command line (names may be
 * shortened, as getopt_long allows); NULL: not given. Valid until the next line is taken.
 */
const char *fb_config_option(const struct fb_config *config, char letter, const char *name);

/* Whether a variable changes how fast a library is, and not only what it prints. */
bool fb_config_variable(const char *name);

void fb_config_free(struct fb_config *config);

#endif
