/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding the rule of a tuning table that is nearest to what is asked; see tuning.h. */
#include <math.h>
#include <string.h>

#include "collectives/tuning/tuning.h"

/*
 * Rules for few channels or for an objective were measured at large sizes: what they say holds for
 * sizes up to 2 to the power of this smaller, below which the usual rules know more, and for all
 * larger ones. Those for unaligned blocks are of few sizes, and hold up to as much larger.
 */
enum { MOST_STRETCH = 2 };

enum { ALIGNMENT = 16, LEAST_UNALIGNED = 4096 };

static bool is_for(const struct fb_tuning_key *rule, const struct fb_tuning_key *asked)
{
	bool measured = rule->ranks == asked->ranks;

	/*
	 * How many channels leave computing alone depends little on the number of ranks, while a
	 * rule for collectives alone takes all of the GPU.
	 */
	if (rule->objective != FB_ALONE && asked->ranks > 1)
		measured = rule->ranks > 1 && rule->objective == asked->objective;
	return measured && rule->nodes == asked->nodes &&
	       (rule->objective == FB_ALONE || rule->objective == asked->objective) &&
	       (rule->channels == 0 || asked->channels) &&
	       (!rule->unaligned || asked->unaligned) &&
	       !strcmp(rule->engine, asked->engine) && !strcmp(rule->operation, asked->operation) &&
	       !strcmp(rule->transport, asked->transport) &&
	       !strcmp(rule->algorithm, asked->algorithm) &&
	       !strcmp(rule->protocol, asked->protocol);
}

bool fb_tuning_unaligned(uint64_t block_bytes)
{
	return block_bytes >= LEAST_UNALIGNED && block_bytes % ALIGNMENT;
}

/* How far two sizes are apart, by ratio. */
static double apart(uint64_t a, uint64_t b)
{
	return fabs(log2((double)(a ? a : 1)) - log2((double)(b ? b : 1)));
}

double fb_tuning_apart(const struct fb_tuning_rule *rule, uint64_t bytes)
{
	return bytes < rule->from  ? apart(bytes, rule->from)
	       : bytes > rule->to ? apart(bytes, rule->to)
				  : 0;
}

enum { ABOUT_OBJECTIVE, ABOUT_RANKS, ABOUT_CHANNELS, ABOUT_ALIGNMENT, ABOUT_IN_PLACE,
       ABOUT_ELEMENT, ABOUT_BYTES, ABOUT_SIDE, DISTANCES };

static void measure(const struct fb_tuning_rule *rule, const struct fb_tuning_key *asked,
		    uint64_t bytes, double distance[DISTANCES])
{
	const struct fb_tuning_key *key = &rule->key;

	distance[ABOUT_OBJECTIVE] = key->objective != asked->objective;
	distance[ABOUT_RANKS] = apart((uint64_t)key->ranks, (uint64_t)asked->ranks);
	/* A rule for another number of them still knows more of few channels than one for any. */
	distance[ABOUT_CHANNELS] = asked->channels == key->channels ? 0
				   : key->channels ? apart(key->channels, asked->channels)
						   : (double)INFINITY;
	distance[ABOUT_ALIGNMENT] = key->unaligned != asked->unaligned;
	distance[ABOUT_IN_PLACE] = key->in_place != FB_TUNING_ANY &&
				   key->in_place != asked->in_place;
	distance[ABOUT_ELEMENT] = key->element == FB_TUNING_ANY
					  ? 0
					  : apart((uint64_t)key->element, (uint64_t)asked->element);
	distance[ABOUT_BYTES] = fb_tuning_apart(rule, bytes);
	distance[ABOUT_SIDE] = bytes > rule->to;
}

/* Compares the first n distances; true if a is nearer than b. */
static bool is_nearer(const double a[DISTANCES], const double b[DISTANCES], int n)
{
	for (int i = 0; i < n; i++)
		if (a[i] < b[i] || a[i] > b[i])
			return a[i] < b[i];
	return false;
}

/* fb_tuning_find for one table; `least` receives the distances of the rule that it returns. */
static const struct fb_tuning_rule *find_here(const struct fb_tuning *tuning,
					      const struct fb_tuning_key *asked, uint64_t bytes,
					      fb_tuning_accept_fn accept, void *arg,
					      double least[DISTANCES])
{
	const struct fb_tuning_rule *found = NULL;
	double distance[DISTANCES];

	for (size_t i = 0; i < tuning->nrules; i++) {
		const struct fb_tuning_rule *rule = &tuning->rule[i];

		if (!is_for(&rule->key, asked))
			continue;
		measure(rule, asked, bytes, distance);
		if ((rule->key.unaligned ||
		     ((rule->key.objective || rule->key.channels) && bytes < rule->from)) &&
		    distance[ABOUT_BYTES] > MOST_STRETCH)
			continue;
		if ((found && !is_nearer(distance, least, DISTANCES)) ||
		    (accept && !accept(arg, rule)))
			continue;
		found = rule;
		memcpy(least, distance, sizeof(distance));
	}
	return found;
}

const struct fb_tuning_rule *fb_tuning_find(const struct fb_tuning *tuning,
					    const struct fb_tuning_key *asked, uint64_t bytes,
					    fb_tuning_accept_fn accept, void *arg)
{
	double own_least[DISTANCES] = {0}, other_least[DISTANCES] = {0};
	const struct fb_tuning_rule *own, *other;

	if (!tuning)
		return NULL;
	own = find_here(tuning, asked, bytes, accept, arg, own_least);
	if (!tuning->like)
		return own;
	other = find_here(tuning->like, asked, bytes, accept, arg, other_least);
	if (!own || !other)
		return own ? own : other;
	return is_nearer(other_least, own_least, ABOUT_SIDE) ? other : own;
}

bool fb_tuning_spans(const struct fb_tuning *tuning, const struct fb_tuning_key *asked,
		     uint64_t bytes)
{
	bool below = false, above = false;

	for (size_t i = 0; i < tuning->nrules; i++) {
		const struct fb_tuning_rule *rule = &tuning->rule[i];

		if (!is_for(&rule->key, asked) || rule->key.objective != asked->objective)
			continue;
		below = below || rule->from <= bytes;
		above = above || rule->to >= bytes;
	}
	return below && above;
}
