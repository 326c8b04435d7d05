/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of a measurement's flags; see measure.h. */
#include "common/run/measure.h"

#include <stdio.h>
#include <string.h>

bool fb_measure_over_tcp(const char *transport, const char *path)
{
	/* NCCL names its way from rank 0: "via P2P/IPC, NET/Socket/0". */
	return strstr(transport, "tcp") || (path && strstr(path, "NET/Socket"));
}

void fb_measure_flags(unsigned flags, const char *own, char *text, size_t n)
{
	static const struct {
		unsigned flag;
		const char *name;
	} names[] = {
		{FB_FLAG_CUT, "cut"},
		{FB_FLAG_DRIFT, "drift"}, {FB_FLAG_DROPPED, "dropped"},
		{FB_FLAG_FEW, "few"},	  {FB_FLAG_SINGLE_CHECK, "single-check"},
		{FB_FLAG_SKEW, "skew"},	  {FB_FLAG_TCP_THOUGH_RDMA, "tcp-though-rdma"},
		{FB_FLAG_TIMER, "timer"},
	};
	size_t i = 0, used = 0;

	text[0] = '\0';
	/* Both lists are sorted: merge them. */
	while (i < sizeof(names) / sizeof(names[0]) || *own) {
		size_t length = strcspn(own, ";");
		bool mine = i < sizeof(names) / sizeof(names[0]);

		if (mine && !(flags & names[i].flag)) {
			i++;
			continue;
		}
		if (mine && *own)
			mine = strncmp(names[i].name, own, length) <= 0;
		/* A program may set a common flag, too. */
		if (mine && *own && strlen(names[i].name) == length &&
		    !strncmp(names[i].name, own, length)) {
			own += length;
			own += *own == ';';
		}
		if (used < n)
			used += (size_t)snprintf(text + used, n - used, "%s%.*s", used ? ";" : "",
						 mine ? 64 : (int)length,
						 mine ? names[i].name : own);
		if (mine) {
			i++;
		} else {
			own += length;
			own += *own == ';';
		}
	}
}
