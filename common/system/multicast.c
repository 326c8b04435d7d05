/* SPDX-License-Identifier: BSD-3-Clause */
/* The variables that keep libraries from NVLink multicast; see multicast.h. */
#include "common/system/multicast.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *value, *reason;
} safe[] = {
	{"NCCL_NVLS_ENABLE", "0", "multicast off: NCCL_NVLS_ENABLE=0"},
	{"TORCH_SYMM_MEM_DISABLE_MULTICAST", "1",
	 "multicast off: TORCH_SYMM_MEM_DISABLE_MULTICAST=1"},
	{"NVSHMEM_DISABLE_NVLS", "1", "multicast off: NVSHMEM_DISABLE_NVLS=1"},
};

enum { SAFE = sizeof(safe) / sizeof(safe[0]) };

static const char *forbidden = "multicast off"; /* NULL: it is allowed */

void fb_multicast_forbid(void)
{
	for (size_t i = 0; i < SAFE; i++)
		(void)setenv(safe[i].name, safe[i].value, 1);
}

void fb_multicast_set(bool allow)
{
	const char *value;

	if (!allow) {
		fb_multicast_forbid();
		return;
	}
	forbidden = NULL;
	for (size_t i = 0; i < SAFE && !forbidden; i++) {
		value = getenv(safe[i].name);
		if (value && !strcmp(value, safe[i].value))
			forbidden = safe[i].reason;
	}
}

bool fb_multicast_is_allowed(const char **reason)
{
	*reason = forbidden;
	return !forbidden;
}
