/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments in memory that libraries allocate, for libraries that accept no other memory. */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/cuda/cuda_segment.h"

struct adopted {
	int (*release)(void *memory);
};

static void adopted_close(struct fb_segment *s)
{
	struct adopted *a = s->mapping;

	for (int p = 0; p < s->nparts; p++)
		(void)a->release(s->parts[p]);
	free(a);
}

static const struct fb_memory_ops adopted_ops = {
	.name = "library", .device = true, .close = adopted_close,
	.set = fb_device_set, .put = fb_device_put, .get = fb_device_get,
	.fill = fb_device_fill, .check = fb_device_check,
	.fill_spans = fb_device_fill_spans, .check_spans = fb_device_check_spans,
};

int fb_gpu_segment_adopt(struct fb_segment *segment, const struct fb_group *world,
			 void *const *memory, int parts, size_t part_bytes,
			 int (*release)(void *memory))
{
	struct fb_segment s = {.part_bytes = part_bytes, .nparts = parts, .ops = &adopted_ops};
	struct adopted *a = calloc(1, sizeof(*a));
	int err = FB_ENOMEM, all = world->nranks * parts;

	s.part_of = calloc((size_t)all, sizeof(*s.part_of));
	s.parts = calloc((size_t)parts, sizeof(*s.parts));
	if (a && s.part_of && s.parts) {
		for (int i = 0; i < all; i++)
			s.part_of[i] = i / parts == world->rank ? i % parts : -1;
		a->release = release;
		s.mapping = a;
		err = FB_OK;
		for (int p = 0; p < parts && !err; p++) {
			s.parts[p] = memory[p];
			err = fb_device_set(memory[p], 0, part_bytes);
		}
	}
	err = fb_group_agree(world, err);
	if (err) {
		free(a);
		free(s.part_of);
		free(s.parts);
		return err;
	}
	*segment = s;
	return FB_OK;
}
