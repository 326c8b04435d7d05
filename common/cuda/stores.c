/* SPDX-License-Identifier: BSD-3-Clause */
/* See stores.h. */
#include "common/cuda/stores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/sizes.h"
#include "common/memory/memory.h"

size_t fb_store_of(const struct fb_stores *stores, const struct fb_case *c)
{
	size_t store = (size_t)fb_places_of(&stores->places, c)->store;

	return store * FB_MEMORY_KINDS + (size_t)fb_memory_of(c);
}

int fb_stores_open(struct fb_stores *stores, const struct fb_group *world, const char *numa)
{
	int err = fb_places_open(&stores->places, world, numa);
	size_t n = (size_t)stores->places.stores * FB_MEMORY_KINDS;

	if (err)
		return err;
	stores->world = world;
	fb_memory_survey(world, &stores->limit, &stores->huge_pages);
	for (int k = 0; k < FB_PAGE_KINDS; k++)
		if (fb_pages_explicit((enum fb_pages)k))
			stores->huge_share[k] = fb_pages_share(world, (enum fb_pages)k);
	stores->segment = calloc(n, sizeof(*stores->segment));
	stores->part_bytes = calloc(n, sizeof(*stores->part_bytes));
	err = fb_group_agree(world, stores->segment && stores->part_bytes ? FB_OK : FB_ENOMEM);
	return err ? fb_error(err, "out of memory for segments") : FB_OK;
}

void fb_stores_close(struct fb_stores *stores)
{
	for (int i = 0; stores->segment && i < stores->places.stores * FB_MEMORY_KINDS; i++)
		fb_segment_close(&stores->segment[i]);
	free(stores->segment);
	free(stores->part_bytes);
	fb_places_close(&stores->places);
}

struct opening {
	struct fb_stores *stores;
	const struct fb_case *c;
	fb_store_library_fn library;
	void *arg;
};

static int open_segment(void *arg, size_t part_bytes)
{
	const struct opening *o = arg;
	struct fb_stores *stores = o->stores;
	const struct fb_place *place = fb_places_of(&stores->places, o->c);
	struct fb_segment *segment = &stores->segment[fb_store_of(stores, o->c)];
	enum fb_memory_kind kind = fb_memory_of(o->c);
	int err;

	if (fb_memory_by_library(kind))
		return o->library(o->arg, segment, part_bytes);
	if (fb_memory_by_gpu(kind))
		return fb_gpu_segment_open(segment, stores->gpu,
					   (enum fb_gpu_memory)(kind - FB_MEMORY_DEVICE),
					   part_bytes);
	err = fb_segment_open(segment, stores->world, part_bytes, fb_memory_kinds[kind].pages);
	/* Touches all pages now, because their node and their kind are decided at first touch. */
	if (!err && (place->memory >= 0 || kind != FB_MEMORY_HOST))
		err = fb_group_agree(stores->world,
				     fb_place_part(&stores->places, place, segment));
	if (err && segment->ops)
		fb_segment_close(segment);
	return err;
}

int fb_stores_segment(struct fb_stores *stores, const struct fb_case *c, size_t need,
		      fb_store_library_fn library, void *arg)
{
	size_t store = fb_store_of(stores, c);
	struct opening opening = {.stores = stores, .c = c, .library = library, .arg = arg};

	return fb_segment_fit(&stores->segment[store], &stores->part_bytes[store], need,
			      open_segment, &opening);
}

static bool gpu_memory_can(const struct fb_stores *stores, const struct fb_case *c,
			   const char *refused, char reason[FB_REASON_CHARS])
{
	enum fb_memory_kind kind = fb_memory_of(c);

	if (!stores->gpu)
		snprintf(reason, FB_REASON_CHARS, "%s", stores->no_gpu);
	else if (refused && *refused)
		snprintf(reason, FB_REASON_CHARS, "%s", refused);
	else if (strcmp(fb_places_of(&stores->places, c)->name, "any"))
		snprintf(reason, FB_REASON_CHARS, "--numa does not place memory %s", c->memory);
	else
		return fb_memory_by_library(kind) ||
		       fb_gpu_segment_can(stores->gpu,
					  (enum fb_gpu_memory)(kind - FB_MEMORY_DEVICE), reason,
					  FB_REASON_CHARS);
	return false;
}

/* Whether there is host memory for a part; explicit huge pages are counted as whole pages. */
static bool host_memory_can(const struct fb_stores *stores, const struct fb_case *c,
			    uint64_t part_bytes, char reason[FB_REASON_CHARS])
{
	const struct fb_place *place = fb_places_of(&stores->places, c);
	enum fb_pages pages = fb_memory_kinds[fb_memory_of(c)].pages;
	uint64_t most = stores->huge_share[pages];

	if (pages == FB_PAGES_TRANSPARENT && !stores->huge_pages)
		snprintf(reason, FB_REASON_CHARS, "no huge pages for shared memory: "
			 "/sys/kernel/mm/transparent_hugepage/shmem_enabled");
	if (!fb_pages_explicit(pages))
		return pages != FB_PAGES_TRANSPARENT || stores->huge_pages;
	most = place->huge_limit[pages] < most ? place->huge_limit[pages] : most;
	return fb_pages_fit(pages, c->bytes, part_bytes, most, reason, FB_REASON_CHARS);
}

bool fb_stores_can(const struct fb_stores *stores, const struct fb_case *c, uint64_t part_bytes,
		   const char *refused, char reason[FB_REASON_CHARS])
{
	const struct fb_place *place = fb_places_of(&stores->places, c);
	enum fb_memory_kind kind = fb_memory_of(c);
	char asked[FB_SIZE_CHARS], limit[FB_SIZE_CHARS];
	uint64_t most = stores->limit;

	if (fb_memory_by_gpu(kind) && !gpu_memory_can(stores, c, refused, reason))
		return false;
	if (*place->reason) {
		snprintf(reason, FB_REASON_CHARS, "%s", place->reason);
		return false;
	}
	if (!fb_memory_by_gpu(kind) && !host_memory_can(stores, c, part_bytes, reason))
		return false;
	/* Engines' slots and the harness need GPU memory as well. */
	if (fb_memory_on_gpu(c))
		most = stores->gpu->memory_bytes / 8 * 7;
	if (fb_memory_kinds[kind].most)
		most = fb_memory_kinds[kind].most;
	most = place->limit < most ? place->limit : most;
	if (part_bytes <= most)
		return true;
	snprintf(reason, FB_REASON_CHARS, "%s a rank is more than the memory for its buffers, %s",
		 fb_size_text(c->bytes, asked),
		 fb_size_text(most & ~((UINT64_C(1) << 20) - 1), limit));
	return false;
}
