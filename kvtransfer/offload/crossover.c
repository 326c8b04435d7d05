/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the table of the fastest ways to a tier, from the cases of one run; see offload.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "kvtransfer/offload/offload.h"

enum { WAY_CHARS = FB_PATH_MOVER_CHARS + FB_PATH_FORM_CHARS };

/* The two fastest ways that were measured for a list of pieces. */
struct fb_crossing {
	bool device, get;
	double piece_bytes, pieces;
	int ways;
	char first[WAY_CHARS], second[WAY_CHARS]; /* MOVER or MOVER:FORM */
	double first_us, second_us;
};

int fb_tier_crossover_open(const struct fb_tier_state *state)
{
	const char *name = state->own->crossover;
	int err = FB_OK;

	/* Opening it to append keeps an existing table until there is a new one to write. */
	if (state->machine.world->rank == 0) {
		FILE *file = fopen(name, "a");

		if (!file || fclose(file))
			err = fb_error(FB_EINPUT, "--crossover %s: %s", name, strerror(errno));
	}
	return fb_group_agree(state->machine.world, err);
}

static struct fb_crossing *crossing_of(const struct fb_tier_instance *i)
{
	struct fb_tier_state *state = i->state;
	bool get = i->job.operation != FB_TIER_EVICT;
	double bytes = (double)i->job.page_bytes, pieces = (double)i->npieces[get];
	struct fb_crossing *more;

	for (size_t k = 0; k < state->crossings; k++) {
		struct fb_crossing *c = &state->crossing[k];

		if (c->device == i->engine->device && c->get == get && c->pieces == pieces &&
		    c->piece_bytes == bytes)
			return c;
	}
	more = realloc(state->crossing, (state->crossings + 1) * sizeof(*more));
	if (!more)
		return NULL;
	state->crossing = more;
	more += state->crossings++;
	*more = (struct fb_crossing){.device = i->engine->device, .get = get,
				     .piece_bytes = bytes, .pieces = pieces};
	return more;
}

void fb_tier_crossover_add(const struct fb_tier_instance *i, double us)
{
	char way[WAY_CHARS];
	struct fb_crossing *c;

	if (!i->job.crossover || i->automatic || i->wrong)
		return;
	c = crossing_of(i);
	if (!c) {
		fb_error_print("out of memory for the crossover of a list");
		return;
	}
	snprintf(way, sizeof(way), "%s%s%s", i->engine->name, i->form ? ":" : "",
		 i->form ? i->form : "");
	if (!c->ways || us < c->first_us) {
		memcpy(c->second, c->first, sizeof(way));
		c->second_us = c->first_us;
		memcpy(c->first, way, sizeof(way));
		c->first_us = us;
	} else if (c->ways == 1 || us < c->second_us) {
		memcpy(c->second, way, sizeof(way));
		c->second_us = us;
	}
	c->ways++;
}

static int by_list(const void *a, const void *b)
{
	const struct fb_crossing *x = a, *y = b;

	if (x->device != y->device)
		return x->device ? 1 : -1;
	if (x->get != y->get)
		return x->get ? 1 : -1;
	if (x->piece_bytes != y->piece_bytes)
		return x->piece_bytes < y->piece_bytes ? -1 : 1;
	return (x->pieces > y->pieces) - (x->pieces < y->pieces);
}

static int print_lines(FILE *file, const struct fb_crossing *c, size_t n, char model[2]
		       [FB_PATHS_MODEL_CHARS])
{
	const struct fb_crossing *before = NULL;
	int lines = 0;

	fprintf(file, "# SPDX-License-Identifier: BSD-3-Clause\n#\n"
		      "# Path table; docs/kvtransfer.md. Written by offload --crossover.\n#\n"
		      "# tier MOVER[:FORM] VERB PIECE_BYTES PIECES  # median of the fastest, "
		      "of the next\n");
	for (size_t k = 0; k < n; k++, c++) {
		if (c->ways < 2 || !*model[c->device])
			continue;
		if (!before || before->device != c->device)
			fprintf(file, "\nmachine %s %s\n", c->device ? "gpu" : "cpu",
				model[c->device]);
		before = c;
		lines += fprintf(file, "tier %-18s %s %8.0f %6.0f  # %.4g us; %s %.4g us\n",
				 c->first, c->get ? "get" : "put", c->piece_bytes, c->pieces,
				 c->first_us, c->second, c->second_us) > 0;
	}
	return lines;
}

void fb_tier_crossover_write(struct fb_tier_state *state)
{
	const char *name = state->own->crossover;
	char model[2][FB_PATHS_MODEL_CHARS] = {"", ""};
	FILE *file;

	for (int device = 0; device < 1 + state->machine.has_gpu; device++)
		if (!fb_kv_machine_model(&state->machine, device, model[device]))
			model[device][0] = '\0';
	if (state->machine.world->rank || !state->crossings)
		return;
	qsort(state->crossing, state->crossings, sizeof(*state->crossing), by_list);
	file = fopen(name, "w");
	if (!file || !print_lines(file, state->crossing, state->crossings, model))
		fb_error_print("--crossover %s: %s", name, file ? "no list was carried in two ways"
							       : strerror(errno));
	if (file && fclose(file))
		fb_error_print("--crossover %s: %s", name, strerror(errno));
	free(state->crossing);
	state->crossing = NULL;
}
