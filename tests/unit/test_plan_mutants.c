/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checker must catch broken plans: takes correct plans of every algorithm, breaks one thing
 * of one rank at a place drawn by seed, and demands a verdict. Kinds: a step left out, a chunk
 * swapped for another, a wrong peer, a contribution counted twice, a dependency between lanes
 * left out, a chunk overwritten too early.
 */
#include <stdlib.h>

#include "collectives/algorithm/algorithm.h"
#include "common/base/error.h"
#include "common/base/rng.h"
#include "common/plan/check.h"
#include "tests/unit/check.h"

/* Breaks the plan; false where there is nothing of this kind to break. */
typedef bool (*mutate_fn)(struct fb_plan *p, struct fb_rng *rng);

static struct fb_lane *pick_lane(struct fb_plan *p, struct fb_rng *rng)
{
	struct fb_lane *lane = &p->lanes[fb_rng_below(rng, (uint64_t)p->nlanes)];

	return lane->nsteps ? lane : NULL;
}

/* A step of the lane, starting from a random one, for which want() holds; or NULL. */
static struct fb_step *pick_step(struct fb_plan *p, struct fb_lane *lane, struct fb_rng *rng,
				 bool (*want)(const struct fb_plan *, const struct fb_step *))
{
	uint64_t first = fb_rng_below(rng, lane->nsteps);

	for (uint32_t i = 0; i < lane->nsteps; i++) {
		struct fb_step *s = &lane->steps[(first + i) % lane->nsteps];

		if (want(p, s))
			return s;
	}
	return NULL;
}

static bool is_run(const struct fb_plan *p, const struct fb_step *s)
{
	(void)p;
	return s->kind == FB_RUN;
}

static void remove_step(struct fb_lane *lane, struct fb_step *s)
{
	memmove(s, s + 1, (size_t)(lane->steps + lane->nsteps - s - 1) * sizeof(*s));
	lane->nsteps--;
}

static bool drop_step(struct fb_plan *p, struct fb_rng *rng)
{
	struct fb_lane *lane = pick_lane(p, rng);
	struct fb_step *s = lane ? pick_step(p, lane, rng, is_run) : NULL;

	if (!s)
		return false;
	remove_step(lane, s);
	return true;
}

/* A local chunk that the step reads or writes; not the source of a mere announcement. */
static struct fb_end *local_end(const struct fb_plan *p, const struct fb_step *s)
{
	int moved = s->ndst;

	for (int i = s->nsrc; i < s->nsrc + s->ndst && s->kind == FB_RUN; i++)
		moved -= p->ends[s->first_end + (uint32_t)i].kind == FB_EXPOSE;
	if (!moved)
		return NULL;
	for (int i = 0; i < s->nsrc + s->ndst && s->kind == FB_RUN; i++)
		if (p->ends[s->first_end + (uint32_t)i].kind == FB_LOCAL)
			return &p->ends[s->first_end + (uint32_t)i];
	return NULL;
}

static bool has_local(const struct fb_plan *p, const struct fb_step *s)
{
	return local_end(p, s) != NULL;
}

static bool swap_chunk(struct fb_plan *p, struct fb_rng *rng)
{
	struct fb_lane *lane = pick_lane(p, rng);
	struct fb_step *s = lane ? pick_step(p, lane, rng, has_local) : NULL;
	struct fb_end *e = s ? local_end(p, s) : NULL;

	if (!e)
		return false;
	e->index += e->index >= s->count ? -s->count : s->count;
	return true;
}

static bool wrong_peer(struct fb_plan *p, struct fb_rng *rng)
{
	struct fb_link *l;

	if (!p->n_out_links || p->shape.nranks < 3)
		return false;
	l = &p->out_links[fb_rng_below(rng, p->n_out_links)];
	do {
		l->peer = (l->peer + 1) % p->shape.nranks;
	} while (l->peer == p->rank);
	return true;
}

static bool reduces(const struct fb_plan *p, const struct fb_step *s)
{
	return s->kind == FB_RUN && s->nsrc > 1 && has_local(p, s);
}

/* One source is a local chunk twice, in place of another. */
static bool double_reduction(struct fb_plan *p, struct fb_rng *rng)
{
	struct fb_lane *lane = pick_lane(p, rng);
	struct fb_step *s = lane ? pick_step(p, lane, rng, reduces) : NULL;
	struct fb_end *ends;
	uint32_t n;

	if (!s || p->shape.collective == FB_BARRIER)
		return false;
	n = (uint32_t)s->nsrc + s->ndst;
	ends = realloc(p->ends, (p->nends + n + 1) * sizeof(*ends));
	if (!ends)
		return false;
	p->ends = ends;
	/* The step gets a new list of ends, whose first source comes twice. */
	memcpy(ends + p->nends + 1, ends + s->first_end, n * sizeof(*ends));
	for (uint32_t i = 0; i < s->nsrc; i++)
		if (ends[s->first_end + i].kind == FB_LOCAL) {
			ends[p->nends] = ends[s->first_end + i];
			s->first_end = p->nends;
			s->nsrc++;
			p->nends += n + 1;
			return true;
		}
	return false;
}

static bool has_dep(const struct fb_plan *p, const struct fb_step *s)
{
	(void)p;
	return s->ndep > 0;
}

/* The dependencies of all steps of a lane: a single one may follow from others. */
static bool drop_dependency(struct fb_plan *p, struct fb_rng *rng)
{
	struct fb_lane *lane = pick_lane(p, rng);

	if (!lane || !pick_step(p, lane, rng, has_dep))
		return false;
	for (uint32_t i = 0; i < lane->nsteps; i++)
		lane->steps[i].ndep = 0;
	return true;
}

/* Whether step a reads (or exposes) memory that step b writes. */
static bool reads_before_write(const struct fb_plan *p, const struct fb_step *a,
			       const struct fb_step *b)
{
	for (uint32_t i = 0; i < (uint32_t)a->nsrc; i++)
		for (uint32_t k = b->nsrc; k < (uint32_t)b->nsrc + b->ndst; k++) {
			const struct fb_end *x = &p->ends[a->first_end + i];
			const struct fb_end *y = &p->ends[b->first_end + k];

			if (x->kind == FB_LOCAL && y->kind == FB_LOCAL && x->buffer == y->buffer &&
			    x->index < y->index + b->count && y->index < x->index + a->count)
				return true;
		}
	return false;
}

/* A step that writes a chunk goes before one that still reads its old content. */
static bool early_overwrite(struct fb_plan *p, struct fb_rng *rng)
{
	struct fb_lane *lane = pick_lane(p, rng);

	for (uint32_t b = 1; lane && b < lane->nsteps; b++)
		for (uint32_t a = 0; a < b; a++) {
			struct fb_step moved = lane->steps[b];

			if (lane->steps[a].kind != FB_RUN || moved.kind != FB_RUN ||
			    !reads_before_write(p, &lane->steps[a], &moved))
				continue;
			memmove(&lane->steps[a + 1], &lane->steps[a],
				(b - a) * sizeof(moved));
			lane->steps[a] = moved;
			return true;
		}
	return false;
}

static bool is_drain(const struct fb_plan *p, const struct fb_step *s)
{
	(void)p;
	return s->kind == FB_DRAIN;
}

/* The waits for peers' pulls left out: their memory is written, or given back, too early. */
static bool drop_drains(struct fb_plan *p, struct fb_rng *rng)
{
	struct fb_lane *lane = pick_lane(p, rng);
	bool any = false;

	for (struct fb_step *s; lane && (s = pick_step(p, lane, rng, is_drain)); any = true) {
		remove_step(lane, s);
		if (!lane->nsteps)
			return true;
	}
	return any;
}

static const struct {
	const char *name;
	mutate_fn mutate;
	bool direct;
	bool may_be_harmless; /* other messages may order the accesses as well */
} kinds[] = {
	{"dropped step", drop_step, false, false},
	{"dropped step", drop_step, true, false},
	{"swapped chunk", swap_chunk, false, false},
	{"swapped chunk", swap_chunk, true, false},
	{"wrong peer", wrong_peer, false, false},
	{"wrong peer", wrong_peer, true, false},
	{"double reduction", double_reduction, false, false},
	{"double reduction", double_reduction, true, false},
	{"missing dependency", drop_dependency, false, true},
	{"early overwrite", early_overwrite, false, false},
	{"early overwrite by a peer", drop_drains, true, true},
};

/* 1 caught, 0 survived, -1 nothing to break. */
static int try_mutant(const struct fb_algorithm *a, const struct fb_shape *shape, size_t kind,
		      struct fb_rng *rng, char *why)
{
	struct fb_check_options options = {.slots = 8, .slices = 2, .runs = 2};
	struct fb_check_report report;
	struct fb_plan *plans[16];
	int result = -1, victim = (int)fb_rng_below(rng, (uint64_t)shape->nranks);

	if (fb_build_all(a, shape, kinds[kind].direct, 8, plans))
		return -1;
	if (kinds[kind].mutate(plans[victim], rng))
		result = fb_plans_check(plans, shape->nranks, &options, &report) == FB_EPLAN;
	if (result == 1)
		snprintf(why, FB_WHY_CHARS, "%s", report.why);
	for (int r = 0; r < shape->nranks; r++)
		fb_plan_free(plans[r]);
	return result;
}

int main(void)
{
	struct fb_rng rng;
	int caught[sizeof(kinds) / sizeof(kinds[0])] = {0};
	char why[FB_WHY_CHARS] = "";

	fb_rng_seed(&rng, 20260101);
	for (int i = 0; i < fb_algorithm_count; i++)
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
			for (int attempt = 0; attempt < 12; attempt++) {
				const struct fb_algorithm *a = fb_algorithms[i];
				int n = 3 + (int)fb_rng_below(&rng, 6), result;
				int channels = a->channels ? a->channels : 1;
				struct fb_shape shape = {
					.collective = a->collective, .nranks = n,
					.nchannels = channels, .channel = attempt % channels,
				};

				if (fb_collective_info(a->collective)->has_root)
					shape.root = (int)fb_rng_below(&rng, (uint64_t)n);
				if (!fb_algorithm_can(a, &shape, why, sizeof(why)))
					continue;
				result = try_mutant(a, &shape, k, &rng, why);
				caught[k] += result > 0;
				if (!check_that(result != 0 || kinds[k].may_be_harmless,
						"mutant caught", __FILE__, __LINE__))
					printf("\t%s survived in %s %s, n=%d root=%d attempt %d\n",
					       kinds[k].name,
					       fb_collective_info(a->collective)->name, a->name,
					       n, shape.root, attempt);
			}
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		printf("%-28s %-6s %4d caught\n", kinds[k].name,
		       kinds[k].direct ? "direct" : "fifo", caught[k]);
		CHECK(caught[k] > 0);
	}
	return check_done("plan mutants");
}
