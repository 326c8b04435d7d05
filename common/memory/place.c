/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving a thread and memory to a place of the axis --numa, and reporting it; see places.h. */
#include "common/memory/places.h"

#include <stdio.h>
#include <string.h>

#include "common/base/error.h"

int fb_place_cpus(const struct fb_places *places, const struct fb_place *place,
		  struct fb_cpus *cpus)
{
	bool bound = place->name[0] != 'l' && place->name[0] != 'r';
	int err;

	*cpus = places->numa->node[place->thread].cpus;
	/* Within its own node a thread keeps its processors. A control group may forbid others. */
	for (int i = 0; i < FB_NUMA_WORDS && !bound; i++)
		cpus->word[i] &= places->allowed.word[i];
	err = fb_cpus_set(cpus);
	if (!err)
		err = fb_cpus_get(cpus);
	(void)fb_cpus_set(&places->allowed);
	return err;
}

int fb_place_enter(const struct fb_places *places, const struct fb_place *place)
{
	struct fb_cpus cpus;
	int err;

	if (place->thread < 0)
		return FB_OK;
	err = fb_place_cpus(places, place, &cpus);
	if (!err)
		err = fb_cpus_set(&cpus);
	return err ? fb_error(FB_ESYS, "rank %d: cannot run on NUMA node %d: %s",
			      places->world->rank, place->thread, strerror(err))
		   : FB_OK;
}

int fb_place_leave(const struct fb_places *places, const struct fb_place *place)
{
	int err = place->thread < 0 ? 0 : fb_cpus_set(&places->allowed);

	return err ? fb_error(FB_ESYS, "rank %d: cannot run on all of its processors again: %s",
			      places->world->rank, strerror(err))
		   : FB_OK;
}

int fb_place_part(const struct fb_places *places, const struct fb_place *place,
		  const struct fb_segment *segment)
{
	volatile char *part = fb_segment_part(segment, places->world->rank);
	int err = 0;

	if (place->memory >= 0)
		err = fb_numa_bind(fb_segment_part(segment, places->world->rank),
				   segment->part_bytes, place->memory);
	if (err)
		return fb_error(FB_ESYS, "rank %d: mbind of %zu bytes to NUMA node %d: %s",
				places->world->rank, segment->part_bytes, place->memory,
				strerror(err));
	for (size_t at = 0; at < segment->part_bytes; at += 4096)
		part[at] = 0;
	return FB_OK;
}

/* "0" or, of two ends that differ, "0>1". */
static void join(const struct fb_placed *ends, int n, bool pages, char *buf, size_t chars)
{
	char first[FB_NUMA_CHARS], second[FB_NUMA_CHARS];
	uint64_t nodes = 0;

	for (int i = 0; i < n; i++)
		nodes |= pages ? ends[i].pages : ends[i].thread;
	fb_numa_text(nodes, first);
	second[0] = '\0';
	if (n == 2) {
		fb_numa_text(pages ? ends[0].pages : ends[0].thread, first);
		fb_numa_text(pages ? ends[1].pages : ends[1].thread, second);
	}
	if (n == 2 && strcmp(first, second))
		snprintf(buf, chars, "%s>%s", first, second);
	else
		snprintf(buf, chars, "%s", first);
}

const char *fb_placed_text(const struct fb_placed *ends, int n, char buf[FB_PLACED_CHARS])
{
	char threads[2 * FB_NUMA_CHARS], pages[2 * FB_NUMA_CHARS];

	join(ends, n, false, threads, sizeof(threads));
	join(ends, n, true, pages, sizeof(pages));
	snprintf(buf, FB_PLACED_CHARS, "threads on %.30s, pages on %.30s", threads, pages);
	return buf;
}

void fb_placed_where(const struct fb_places *places, const struct fb_place *place, bool memory,
		     uint64_t pages, char text[FB_PLACED_CHARS])
{
	const struct fb_group *w = places->world;
	int node = fb_numa_thread(), n = w->nranks == 2 ? 2 : 1;
	struct fb_placed own = {node < 0 ? 0 : UINT64_C(1) << node, pages}, ends[2] = {{0, 0}};
	char threads[2 * FB_NUMA_CHARS];

	text[0] = '\0';
	if (place->thread < 0)
		return;
	if (n == 2)
		MPI_Allgather(&own, 2, MPI_UINT64_T, ends, 2, MPI_UINT64_T, w->comm);
	else
		MPI_Allreduce(&own, ends, 2, MPI_UINT64_T, MPI_BOR, w->comm);
	if (memory) {
		fb_placed_text(ends, n, text);
		return;
	}
	join(ends, n, false, threads, sizeof(threads));
	snprintf(text, FB_PLACED_CHARS, "threads on %.30s", threads);
}
