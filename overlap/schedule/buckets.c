/* SPDX-License-Identifier: BSD-3-Clause */
/* Tensors and buckets; see buckets.h. */
#include "overlap/schedule/buckets.h"

#include <stdlib.h>

#include "common/base/error.h"

int fb_model_parse(struct fb_model *model, const char *ratios)
{
	struct fb_model found = {.layers = model->layers};
	const char *at = ratios;
	char *end;

	for (;;) {
		unsigned long value;

		if (*at < '0' || *at > '9' || found.nratios == FB_MOST_TENSORS)
			return FB_EINPUT;
		value = strtoul(at, &end, 10);
		if (value < 1 || value > FB_MOST_RATIO)
			return FB_EINPUT;
		found.ratio[found.nratios++] = (unsigned)value;
		if (*end == '\0')
			break;
		if (*end != ',')
			return FB_EINPUT;
		at = end + 1;
	}
	*model = found;
	return FB_OK;
}

/* count * part / whole, rounded down; the product alone would not fit. */
static uint64_t share(uint64_t count, uint64_t part, uint64_t whole)
{
	return count / whole * part + count % whole * part / whole;
}

static void split(struct fb_gradients *g, const struct fb_model *model, uint64_t count,
		  uint64_t align)
{
	uint64_t whole = 0, part = 0, first = 0;

	for (size_t i = 0; i < model->nratios; i++)
		whole += model->ratio[i] * model->layers;
	for (uint64_t layer = 0; layer < model->layers; layer++)
		for (size_t i = model->nratios; i-- > 0;) {
			uint64_t end;

			part += model->ratio[i];
			end = share(count, part, whole);
			end = part == whole ? count : end / align * align;
			if (end == first)
				continue;
			g->tensors[g->ntensors++] = (struct fb_tensor){first, end - first};
			first = end;
		}
}

static void pack(struct fb_gradients *g, uint64_t full)
{
	struct fb_bucket open = {.count = 0};

	for (size_t t = 0; t < g->ntensors; t++) {
		if (!open.count)
			open.first = g->tensors[t].first;
		open.count += g->tensors[t].count;
		open.last = t;
		if (t + 1 < g->ntensors && (!full || open.count < full))
			continue;
		g->buckets[g->nbuckets++] = open;
		open.count = 0;
	}
}

int fb_gradients_make(struct fb_gradients *gradients, const struct fb_model *model,
		      uint64_t count, uint64_t align, uint64_t full)
{
	size_t most = (size_t)model->layers * model->nratios;
	struct fb_gradients g = {.ntensors = 0};

	*gradients = g;
	g.tensors = calloc(most, sizeof(*g.tensors));
	g.buckets = calloc(most, sizeof(*g.buckets));
	if (!g.tensors || !g.buckets) {
		fb_gradients_free(&g);
		return FB_ENOMEM;
	}
	split(&g, model, count, align);
	pack(&g, full);
	*gradients = g;
	return FB_OK;
}

void fb_gradients_free(struct fb_gradients *gradients)
{
	free(gradients->tensors);
	free(gradients->buckets);
	*gradients = (struct fb_gradients){.ntensors = 0};
}
