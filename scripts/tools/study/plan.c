/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of launches; see plan.h. */
#include "common/base/error.h"
#include "common/base/rng.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/study/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All assignments of the alternatives at one point of the product, sorted. */
static char *join_variables(const struct fb_study *study, const size_t at[])
{
	struct fb_word_list all = {0};

	for (size_t i = 0; i < study->nenv; i++) {
		const char *word = study->env[i].word[at[i]];

		for (size_t n; strcmp(word, "-") && *word; word += n + (word[n] == ';')) {
			n = strcspn(word, ";");
			fb_word_list_add(&all, word, n);
		}
	}
	if (all.count)
		qsort(all.word, all.count, sizeof(*all.word), by_text);
	return fb_word_list_join(&all, ";");
}

/* The next point of the product of the axes, the last axis fastest; false after the last. */
static bool next_point(const struct fb_study *study, size_t at[])
{
	for (size_t i = study->nenv; i-- > 0;) {
		if (++at[i] < study->env[i].count)
			return true;
		at[i] = 0;
	}
	return false;
}

static int add_variant(struct fb_sweep_plan *plan, const struct fb_study *study, uint64_t ranks,
		       uint64_t nodes, char *variables)
{
	for (size_t i = 0; i < plan->nvariants; i++) {
		const struct fb_sweep_variant *other = &plan->variant[i];

		if (other->ranks == ranks && other->nodes == nodes &&
		    !strcmp(other->variables, variables))
			return fb_error(FB_EINPUT,
					"%s: env '%s' twice: accepted is each combination once",
					study->path, variables);
	}
	if (plan->nvariants == FB_STUDY_VARIANTS)
		return fb_error(FB_EINPUT,
				"%s: more than %d combinations of ranks, nodes and env: expected "
				"fewer; scripts/search goes through lines env one by one",
				study->path, FB_STUDY_VARIANTS);
	*FB_ADD(plan->variant, plan->nvariants) =
		(struct fb_sweep_variant){.ranks = ranks, .nodes = nodes, .variables = variables};
	return FB_OK;
}

/* All environments on one number of ranks and nodes. */
static int add_environments(struct fb_sweep_plan *plan, const struct fb_study *study,
			    uint64_t ranks, uint64_t nodes)
{
	size_t *at = fb_new(study->nenv + 1, sizeof(*at));
	int err = FB_OK;

	do
		err = add_variant(plan, study, ranks, nodes, join_variables(study, at));
	while (!err && next_point(study, at));
	return err;
}

static int add_variants(struct fb_sweep_plan *plan, const struct fb_study *study, uint64_t np)
{
	size_t nodes = study->nodes.count ? study->nodes.count : 1;
	size_t ranks = study->ranks.count ? study->ranks.count : 1;
	int err = FB_OK;

	for (size_t i = 0; !err && i < nodes; i++) {
		uint64_t n = study->nodes.count ? study->nodes.value[i] : 0;

		for (size_t j = 0; !err && j < ranks; j++) {
			uint64_t r = study->ranks.count ? study->ranks.value[j] : np;

			if (study->ranks_per_node)
				r *= n ? n : 1;
			if (n && (r < n || r % n))
				fprintf(stderr,
					"fabricbench: %s: left out: %llu ranks on %llu "
					"nodes, which do not divide\n",
					study->path, (unsigned long long)r, (unsigned long long)n);
			else
				err = add_environments(plan, study, r, n);
		}
	}
	if (!err && plan->nvariants == 0)
		err = fb_error(FB_EINPUT,
			       "%s: no number of ranks divides among the nodes: "
			       "expected multiples of them",
			       study->path);
	return err;
}

static void put(struct fb_sweep_plan *plan, size_t launch_index, size_t variant, int side)
{
	plan->launch[plan->count++] = (struct fb_sweep_launch){
		.launch_index = launch_index, .variant = variant, .side = side};
}

/* One variant on both sides, at launch indexes [first, first + length), length 1 or 2. */
static void put_sides(struct fb_sweep_plan *plan, size_t first, size_t length, size_t variant,
		      struct fb_rng *rng)
{
	int side = fb_rng_below(rng, 2) ? FB_SIDE_B : FB_SIDE_A;

	for (size_t i = 0; i < length; i++) {
		put(plan, first + i, variant, side);
		put(plan, first + i, variant, !side);
		side = !side;
	}
}

static void order(struct fb_sweep_plan *plan, const struct fb_study *study, uint64_t seed)
{
	size_t block = study->two_sides ? 2 : 1, n = plan->nvariants;
	size_t *shuffled = fb_new(n, sizeof(*shuffled));
	struct fb_rng rng;

	plan->launch = fb_new(n * study->launches * block, sizeof(*plan->launch));
	fb_rng_seed(&rng, seed);
	for (size_t i = 0; i < n; i++)
		shuffled[i] = i;
	for (size_t first = 0; first < study->launches; first += block) {
		size_t left = study->launches - first;

		fb_shuffle(shuffled, n, sizeof(*shuffled), &rng);
		for (size_t i = 0; i < n; i++) {
			if (study->two_sides)
				put_sides(plan, first, left < block ? left : block, shuffled[i],
					  &rng);
			else
				put(plan, first, shuffled[i], FB_SIDE_A);
		}
	}
}

int fb_sweep_plan_make(struct fb_sweep_plan *plan, const struct fb_study *study, uint64_t ranks,
		       uint64_t seed)
{
	int err = add_variants(plan, study, ranks);

	if (!err)
		order(plan, study, seed);
	return err;
}
