/* SPDX-License-Identifier: BSD-3-Clause */
/* Going through assignments, or drawing them; see assign.h. */
#include "scripts/tools/compare/assign.h"
#include "scripts/tools/lib/memory.h"

#include <string.h>

#include "common/base/rng.h"

/* How many labels are 1; any number with blocks. */
struct kind {
	size_t units, ones;
	bool any; /* every set of signs is an assignment */
};

void fb_assignment_pack(const unsigned char *label, size_t units, unsigned char *nibble)
{
	memset(nibble, 0, (units + FB_NIBBLE - 1) / FB_NIBBLE);
	for (size_t u = 0; u < units; u++)
		nibble[u / FB_NIBBLE] |= (unsigned char)(label[u] << (u % FB_NIBBLE));
}

/* The number of assignments, or `most` + 1 if there are more. */
static size_t count_all(const struct kind *kind, size_t most)
{
	size_t less = kind->units - kind->ones;
	double all = 1;

	if (kind->any) {
		for (size_t u = 0; u < kind->units && all <= (double)most; u++)
			all *= 2;
	} else {
		/* With the smaller number the product never decreases. */
		less = less < kind->ones ? less : kind->ones;
		for (size_t i = 1; i <= less && all <= (double)most; i++)
			all = all * (double)(kind->units - less + i) / (double)i;
	}
	return all <= (double)most ? (size_t)all : most + 1;
}

/* The next labels in the order of binary numbers, units[0] the lowest bit; false after the last. */
static bool next_any(unsigned char *label, size_t units)
{
	for (size_t u = 0; u < units; u++) {
		label[u] = !label[u];
		if (label[u])
			return true;
	}
	return false;
}

/* The next labels with as many ones, in the same order. */
static bool next_choice(unsigned char *label, size_t units)
{
	size_t ones = 0;

	for (size_t u = 0; u + 1 < units; u++) {
		if (label[u] && !label[u + 1]) {
			label[u] = 0;
			label[u + 1] = 1;
			for (size_t v = 0; v < u; v++)
				label[v] = v < ones;
			return true;
		}
		ones += label[u];
	}
	return false;
}

/* All assignments, from that with the ones first on. Mirror images follow in the second half. */
static void enumerate(const struct kind *kind, unsigned char *label, struct fb_assignments *out)
{
	for (size_t u = 0; u < kind->units; u++)
		label[u] = !kind->any && u < kind->ones;
	for (size_t i = 0; i < out->count; i++) {
		fb_assignment_pack(label, kind->units, out->nibble + i * out->groups);
		if (kind->any)
			next_any(label, kind->units);
		else
			next_choice(label, kind->units);
	}
}

static void draw(const struct kind *kind, struct fb_rng *rng, unsigned char *label)
{
	if (kind->any) {
		for (size_t u = 0; u < kind->units; u++)
			label[u] = (unsigned char)(fb_rng_u64(rng) >> 63);
		return;
	}
	for (size_t u = 0; u < kind->units; u++)
		label[u] = u < kind->ones;
	fb_shuffle(label, kind->units, 1, rng);
}

static void draw_all(const struct kind *kind, const struct fb_design *design, uint64_t seed,
		     unsigned char *label, struct fb_assignments *out)
{
	struct fb_rng rng;

	fb_rng_seed(&rng, seed);
	for (size_t u = 0; u < kind->units; u++)
		label[u] = kind->any ? 1 : design->side[u] == FB_SIDE_B;
	fb_assignment_pack(label, kind->units, out->nibble);
	for (size_t i = 1; i < out->count; i++) {
		draw(kind, &rng, label);
		fb_assignment_pack(label, kind->units, out->nibble + i * out->groups);
	}
}

void fb_assignments_make(const struct fb_design *design, const struct fb_design_size *size,
			 const struct fb_assign_options *options, struct fb_assignments *out)
{
	struct kind kind = {
		.units = design->block ? size->blocks : design->launches,
		.ones = size->b,
		.any = design->block != NULL,
	};
	size_t all = count_all(&kind, options->most);
	struct fb_assignments made = {
		.units = kind.units,
		.groups = (kind.units + FB_NIBBLE - 1) / FB_NIBBLE,
		.count = all <= options->most ? all : options->draws + 1,
		.exhaustive = all <= options->most,
	};

	/* In that order the last unit is 0 in the first half, and mirror images differ in it. */
	if (made.exhaustive && options->mirrored_once && (kind.any || size->a == size->b))
		made.count /= 2;
	unsigned char *label = fb_new(kind.units, 1);

	made.nibble = fb_new(made.count * made.groups, 1);
	if (made.exhaustive)
		enumerate(&kind, label, &made);
	else
		draw_all(&kind, design, options->seed, label, &made);
	*out = made;
}
