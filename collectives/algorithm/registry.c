/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of algorithms, made from algorithms.def. A line without its definition does not link;
 * tests/unit/test_registry.c finds a file without its line.
 */
#include "collectives/algorithm/algorithm.h"

#include <stdio.h>
#include <string.h>

const struct fb_algorithm *const fb_algorithms[] = {
#define FB_ALGORITHM(collective, name) &fb_##collective##_##name,
#include "collectives/algorithm/algorithms.def"
#undef FB_ALGORITHM
};

const int fb_algorithm_count = (int)(sizeof(fb_algorithms) / sizeof(fb_algorithms[0]));

const struct fb_algorithm *fb_algorithm_find(enum fb_collective collective, const char *name)
{
	for (int i = 0; i < fb_algorithm_count; i++)
		if (fb_algorithms[i]->collective == collective &&
		    !strcmp(fb_algorithms[i]->name, name))
			return fb_algorithms[i];
	return NULL;
}

const struct fb_algorithm *fb_algorithm_of_text(enum fb_collective collective, const char *text,
						const char **stages)
{
	const char *colon = strchr(text, ':');
	char name[64];

	*stages = colon ? colon + 1 : NULL;
	snprintf(name, sizeof(name), "%.*s", colon ? (int)(colon - text) : (int)strlen(text), text);
	return fb_algorithm_find(collective, name);
}

bool fb_algorithm_can(const struct fb_algorithm *algorithm, const struct fb_shape *shape, char *why,
		      size_t n)
{
	const struct fb_collective_info *info = fb_collective_info(shape->collective);

	if (shape->collective != algorithm->collective) {
		snprintf(why, n, "%s is an algorithm for %s, not for %s", algorithm->name,
			 fb_collective_info(algorithm->collective)->name, info->name);
		return false;
	}
	if (shape->nranks < 1 || shape->root < 0 || shape->root >= shape->nranks) {
		snprintf(why, n, "root %d is not one of %d ranks", shape->root, shape->nranks);
		return false;
	}
	if (shape->in_place && !info->in_place) {
		snprintf(why, n, "%s has no in-place form", info->name);
		return false;
	}
	if (shape->in_place && !algorithm->in_place) {
		snprintf(why, n, "%s has no in-place form of %s", algorithm->name, info->name);
		return false;
	}
	if (algorithm->channels && shape->nchannels % algorithm->channels) {
		snprintf(why, n, "%s needs a multiple of %d channels, not %d", algorithm->name,
			 algorithm->channels, shape->nchannels);
		return false;
	}
	if (shape->stages && !algorithm->stages) {
		snprintf(why, n, "%s is not composed of parts like %s", algorithm->name,
			 shape->stages);
		return false;
	}
	return !algorithm->can || algorithm->can(shape, why, n);
}
