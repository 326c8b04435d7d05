/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory of the ranks of a host; see segment.h. */
#include "common/memory/segment.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/error.h"
#include "common/system/node_file.h"

int fb_segment_find_parts(struct fb_segment *segment, const struct fb_group *world, MPI_Comm comm)
{
	struct fb_segment *s = segment;
	int *members;

	MPI_Comm_size(comm, &s->nparts);
	s->part_of = malloc((size_t)world->nranks * sizeof(*s->part_of));
	members = malloc((size_t)s->nparts * sizeof(*members));
	if (fb_group_agree(world, s->part_of && members ? FB_OK : FB_ENOMEM) || !s->part_of ||
	    !members) {
		free(members);
		return FB_ENOMEM;
	}
	MPI_Allgather(&world->rank, 1, MPI_INT, members, 1, MPI_INT, comm);
	for (int r = 0; r < world->nranks; r++)
		s->part_of[r] = -1;
	for (int i = 0; i < s->nparts; i++)
		s->part_of[members[i]] = i;
	free(members);
	return FB_OK;
}

int fb_segment_open(struct fb_segment *segment, const struct fb_group *world, size_t part_bytes,
		    enum fb_pages pages)
{
	size_t page = fb_pages_bytes(pages), total;
	uint64_t wanted = part_bytes ? part_bytes : 1;
	struct fb_segment s = {.base = NULL};
	void *base = NULL;
	int err;

	MPI_Allreduce(MPI_IN_PLACE, &wanted, 1, MPI_UINT64_T, MPI_MAX, world->comm);
	err = fb_segment_find_parts(&s, world, world->node_comm);
	if (!err)
		err = fb_group_agree(world, page ? FB_OK : FB_EUNSUPPORTED);
	if (err)
		goto free_parts;
	s.part_bytes = ((size_t)wanted + page - 1) / page * page;
	total = s.part_bytes * (size_t)s.nparts;
	if (fb_pages_explicit(pages))
		err = fb_node_file_map_huge(world, total, page, &base);
	else
		err = fb_node_file_map(world, total, false, &base);
	err = fb_group_agree(world, err ? FB_ENOMEM : FB_OK);
	if (err)
		goto unmap;
	s.base = base;
	if (pages == FB_PAGES_TRANSPARENT)
		madvise(s.base, total, MADV_HUGEPAGE);
	s.ops = &fb_memory_host;
	*segment = s;
	return FB_OK;
unmap:
	if (base)
		munmap(base, total);
free_parts:
	free(s.part_of);
	return err;
}

int fb_segment_fit(struct fb_segment *segment, size_t *most, size_t need, fb_segment_open_fn open,
		   void *arg)
{
	static unsigned openings;
	int err = FB_ENOMEM;

	if (segment->ops)
		return need <= segment->part_bytes ? FB_OK : FB_ENOMEM;
	for (; *most && *most >= need; *most /= 2) {
		err = open(arg, *most);
		/* The refusal of more memory is not the reason of a later failure. */
		if (!err) {
			fb_error_forget();
			segment->number = ++openings;
		}
		if (err != FB_ENOMEM)
			return err;
	}
	return err;
}

void fb_segment_close(struct fb_segment *segment)
{
	if (segment->ops)
		segment->ops->close(segment);
	free(segment->parts);
	free(segment->part_of);
	*segment = (struct fb_segment){.base = NULL};
}

void fb_segment_free_memory(struct fb_segment *segment)
{
	struct fb_segment was = *segment;
	size_t bytes = (size_t)was.nparts * sizeof(*was.parts);

	was.ops = NULL;
	was.parts = segment->parts ? malloc(bytes) : NULL;
	if (was.parts)
		memcpy(was.parts, segment->parts, bytes);
	segment->part_of = NULL;
	fb_segment_close(segment);
	*segment = was;
}

void fb_segment_unmap(struct fb_segment *segment)
{
	if (segment->base)
		munmap(segment->base, segment->part_bytes * (size_t)segment->nparts);
}
