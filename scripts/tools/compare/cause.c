/* SPDX-License-Identifier: BSD-3-Clause */
/* See cause.h. */
#include "scripts/tools/compare/cause.h"
#include "scripts/tools/lib/text.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nearly all rows changed where this share of them got slower, or this share got faster. */
#define ALL_SHARE 0.8

/* Small messages are made of latency, large ones of bandwidth. */
enum { SMALL_BYTES = 65536, LARGE_BYTES = 1048576 };

/* Rows that changed can have in common a value in a key column, or one of these traits. */
static const char everything[] = "*everything", small[] = "*small", large[] = "*large";

/*
 * What a trait of the rows that changed says about the differences. All weights are above
 * 5 * FB_DIFFERS_CLASSES, the most that a difference weighs without a rule.
 */
static const struct rule {
	const char *trait, *value; /* a key column and a pattern of its value */
	enum fb_difference_class kind;
	const char *name; /* pattern of the difference's name */
	int weight;
	const char *why;
} rules[] = {
	{"engine", "nccl", FB_DIFFERS_LIBRARY, "*nccl*", 100, "these rows run in NCCL"},
	{"engine", "nccl", FB_DIFFERS_VARIABLE, "*NCCL_*", 95, "these rows run in NCCL"},
	{"engine", "nccl", FB_DIFFERS_DRIVER, "*", 80, "NCCL's kernels run on the driver"},
	{"engine", "nccl", FB_DIFFERS_TOPOLOGY, "*", 70, "NCCL chooses paths by topology"},
	{"engine", "nvshmem", FB_DIFFERS_LIBRARY, "*nvshmem*", 100, "these rows run in NVSHMEM"},
	{"engine", "nvshmem", FB_DIFFERS_VARIABLE, "*NVSHMEM_*", 95, "these rows run in NVSHMEM"},
	{"engine", "mpi", FB_DIFFERS_LIBRARY, "*mpi*", 100, "these rows run in the MPI library"},
	{"engine", "mpi", FB_DIFFERS_LIBRARY, "*libuc*", 95, "the MPI library may use UCX"},
	{"engine", "mpi", FB_DIFFERS_LIBRARY, "*libfabric*", 95, "the MPI library may use it"},
	{"engine", "mpi", FB_DIFFERS_VARIABLE, "*", 90, "they steer the MPI library"},
	{"engine", "cuda", FB_DIFFERS_BUILD, "*", 95, "these rows run fabricbench's own kernels"},
	{"engine", "cuda", FB_DIFFERS_DRIVER, "*", 90, "these rows run on GPUs"},
	{"engine", "cuda", FB_DIFFERS_CLOCKS, "*", 85, "these rows run on GPUs"},
	{"engine", "host", FB_DIFFERS_BUILD, "*", 95, "these rows run fabricbench's own code"},
	{"engine", "host", FB_DIFFERS_OPTION, "*", 90, "these rows run fabricbench's own code"},
	{"transport", "*tcp*", FB_DIFFERS_KERNEL, "*", 100, "these rows use the kernel's TCP"},
	{"transport", "*tcp*", FB_DIFFERS_TOPOLOGY, "network.*", 95, "these rows use the network"},
	{"transport", "*tcp*", FB_DIFFERS_FIRMWARE, "*", 80, "these rows use the network"},
	{"transport", "*rdma*", FB_DIFFERS_FIRMWARE, "*", 100, "these rows use the adapters"},
	{"transport", "*rdma*", FB_DIFFERS_LIBRARY, "*libibverbs*", 95, "these rows use verbs"},
	{"transport", "*rdma*", FB_DIFFERS_LIBRARY, "*libmlx*", 95, "these rows use verbs"},
	{"transport", "*rdma*", FB_DIFFERS_TOPOLOGY, "infiniband.*", 90, "these rows use it"},
	{"transport", "*p2p*", FB_DIFFERS_DRIVER, "*", 95, "these rows use links between GPUs"},
	{"transport", "*p2p*", FB_DIFFERS_CLOCKS, "*", 90, "these rows use links between GPUs"},
	{"transport", "shm", FB_DIFFERS_KERNEL, "memory.*", 85, "these rows use shared memory"},
	{"transport", "shm", FB_DIFFERS_KERNEL, "numa.*", 85, "these rows use shared memory"},
	{"transport", "shm", FB_DIFFERS_TOPOLOGY, "*", 80, "these rows use shared memory"},
	{"memory", "device", FB_DIFFERS_DRIVER, "*", 85, "these rows use GPU memory"},
	{"memory", "device", FB_DIFFERS_CLOCKS, "*", 80, "these rows use GPU memory"},
	{everything, "*", FB_DIFFERS_CLOCKS, "*", 100, "it would slow down everything"},
	{everything, "*", FB_DIFFERS_TOPOLOGY, "*", 95, "it would slow down everything"},
	{everything, "*", FB_DIFFERS_DRIVER, "*", 90, "it may concern everything"},
	{everything, "*", FB_DIFFERS_KERNEL, "*", 85, "it may concern everything"},
	{everything, "*", FB_DIFFERS_BUILD, "build.[cf]*", 80, "it may concern everything"},
	{small, "*", FB_DIFFERS_CLOCKS, "*", 60, "latency depends on it"},
	{small, "*", FB_DIFFERS_KERNEL, "*", 58, "latency depends on it"},
	{large, "*", FB_DIFFERS_TOPOLOGY, "*", 60, "bandwidth depends on it"},
	{large, "*", FB_DIFFERS_FIRMWARE, "*", 58, "bandwidth depends on it"},
	{"program", "*", FB_DIFFERS_OPTION, "*", 57, "only one program changed"},
};

/* Key columns in order. The first one that separates changed rows from the others is named. */
static const char *const columns[] = {"engine",	 "transport", "memory",	  "launch", "operation",
				      "program", "algorithm", "protocol", "cadence"};

/* Rows that changed, and what they share. */
struct changed {
	size_t worse, better, judged;
	const char *value[FB_COUNT_OF(columns)]; /* shared by all; NULL: not */
	bool others[FB_COUNT_OF(columns)];	 /* an unchanged row has another value */
	uint64_t least, most;					 /* bytes */
	uint64_t same_least, same_most;				 /* bytes of the others */
};

static bool has_changed(const struct fb_judged *row)
{
	return row->verdict == FB_REGRESSED || row->verdict == FB_IMPROVED;
}

/* Keeps what all rows that changed share; of the other rows, notes which of these they lack. */
static void add_row(struct changed *changed, const struct fb_key *key, bool others, bool first)
{
	for (size_t k = 0; k < FB_COUNT_OF(columns); k++) {
		const char *text = fb_key_text(key, columns[k]), **shared = &changed->value[k];

		if (others)
			changed->others[k] |= *shared && strcmp(text, *shared) != 0;
		else if (first)
			*shared = text;
		else if (*shared && strcmp(*shared, text) != 0)
			*shared = NULL;
	}
}

static void widen(uint64_t x, uint64_t *least, uint64_t *most)
{
	*least = x < *least ? x : *least;
	*most = x > *most ? x : *most;
}

static void look(const struct fb_comparison *c, struct changed *changed)
{
	bool first = true;

	*changed = (struct changed){
		.worse = c->verdicts[FB_REGRESSED],
		.better = c->verdicts[FB_IMPROVED],
		.judged = c->rows,
		.least = UINT64_MAX,
		.same_least = UINT64_MAX,
	};
	/* The other rows are compared with what all rows that changed share. */
	for (int others = 0; others < 2; others++)
		for (size_t i = 0; i < c->rows; i++) {
			const struct fb_key *key = &c->keys.key[c->judged[i].key];
			uint64_t bytes = strtoull(fb_key_text(key, "bytes"), NULL, 10);

			if (has_changed(&c->judged[i]) == (bool)others)
				continue;
			add_row(changed, key, others, first);
			first = false;
			if (others)
				widen(bytes, &changed->same_least, &changed->same_most);
			else
				widen(bytes, &changed->least, &changed->most);
		}
}

static bool is_everything(const struct changed *changed)
{
	size_t most = changed->worse > changed->better ? changed->worse : changed->better;

	return most > 0 && (double)most >= ALL_SHARE * (double)changed->judged;
}

/* Whether the rule's trait is one of those that changed rows share and others do not. */
static bool applies(const struct rule *rule, const struct changed *changed)
{
	if (changed->worse + changed->better == 0)
		return false;
	if (rule->trait == everything)
		return is_everything(changed);
	if (rule->trait == small)
		return changed->most <= SMALL_BYTES && changed->same_most > SMALL_BYTES;
	if (rule->trait == large)
		return changed->least >= LARGE_BYTES && changed->same_least < LARGE_BYTES;
	for (size_t k = 0; k < FB_COUNT_OF(columns); k++)
		if (!strcmp(columns[k], rule->trait))
			return changed->value[k] && changed->others[k] &&
			       !fnmatch(rule->value, changed->value[k], 0);
	return false;
}

static void describe(const struct changed *changed, char trait[FB_TRAIT_CHARS])
{
	const char *what = changed->better == 0	 ? "slower"
			   : changed->worse == 0 ? "faster"
						 : "changed";

	*trait = '\0';
	if (changed->worse + changed->better == 0)
		return;
	for (size_t k = 0; k < FB_COUNT_OF(columns); k++)
		if (changed->value[k] && changed->others[k]) {
			snprintf(trait, FB_TRAIT_CHARS, "only rows of %s %.40s are %s", columns[k],
				 changed->value[k], what);
			return;
		}
	if (is_everything(changed))
		snprintf(trait, FB_TRAIT_CHARS, "nearly all rows are %s", what);
	else if (changed->most <= SMALL_BYTES && changed->same_most > SMALL_BYTES)
		snprintf(trait, FB_TRAIT_CHARS, "only rows of at most 64 KiB are %s", what);
	else if (changed->least >= LARGE_BYTES && changed->same_least < LARGE_BYTES)
		snprintf(trait, FB_TRAIT_CHARS, "only rows of at least 1 MiB are %s", what);
}

static int compare(const void *x, const void *y)
{
	const struct fb_difference *a = x, *b = y;

	if (a->weight != b->weight)
		return b->weight - a->weight;
	return a->kind != b->kind ? (int)a->kind - (int)b->kind : strcmp(a->name, b->name);
}

/* Moves the differences of a class behind the heaviest one of that class. */
static void group(struct fb_differences *d)
{
	for (size_t i = 1; i < d->count; i++) {
		struct fb_difference item = d->item[i];
		size_t to = i;

		for (size_t j = 0; j < i; j++)
			if (d->item[j].kind == item.kind)
				to = j + 1;
		if (to == i)
			continue;
		memmove(&d->item[to + 1], &d->item[to], (i - to) * sizeof(item));
		d->item[to] = item;
	}
}

void fb_cause_rank(struct fb_differences *d, const struct fb_comparison *c,
		   char trait[FB_TRAIT_CHARS])
{
	struct changed changed;

	look(c, &changed);
	describe(&changed, trait);
	for (size_t i = 0; i < d->count; i++) {
		struct fb_difference *item = &d->item[i];

		item->weight = 5 * (FB_DIFFERS_CLASSES - (int)item->kind);
		item->why = NULL;
		for (size_t r = 0; r < FB_COUNT_OF(rules); r++) {
			if (rules[r].kind != item->kind || rules[r].weight <= item->weight ||
			    fnmatch(rules[r].name, item->name, 0) != 0 ||
			    !applies(&rules[r], &changed))
				continue;
			item->weight = rules[r].weight;
			item->why = rules[r].why;
		}
		/* A library's version explains more than the path of its file. Rules weigh more. */
		item->weight += !fnmatch("mpi.library", item->name, 0) ||
				!fnmatch("library.*.version", item->name, 0);
	}
	if (d->count)
		qsort(d->item, d->count, sizeof(*d->item), compare);
	group(d);
}
