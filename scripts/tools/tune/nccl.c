/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a table of NCCL's measured choices for this project's tuner plugin (FB_NCCL_TABLE; see
 * common/library/nccl/tuner.h). NCCL's own choice is a candidate like the others: where it is the
 * best, or cannot be told apart from it, there is no line, and NCCL chooses.
 */
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/tune/tune.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/error.h"

static const char library[] = "library";

/* Operations that NCCL's tuner chooses for, as the table spells them. */
static const char *const functions[][2] = {
	{"all_reduce", "allreduce"},	     {"all_gather", "allgather"},
	{"reduce_scatter", "reducescatter"}, {"broadcast", "broadcast"},
	{"reduce", "reduce"},
};

static const char *function_of(const char *operation)
{
	for (size_t i = 0; i < FB_COUNT_OF(functions); i++)
		if (!strcmp(functions[i][0], operation))
			return functions[i][1];
	return NULL;
}

bool fb_tune_nccl_takes(const struct fb_cell *cell)
{
	const char *algorithm = fb_cell_text(cell, "algorithm");
	bool own = !strcmp(algorithm, library);
	char channels[16];

	/* A line cannot fix channels alone. */
	return !strcmp(fb_cell_text(cell, "engine"), "nccl") && strcmp(algorithm, "grouped") &&
	       own == !strcmp(fb_cell_text(cell, "protocol"), library) &&
	       !strcmp(fb_cell_text(cell, "registration"), "none") &&
	       !(own && fb_variant_value(fb_cell_text(cell, "variant"), "channels", channels,
					 sizeof(channels)));
}

/* The candidate that leaves the choice to NCCL, or `ncandidates`. */
static size_t own_choice(const struct fb_tune_family *f)
{
	size_t k = 0;

	while (k < f->ncandidates && strcmp(f->candidate[k].algorithm, library))
		k++;
	return k;
}

/* A line for the sizes [from, to], with its times and those of NCCL's own choice beside them. */
static void print_line(const struct fb_tune_family *f, const struct fb_tune_problem *p,
		       const int *choice, size_t from, size_t to, FILE *out)
{
	size_t k = (size_t)choice[from], own = own_choice(f);
	const struct fb_tune_candidate *c = &f->candidate[k];

	fprintf(out, "%s %" PRIu64 " %" PRIu64 " %s %s %u  #", function_of(f->operation),
		f->bytes[from], f->bytes[to], c->algorithm, c->protocol, c->tuned.channels);
	for (size_t s = from; s <= to; s += to > from ? to - from : 1) {
		fprintf(out, "%s %.4g us", s > from ? " to" : "", fb_tune_time_us(p, s, k));
		if (own < f->ncandidates)
			fprintf(out, " (NCCL's choice %.4g)", fb_tune_time_us(p, s, own));
	}
	fprintf(out, "\n");
}

static void print_family(const struct fb_tune_family *f, double change, FILE *out)
{
	struct fb_tune_problem problem = {
		.ncontexts = f->ncontexts, .nsizes = f->nsizes, .ncandidates = f->ncandidates,
		.point = f->point, .numbers = f->numbers, .change = change,
	};
	int *choice = fb_new(f->nsizes, sizeof(*choice));
	size_t own = own_choice(f), end;

	for (size_t k = 0; k < f->ncandidates; k++)
		f->numbers[k] += k != own;
	fb_tune_choose(&problem, choice);
	/* A line has to save time: fewer channels, or the same choice as nearby, are no reason. */
	for (size_t s = 0; s < f->nsizes && own < f->ncandidates; s++)
		if (fb_tune_equals_best(&problem, s, own))
			choice[s] = (int)own;
	for (size_t s = 0; s < f->nsizes; s = end) {
		end = s + 1;
		while (end < f->nsizes && choice[end] == choice[s])
			end++;
		if (choice[s] >= 0 && (size_t)choice[s] != own)
			print_line(f, &problem, choice, s, end - 1, out);
	}
}

int fb_tune_nccl(const struct fb_tune_settings *settings, const struct fb_tune_sample *sample,
		 size_t count, FILE *out)
{
	size_t n;

	fprintf(out, "# For %s ranks on %s nodes: NCCL_TUNER_PLUGIN=.../libfabricbench-nccl.so "
		"FB_NCCL_TABLE=this file\n#\n# FUNCTION FROM TO ALGORITHM PROTOCOL CHANNELS\n",
		fb_cell_text(sample->cell, "ranks"), fb_cell_text(sample->cell, "nodes"));
	for (size_t i = 0; i < count; i += n) {
		const struct fb_cell *cell = sample[i].cell;
		struct fb_tune_family family = {.point = NULL};

		n = fb_tune_family_length(sample + i, count - i);
		if (strcmp(fb_cell_text(cell, "ranks"), fb_cell_text(sample->cell, "ranks")) ||
		    strcmp(fb_cell_text(cell, "nodes"), fb_cell_text(sample->cell, "nodes")))
			return fb_error(FB_EINPUT, "a table of NCCL's plugin does not name ranks "
					"and nodes: expected rows of one number of them, as by "
					"ranks=%s nodes=%s", fb_cell_text(sample->cell, "ranks"),
					fb_cell_text(sample->cell, "nodes"));
		if (!function_of(sample[i].operation))
			continue;
		fb_tune_family_make(&family, sample + i, n);
		print_family(&family, settings->change, out);
	}
	return FB_OK;
}
