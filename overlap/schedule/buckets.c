/* SPDX-License-Identifier: BSD-3-Clause */
/* Tensors and buckets; see buckets.h. */
#include "overlap/schedule/buckets.h"

#include <stdlib.h>

#include "common/base/error.h"

/* Priority: as if communication took so many times as long as backward. */
enum { SLOW = 2 };

int fb_ratios_parse(struct fb_ratios *ratios, const char *text)
{
	struct fb_ratios found = {.layers = ratios->layers};
	const char *at = text;
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
	*ratios = found;
	return FB_OK;
}

/* count * part / whole, rounded down; the product alone would not fit. */
static uint64_t share(uint64_t count, uint64_t part, uint64_t whole)
{
	return count / whole * part + count % whole * part / whole;
}

/* Room for so many tensors, each a bucket at most. */
static int open_gradients(struct fb_gradients *g, size_t most)
{
	*g = (struct fb_gradients){.ntensors = 0};
	g->tensors = calloc(most + 1, sizeof(*g->tensors));
	g->buckets = calloc(most + 1, sizeof(*g->buckets));
	if (g->tensors && g->buckets)
		return FB_OK;
	fb_gradients_free(g);
	return FB_ENOMEM;
}

int fb_gradients_split(struct fb_gradients *g, const struct fb_ratios *ratios, uint64_t count,
		       uint64_t align)
{
	uint64_t whole = 0, part = 0, first = 0;

	if (open_gradients(g, (size_t)ratios->layers * ratios->nratios))
		return FB_ENOMEM;
	for (size_t i = 0; i < ratios->nratios; i++)
		whole += ratios->ratio[i] * ratios->layers;
	for (uint64_t layer = 0; layer < ratios->layers; layer++)
		for (size_t i = ratios->nratios; i-- > 0;) {
			uint64_t end;

			part += ratios->ratio[i];
			end = share(count, part, whole);
			end = part == whole ? count : end / align * align;
			if (end == first)
				continue;
			g->tensors[g->ntensors++] = (struct fb_tensor){.first = first,
								       .count = end - first};
			first = end;
		}
	return FB_OK;
}

int fb_gradients_list(struct fb_gradients *g, const struct fb_nn *model, uint64_t align)
{
	const struct fb_nn_tensor *before = NULL;
	uint64_t first = 0;
	size_t most = 0;

	for (size_t l = 0; l < model->nlayers; l++)
		most += (size_t)model->layers[l].count * model->layers[l].tensors;
	if (open_gradients(g, most))
		return FB_ENOMEM;
	for (size_t l = model->nlayers; l-- > 0;)
		for (uint64_t i = 0; i < model->layers[l].count; i++)
			for (size_t t = model->layers[l].tensors; t-- > 0;) {
				const struct fb_nn_tensor *of =
					&model->tensors[model->layers[l].first + t];
				uint64_t n = fb_nn_elements(model, of);

				if (!n) {
					before = of;
					continue;
				}
				n = (n + align - 1) / align * align;
				g->tensors[g->ntensors++] =
					(struct fb_tensor){first, n, of, before};
				before = NULL;
				first += n;
			}
	return FB_OK;
}

void fb_gradients_pack(struct fb_gradients *g, uint64_t first, uint64_t full)
{
	struct fb_bucket open = {.count = 0};

	g->nbuckets = 0;
	for (size_t t = 0; t < g->ntensors; t++) {
		uint64_t limit = g->nbuckets ? full : first;

		if (!open.count)
			open.first = g->tensors[t].first;
		open.count += g->tensors[t].count;
		open.last = t;
		if (t + 1 < g->ntensors && (!limit || open.count < limit))
			continue;
		g->buckets[g->nbuckets++] = open;
		open.count = 0;
	}
}

int fb_gradients_cut(struct fb_gradients *g, uint64_t most)
{
	struct fb_bucket *pieces;
	uint64_t n = 0;
	size_t t = 0;

	if (!most)
		return FB_OK;
	for (size_t k = 0; k < g->nbuckets; k++)
		n += (g->buckets[k].count - 1) / most + 1;
	if (n > FB_MOST_BUCKETS && n > g->nbuckets)
		return FB_EINPUT;
	pieces = calloc(n + 1, sizeof(*pieces));
	if (!pieces)
		return FB_ENOMEM;
	n = 0;
	for (size_t k = 0; k < g->nbuckets; k++)
		for (uint64_t at = 0; at < g->buckets[k].count; at += most) {
			struct fb_bucket piece = {g->buckets[k].first + at,
						  g->buckets[k].count - at, 0};

			piece.count = piece.count < most ? piece.count : most;
			while (g->tensors[t].first + g->tensors[t].count <
			       piece.first + piece.count)
				t++;
			piece.last = t;
			pieces[n++] = piece;
		}
	free(g->buckets);
	g->buckets = pieces;
	g->nbuckets = n;
	return FB_OK;
}

uint64_t fb_gradients_shared(const struct fb_gradients *g, size_t tensor, size_t bucket,
			     uint64_t *first)
{
	const struct fb_tensor *t = &g->tensors[tensor];
	const struct fb_bucket *b = &g->buckets[bucket];
	uint64_t begin = t->first > b->first ? t->first : b->first;
	uint64_t t_end = t->first + t->count, b_end = b->first + b->count;
	uint64_t end = t_end < b_end ? t_end : b_end;

	*first = begin - b->first;
	return end > begin ? end - begin : 0;
}

void fb_gradients_order(const struct fb_gradients *g, int *order)
{
	size_t full = 0, sent = 0, waiting = 0, n = g->nbuckets;
	uint64_t now = 0;

	/* Those that wait are a stack at the end of `order`: with those sent they are n at most. */
	while (sent < n) {
		int next;

		for (; full < n && g->buckets[full].first + g->buckets[full].count <= now; full++)
			order[n - ++waiting] = (int)full;
		if (!waiting) {
			now = g->buckets[full].first + g->buckets[full].count;
			continue;
		}
		next = order[n - waiting--];
		order[sent++] = next;
		now += SLOW * g->buckets[next].count;
	}
}

uint64_t fb_gradients_elements(const struct fb_gradients *g)
{
	return g->ntensors ? g->tensors[g->ntensors - 1].first + g->tensors[g->ntensors - 1].count
			   : 0;
}

void fb_gradients_free(struct fb_gradients *gradients)
{
	free(gradients->tensors);
	free(gradients->buckets);
	*gradients = (struct fb_gradients){.ntensors = 0};
}
