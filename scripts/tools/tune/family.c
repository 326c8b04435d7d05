/* SPDX-License-Identifier: BSD-3-Clause */
/* A family's rows as a block of points by context, size and candidate; see tune.h. */
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/tune/tune.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/datatype.h"

/* In what else rows of a family may differ. */
static const char *const context_columns[] = {
	"in_place", "datatype", "redop", "root", "memory", "registration", "launch", "cadence"};

static bool same_context(const struct fb_tune_sample *a, const struct fb_tune_sample *b)
{
	for (size_t i = 0; i < FB_COUNT_OF(context_columns); i++)
		if (strcmp(fb_cell_text(a->cell, context_columns[i]),
			   fb_cell_text(b->cell, context_columns[i])))
			return false;
	return !strcmp(a->context, b->context);
}

static size_t context_of(const struct fb_tune_family *f, const struct fb_tune_sample *sample)
{
	size_t i = 0;

	while (i < f->ncontexts && !same_context(f->context[i].sample, sample))
		i++;
	return i;
}

static size_t candidate_of(const struct fb_tune_family *f, const struct fb_tune_sample *s)
{
	const char *protocol = fb_cell_text(s->cell, "protocol");
	size_t i = 0;

	for (; i < f->ncandidates; i++) {
		const struct fb_tune_candidate *c = &f->candidate[i];

		if (c->tuned.channels == s->tuned.channels &&
		    c->tuned.threads == s->tuned.threads &&
		    c->tuned.slot_bytes == s->tuned.slot_bytes &&
		    !strcmp(c->algorithm, s->algorithm) && !strcmp(c->protocol, protocol))
			break;
	}
	return i;
}

static size_t size_of(const struct fb_tune_family *f, uint64_t bytes)
{
	size_t i = 0;

	while (i < f->nsizes && f->bytes[i] != bytes)
		i++;
	return i;
}

static int compare_bytes(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static struct fb_tune_context new_context(const struct fb_tune_sample *sample)
{
	const struct fb_cell *cell = sample->cell;
	int type = fb_datatype_parse(fb_cell_text(cell, "datatype"));

	return (struct fb_tune_context){
		.sample = sample, .in_place = !strcmp(fb_cell_text(cell, "in_place"), "yes"),
		.element = type < 0 ? 1 : (int)fb_datatype_size((enum fb_datatype)type),
	};
}

/* All contexts, candidates and sizes that occur. */
static void collect(struct fb_tune_family *f, const struct fb_tune_sample *sample, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct fb_tune_sample *s = &sample[i];
		size_t k = candidate_of(f, s);

		if (context_of(f, s) == f->ncontexts)
			f->context[f->ncontexts++] = new_context(s);
		if (size_of(f, s->bytes) == f->nsizes)
			f->bytes[f->nsizes++] = s->bytes;
		if (k < f->ncandidates)
			continue;
		f->candidate[k] = (struct fb_tune_candidate){
			.algorithm = s->algorithm,
			.protocol = fb_cell_text(s->cell, "protocol"), .tuned = s->tuned,
		};
		f->numbers[k] = (s->tuned.channels ? 1U : 0) + (s->tuned.threads ? 1U : 0) +
				(s->tuned.slot_bytes ? 1U : 0);
		f->ncandidates++;
	}
	qsort(f->bytes, f->nsizes, sizeof(*f->bytes), compare_bytes);
}

void fb_tune_family_make(struct fb_tune_family *family, const struct fb_tune_sample *sample,
			size_t n)
{
	struct fb_tune_family *f = family;

	*f = (struct fb_tune_family){
		.first = sample[0].cell,
		.engine = sample[0].engine,
		.operation = sample[0].operation,
		.unaligned = sample[0].unaligned,
		.candidate = fb_new(n, sizeof(*f->candidate)),
		.numbers = fb_new(n, sizeof(*f->numbers)),
		.bytes = fb_new(n, sizeof(*f->bytes)),
		.context = fb_new(n, sizeof(*f->context)),
	};
	collect(f, sample, n);
	f->point = fb_new(f->ncontexts * f->nsizes * f->ncandidates, sizeof(*f->point));
	for (size_t i = 0; i < n; i++) {
		const struct fb_cell *cell = sample[i].cell;
		size_t at = context_of(f, &sample[i]);

		at = at * f->nsizes + size_of(f, sample[i].bytes);
		at = at * f->ncandidates + candidate_of(f, &sample[i]);
		if (!fb_cell_has_time(cell))
			continue;
		f->point[at] = (struct fb_tune_point){
			.us = cell->us, .low_us = cell->low_us, .high_us = cell->high_us,
			.channels = (unsigned)strtoul(fb_cell_text(cell, "channels"), NULL, 10),
		};
	}
}
