/* SPDX-License-Identifier: BSD-3-Clause */
/* The variables that keep libraries from NVLink multicast; see multicast.h. */
#include "common/system/multicast.h"

#include <stddef.h>
#include <stdlib.h>

void fb_multicast_forbid(void)
{
	static const char *const safe[][2] = {
		{"NCCL_NVLS_ENABLE", "0"},
		{"TORCH_SYMM_MEM_DISABLE_MULTICAST", "1"},
		{"NVSHMEM_DISABLE_NVLS", "1"},
	};

	for (size_t i = 0; i < sizeof(safe) / sizeof(safe[0]); i++)
		(void)setenv(safe[i][0], safe[i][1], 1);
}
