/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of unequal blocks; see traffic.h. */
#include "collectives/traffic.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* "matrix=NAME" of the file's name, without what would break the column's form. */
static void name_file(const char *option, const char *path, char variant[FB_VARIANT_CHARS])
{
	const char *slash = strrchr(path, '/');

	snprintf(variant, FB_VARIANT_CHARS, "%s=%s", option, slash ? slash + 1 : path);
	for (char *p = variant + strlen(option) + 1; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_-.", *p))
			*p = '_';
}

static int make_weights(const struct fb_traffic *made, const struct fb_traffic_settings *settings,
			const char *option)
{
	int n = made->nranks;

	if (settings->file)
		return fb_traffic_read(option, settings->file, made->matrix ? n : 1, n,
				       made->weights);
	for (int k = 0; k < n; k++)
		made->weights[k] = pow(k + 1, -settings->skew);
	return FB_OK;
}

int fb_traffic_open(struct fb_traffic *traffic, const struct fb_traffic_settings *settings,
		    enum fb_collective collective, const struct fb_group *world)
{
	bool pairs = collective == FB_ALL_TO_ALL_V;
	const char *option = pairs ? "matrix" : "weights";
	struct fb_traffic made = {.collective = collective, .nranks = world->nranks,
				  .matrix = pairs && settings->file};
	size_t n = (size_t)world->nranks, rows = made.matrix ? n : 1;
	int err;

	if (settings->file && settings->skew > 0) {
		FILE *errors = world->rank == 0 ? stderr : NULL;

		return fb_option_reject(errors, option, settings->file,
					"no --skew beside it: the file says all");
	}
	made.weights = malloc(n * rows * sizeof(*made.weights));
	err = fb_group_agree(world, made.weights ? FB_OK : FB_ENOMEM);
	if (err || !made.weights)
		goto free_weights;
	if (world->rank == 0)
		err = make_weights(&made, settings, option);
	err = fb_group_agree(world, err);
	if (err)
		goto free_weights;
	for (size_t row = 0; row < rows; row++)
		MPI_Bcast(made.weights + row * n, world->nranks, MPI_DOUBLE, 0, world->comm);
	if (settings->file)
		name_file(option, settings->file, made.variant);
	else
		snprintf(made.variant, sizeof(made.variant), "skew=%g", settings->skew);
	*traffic = made;
	return FB_OK;
free_weights:
	free(made.weights);
	return err;
}

void fb_traffic_close(struct fb_traffic *traffic)
{
	free(traffic->weights);
	*traffic = (struct fb_traffic){0};
}

/*
 * Shares `total` out by weight: entry i ends where the exact running sum, rounded down, ends.
 * So the parts add up to the total, and errors do not. Not all weights are 0.
 */
static void share_out(const double *weights, size_t n, uint64_t total, uint64_t *shares)
{
	double sum = 0, upto = 0;
	uint64_t given = 0;
	size_t last = 0;

	for (size_t i = 0; i < n; i++) {
		sum += weights[i];
		last = weights[i] > 0 ? i : last;
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t end;

		upto += weights[i];
		/* The last share takes the rest, because a rounded quotient may miss the total. */
		end = i < last ? (uint64_t)((double)total * upto / sum) : total;
		end = end < total ? end : total;
		shares[i] = end - given;
		given = end;
	}
}

/* The same row for all senders, turned so that it begins at the sender. */
static void share_by_distance(const struct fb_traffic *traffic, uint64_t average,
			      uint64_t *elements)
{
	size_t n = (size_t)traffic->nranks;

	/* Into row 0, which is rank 0's; the others are copies of it. */
	share_out(traffic->weights, n, average, elements);
	for (size_t from = 1; from < n; from++)
		for (size_t k = 0; k < n; k++)
			elements[from * n + (from + k) % n] = elements[k];
}

void fb_traffic_spread(enum fb_collective collective, size_t n, uint64_t *elements)
{
	/* From the end, so that what is still to be read has not been overwritten. */
	for (size_t i = n * n; collective != FB_ALL_TO_ALL_V && i-- > 0;)
		elements[i] = elements[collective == FB_ALL_GATHER_V ? i / n : i % n];
}

void fb_traffic_sizes(struct fb_counts *counts)
{
	size_t n = (size_t)counts->nranks;

	counts->max = 0;
	counts->empty = false;
	for (size_t i = 0; i < n * n; i++) {
		counts->max = counts->elements[i] > counts->max ? counts->elements[i] : counts->max;
		counts->empty |= counts->elements[i] == 0;
	}
}

int fb_traffic_counts(const struct fb_traffic *traffic, uint64_t average,
		      struct fb_counts *counts)
{
	size_t n = (size_t)traffic->nranks;
	struct fb_counts made = {.nranks = traffic->nranks};

	made.elements = calloc(n * n, sizeof(*made.elements));
	if (!made.elements)
		return FB_ENOMEM;
	if (traffic->matrix)
		share_out(traffic->weights, n * n, average * n, made.elements);
	else if (traffic->collective != FB_ALL_TO_ALL_V)
		share_out(traffic->weights, n, average * n, made.elements);
	else
		share_by_distance(traffic, average, made.elements);
	fb_traffic_spread(traffic->collective, n, made.elements);
	fb_traffic_sizes(&made);
	*counts = made;
	return FB_OK;
}

uint64_t fb_traffic_moved(const struct fb_counts *counts)
{
	size_t n = (size_t)counts->nranks;
	uint64_t moved = 0;

	for (size_t i = 0; i < n * n; i++)
		moved += i / n == i % n ? 0 : counts->elements[i];
	return moved;
}
