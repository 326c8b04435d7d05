/* SPDX-License-Identifier: BSD-3-Clause */
/* See symmetric.h. */
#include "common/cuda/symmetric.h"

#include "common/base/error.h"
#include "common/cuda/gpu_segment.h"

enum { ALIGNMENT = 512 };

int fb_symmetric_open(struct fb_segment *segment, const struct fb_nvshmem *nvshmem,
		      const struct fb_group *group, size_t part_bytes)
{
	unsigned long long wanted = part_bytes ? part_bytes : 1;
	void *memory;
	int err = FB_OK;

	MPI_Allreduce(MPI_IN_PLACE, &wanted, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, group->comm);
	part_bytes = ((size_t)wanted + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	memory = nvshmem->malloc(part_bytes);
	if (!memory)
		err = fb_error(FB_ENOMEM, "nvshmem_malloc of %zu bytes failed: "
			       "NVSHMEM_SYMMETRIC_SIZE or NVSHMEM_MAX_MEMORY_PER_GPU may be too "
			       "small", part_bytes);
	err = fb_group_agree(group, err);
	if (!err)
		err = fb_gpu_segment_adopt(segment, group, &memory, 1, part_bytes, fb_nvshmem_free);
	else
		return err; /* NVSHMEM allocates on all ranks or on none */
	if (err)
		(void)fb_nvshmem_free(memory);
	return err;
}
