/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading the fake NCCL that lies beside the test program. */
#ifndef FB_TESTS_UNIT_FAKE_NCCL_H
#define FB_TESTS_UNIT_FAKE_NCCL_H

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/library/nccl/api.h"
#include "tests/fake/nccl.h"

/* The path of a file beside the running program; the buffer is the caller's. */
static inline const char *beside_program(const char *name, char path[PATH_MAX])
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	snprintf(path, PATH_MAX, "%.*s/%s", PATH_MAX - 64, self, name);
	return path;
}

static inline struct fake_calls *fake_calls_of(const struct fb_nccl *nccl)
{
	void *address = dlsym(nccl->handle, "fake_calls");
	fake_calls_fn function;

	memcpy(&function, &address, sizeof(function));
	return address ? function() : NULL;
}

#endif
