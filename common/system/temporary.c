/* SPDX-License-Identifier: BSD-3-Clause */
/* See temporary.h. */
#include "common/system/temporary.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int fb_temporary_file(const char *folder)
{
	char path[4096];
	int file;

	if (!folder)
		folder = getenv("TMPDIR");
	snprintf(path, sizeof(path), "%s/fabricbench.XXXXXX", folder ? folder : "/tmp");
	file = mkostemp(path, O_CLOEXEC);
	if (file >= 0)
		(void)unlink(path);
	return file;
}
