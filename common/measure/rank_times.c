/* SPDX-License-Identifier: BSD-3-Clause */
/* Gathering the times of single ranks; see rank_times.h. */
#include "common/base/error.h"
#include "common/measure/rank_times.h"

#include <stdlib.h>
#include <string.h>

enum { DOUBLES = sizeof(struct fb_rank_time) / sizeof(double) };

int fb_rank_times_open(struct fb_rank_times *times, const struct fb_group *world, size_t block)
{
	size_t ranks = world->rank == 0 ? (size_t)world->nranks : 0;

	*times = (struct fb_rank_times){
		.world = world,
		.block = block,
		.own = calloc(block, sizeof(*times->own)),
		.all = calloc(ranks * block + 1, sizeof(*times->all)),
	};
	return times->own && times->all
		       ? FB_OK
		       : fb_error(FB_ENOMEM, "out of memory for the times of single ranks");
}

void fb_rank_times_close(struct fb_rank_times *times)
{
	free(times->own);
	free(times->all);
	free(times->time);
	memset(times, 0, sizeof(*times));
}

void fb_rank_times_begin(struct fb_rank_times *times)
{
	times->count = 0;
}

static int reserve(struct fb_rank_times *times, size_t n)
{
	size_t capacity = times->capacity ? times->capacity : 256;
	struct fb_rank_time *list;

	while (capacity < times->count + n)
		capacity *= 2;
	if (capacity == times->capacity)
		return FB_OK;
	list = reallocarray(times->time, capacity * (size_t)times->world->nranks, sizeof(*list));
	if (!list)
		return fb_error(FB_ENOMEM, "out of memory for %zu repetitions of %d ranks",
				capacity, times->world->nranks);
	times->time = list;
	times->capacity = capacity;
	return FB_OK;
}

void fb_rank_times_add(struct fb_rank_times *times, const struct fb_rank_time *own, size_t n)
{
	size_t ranks;

	if (!times->world)
		return;
	memcpy(times->own, own, n * sizeof(*own));
	MPI_Gather(times->own, (int)n * DOUBLES, MPI_DOUBLE, times->all, (int)n * DOUBLES,
		   MPI_DOUBLE, 0, times->world->comm);
	if (times->world->rank != 0)
		return;
	if (!times->err)
		times->err = reserve(times, n);
	if (times->err)
		return;
	ranks = (size_t)times->world->nranks;
	for (size_t i = 0; i < n; i++)
		for (size_t r = 0; r < ranks; r++)
			times->time[(times->count + i) * ranks + r] = times->all[r * n + i];
	times->count += n;
}
