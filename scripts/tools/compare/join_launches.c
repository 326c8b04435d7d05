/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the launches that are used; see comparison.h.
 *
 * The family test draws whole launches, so a row that lacks a launch can only be tested by a much
 * weaker test. A launch that died halfway would weaken the test of all rows; it is better to leave
 * it out. The number of launches to leave out maximises the product of complete rows and the square
 * of the number of launches (of both sides, as it enters the standard error).
 */
#include "common/base/error.h"
#include "scripts/tools/compare/comparison.h"
#include "scripts/tools/lib/memory.h"

#include <math.h>
#include <stdlib.h>

struct candidate {
	size_t s, launch; /* side, and number in it */
	size_t covered;	  /* rows that it has a value of */
};

struct choice {
	struct candidate *order; /* [n], those that lack most first */
	size_t n;
	size_t *position[2]; /* [nlaunches] in `order` */
	size_t *lost;	     /* [n + 1] rows that are complete once so many are left out */
};

static int compare(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	if (a->covered != b->covered)
		return a->covered < b->covered ? -1 : 1;
	if (a->s != b->s)
		return a->s < b->s ? -1 : 1;
	return (a->launch > b->launch) - (a->launch < b->launch);
}

static bool is_joined(const struct fb_comparison *c, size_t key)
{
	return c->outcome[0][key].values && c->outcome[1][key].values;
}

static void count_coverage(const struct fb_comparison *c, double *const value[2], struct choice *ch)
{
	for (size_t i = 0; i < ch->n; i++) {
		struct candidate *candidate = &ch->order[i];
		size_t stride = c->set[candidate->s].nlaunches;

		for (size_t k = 0; k < c->keys.count; k++)
			candidate->covered +=
				is_joined(c, k) &&
				!isnan(value[candidate->s][k * stride + candidate->launch]);
	}
	qsort(ch->order, ch->n, sizeof(*ch->order), compare);
	for (size_t i = 0; i < ch->n; i++)
		ch->position[ch->order[i].s][ch->order[i].launch] = i;
}

/*
 * For each row: how many have to be left out until it is complete (counted in `lost`), and how
 * many may be until it loses a side; the least of the latter is returned.
 */
static size_t count_complete(const struct fb_comparison *c, double *const value[2],
			     struct choice *ch)
{
	size_t most = ch->n;

	for (size_t k = 0; k < c->keys.count; k++) {
		size_t complete = 0;

		for (int s = 0; s < 2 && is_joined(c, k); s++) {
			size_t stride = c->set[s].nlaunches, last = 0;

			for (size_t i = 0; i < stride; i++) {
				size_t position = ch->position[s][i];

				if (c->set[s].launch[i].out)
					continue;
				if (!isnan(value[s][k * stride + i]))
					last = position > last ? position : last;
				else if (position + 1 > complete)
					complete = position + 1;
			}
			most = last < most ? last : most;
		}
		if (is_joined(c, k))
			ch->lost[complete]++;
	}
	return most;
}

/* How many launches to leave out, at most `most`. */
static size_t choose(const struct choice *ch, size_t most)
{
	size_t left[2] = {0, 0}, rows = 0, best = 0;
	double best_score = -1;

	for (size_t i = 0; i < ch->n; i++)
		left[ch->order[i].s]++;
	for (size_t k = 0; k <= most && left[0] && left[1]; k++) {
		double score, size;

		rows += ch->lost[k];
		size = (double)(left[0] * left[1]) / (double)(left[0] + left[1]);
		score = (double)rows * size * size;
		if (score > best_score) {
			best_score = score;
			best = k;
		}
		left[ch->order[k].s]--;
	}
	return best;
}

static void leave_out_partial(struct fb_comparison *c, double *const value[2])
{
	size_t total = c->set[0].nlaunches + c->set[1].nlaunches, out;
	struct choice ch = {
		.order = fb_new(total + 1, sizeof(*ch.order)),
		.position = {fb_new(total + 1, sizeof(size_t)), fb_new(total + 1, sizeof(size_t))},
		.lost = fb_new(total + 1, sizeof(*ch.lost)),
	};

	for (size_t s = 0; s < 2; s++)
		for (size_t i = 0; i < c->set[s].nlaunches; i++)
			if (!c->set[s].launch[i].out)
				ch.order[ch.n++] = (struct candidate){.s = s, .launch = i};
	count_coverage(c, value, &ch);
	out = choose(&ch, count_complete(c, value, &ch));
	for (size_t i = 0; i < out; i++)
		c->set[ch.order[i].s].launch[ch.order[i].launch].out = true;
}

/* With pairs, a launch counts only if the other side has one of the same index. */
static void leave_out_single(struct fb_comparison *c)
{
	for (int s = 0; s < 2; s++) {
		const struct fb_set *other = &c->set[1 - s];

		for (size_t i = 0; i < c->set[s].nlaunches; i++) {
			struct fb_launch *launch = &c->set[s].launch[i];
			bool partner = false;

			for (size_t j = 0; j < other->nlaunches; j++)
				partner |= other->launch[j].index == launch->index &&
					   !other->launch[j].out;
			launch->out |= !partner;
		}
	}
}

static bool is_one_left(const struct fb_set *set)
{
	for (size_t i = 0; i < set->nlaunches; i++)
		if (!set->launch[i].out)
			return true;
	return false;
}

int fb_join_launches(struct fb_comparison *c, bool paired, double *const value[2])
{
	int err = FB_OK;

	leave_out_partial(c, value);
	/*
	 * Twice, because the first side must also lose the partners of those that the second loses.
	 */
	for (int i = 0; i < 2 && paired; i++)
		leave_out_single(c);
	for (int s = 0; s < 2 && !err; s++)
		if (c->set[s].nlaunches && !is_one_left(&c->set[s]))
			err = fb_error(FB_EINPUT, "%s: no launch of %s can be used: %s",
				       c->set[s].path, c->set[s].name,
				       paired ? "--paired needs one launch_index on both sides"
					      : "launches.csv marks all (see --keep-marked)");
	return err;
}
