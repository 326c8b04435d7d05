/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the host of each rank in the fact run.ranks_of_hosts: "n1:0-3 n2:4-7". */
#ifndef FB_SCRIPTS_TOOLS_LIB_HOSTS_H
#define FB_SCRIPTS_TOOLS_LIB_HOSTS_H

#include <stddef.h>

struct fb_hosts {
	char *text;	   /* the fact, cut into names */
	const char **name; /* [count] */
	size_t *of, count; /* [ranks]: index of each rank's host; NULL: nothing is known */
};

/*
 * Reads the fact for `ranks` ranks. If it does not name the host of each of them, the structure is
 * empty.
 */
void fb_hosts_read(struct fb_hosts *hosts, const char *fact, size_t ranks);

#endif
