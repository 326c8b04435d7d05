/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of pairs; see pairs.h. */
#include "p2p/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/option/option.h"

static const char accepted[] =
	"all, first, halves, neighbours, root, or a list as 0-1,2-3: two ranks of the job each, "
	"every pair once";

static int add(struct fb_pairs *pairs, int src, int dst)
{
	struct fb_pair *grown = realloc(pairs->item, ((size_t)pairs->count + 1) * sizeof(*grown));

	if (!grown)
		return fb_error(FB_ENOMEM, "out of memory for the pairs of ranks");
	pairs->item = grown;
	pairs->item[pairs->count++] = (struct fb_pair){src, dst};
	return FB_OK;
}

static int add_first(struct fb_pairs *pairs, int nranks)
{
	(void)nranks;
	return add(pairs, 0, 1);
}

static int add_root(struct fb_pairs *pairs, int nranks)
{
	int err = FB_OK;

	for (int i = 1; i < nranks && !err; i++)
		err = add(pairs, 0, i);
	return err;
}

/* Two ranks have one pair, 0-1, because the way back is the same link. */
static int add_neighbours(struct fb_pairs *pairs, int nranks)
{
	int err = FB_OK;

	for (int i = 0; i < (nranks > 2 ? nranks : 1) && !err; i++)
		err = add(pairs, i, (i + 1) % nranks);
	return err;
}

static int add_halves(struct fb_pairs *pairs, int nranks)
{
	int err = FB_OK;

	for (int i = 0; i < nranks / 2 && !err; i++)
		err = add(pairs, i, i + nranks / 2);
	return err;
}

static int add_all(struct fb_pairs *pairs, int nranks)
{
	int err = FB_OK;

	for (int i = 0; i < nranks; i++)
		for (int k = 0; k < nranks && !err; k++)
			if (i != k)
				err = add(pairs, i, k);
	return err;
}

static const struct {
	const char *name;
	int (*add)(struct fb_pairs *pairs, int nranks);
} named[] = {
	{"all", add_all},   {"first", add_first}, {"halves", add_halves},
	{"neighbours", add_neighbours}, {"root", add_root},
};

/* Adds a pair such as "0-1". FB_EINPUT if it is not a pair, or was given before. */
static int add_item(struct fb_pairs *pairs, const char *item, int nranks)
{
	char *end;
	long src, dst;

	if (*item < '0' || *item > '9')
		return FB_EINPUT;
	src = strtol(item, &end, 10);
	if (*end != '-' || end[1] < '0' || end[1] > '9')
		return FB_EINPUT;
	dst = strtol(end + 1, &end, 10);
	if (*end || src == dst || src >= nranks || dst >= nranks)
		return FB_EINPUT;
	for (int i = 0; i < pairs->count; i++)
		if (pairs->item[i].src == src && pairs->item[i].dst == dst)
			return FB_EINPUT;
	return add(pairs, (int)src, (int)dst);
}

static int read_list(struct fb_pairs *pairs, const char *list, int nranks)
{
	const char *cursor = list;
	char item[64];
	int more, err = FB_OK;

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (!strcmp(list, named[i].name))
			return named[i].add(pairs, nranks);
	while (!err && (more = fb_option_next_item(&cursor, item, sizeof(item))) != 0)
		err = more < 0 ? FB_EINPUT : add_item(pairs, item, nranks);
	return err ? err : pairs->count ? FB_OK : FB_EINPUT;
}

int fb_pairs_read(struct fb_pairs *pairs, const char *list, int nranks, FILE *errors)
{
	struct fb_pairs made = {0};
	int err = read_list(&made, list, nranks);

	if (err == FB_EINPUT)
		fb_option_reject(errors, "pairs", list, accepted);
	if (err) {
		fb_pairs_free(&made);
		return err;
	}
	*pairs = made;
	return FB_OK;
}

void fb_pairs_free(struct fb_pairs *pairs)
{
	free(pairs->item);
	*pairs = (struct fb_pairs){0};
}

int fb_pairs_disjoint(const struct fb_pairs *pairs)
{
	for (int i = 0; i < pairs->count; i++)
		for (int k = 0; k < i; k++) {
			const struct fb_pair *a = &pairs->item[i], *b = &pairs->item[k];

			if (a->src == b->src || a->src == b->dst || a->dst == b->src ||
			    a->dst == b->dst)
				return i;
		}
	return pairs->count;
}
