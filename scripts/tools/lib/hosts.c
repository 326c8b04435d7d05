/* SPDX-License-Identifier: BSD-3-Clause */
/* See hosts.h. */
#include "scripts/tools/lib/hosts.h"
#include "scripts/tools/lib/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { HOSTS_MAX = 1024 };

/* Enters ranks as "0-3,8": false where that is something else or names no rank of the job. */
static bool read_ranks(struct fb_hosts *hosts, size_t ranks, char *list)
{
	char *rest = NULL;

	for (char *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
		char *end;
		size_t first = strtoull(item, &end, 10);
		size_t last = *end == '-' ? strtoull(end + 1, &end, 10) : first;

		if (*end || last < first || last >= ranks)
			return false;
		for (size_t r = first; r <= last; r++)
			hosts->of[r] = hosts->count;
	}
	return true;
}

void fb_hosts_read(struct fb_hosts *hosts, const char *fact, size_t ranks)
{
	size_t left = ranks;
	char *rest = NULL;

	*hosts = (struct fb_hosts){
		.text = fb_new_copy(fact),
		.name = fb_new(HOSTS_MAX, sizeof(*hosts->name)),
		.of = fb_new(ranks + 1, sizeof(*hosts->of)),
	};
	for (size_t r = 0; r < ranks; r++)
		hosts->of[r] = HOSTS_MAX;
	for (char *host = strtok_r(hosts->text, " ", &rest); host && hosts->count < HOSTS_MAX;
	     host = strtok_r(NULL, " ", &rest)) {
		char *list = strrchr(host, ':');

		if (!list)
			break;
		*list++ = '\0';
		hosts->name[hosts->count] = host;
		if (!read_ranks(hosts, ranks, list))
			break;
		hosts->count++;
	}
	for (size_t r = 0; r < ranks; r++)
		left -= hosts->of[r] < HOSTS_MAX ? 1 : 0;
	if (left)
		*hosts = (struct fb_hosts){.count = 0};
}
