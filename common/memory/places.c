/* SPDX-License-Identifier: BSD-3-Clause */
/* The axis --numa; see places.h. */
#include "common/memory/places.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/record/variant.h"

static const char any[] = "any", local[] = "local", remote[] = "remote", all[] = "all";

/* A node's number; false where the text does not begin with one. Moves on. */
static bool read_node(const char **at, int *node)
{
	char *end;
	long number = strtol(*at, &end, 10);

	if (!isdigit((unsigned char)**at) || number >= FB_NUMA_NODES)
		return false;
	*node = (int)number;
	*at = end;
	return true;
}

/* "N" or "N:M". */
static bool read_nodes(const char *text, int *thread, int *memory)
{
	if (!read_node(&text, thread))
		return false;
	*memory = *thread;
	if (*text == ':') {
		text++;
		if (!read_node(&text, memory))
			return false;
	}
	return !*text;
}

int fb_places_check(const char *list, char *accepted, size_t n)
{
	char item[FB_NUMA_NAME_CHARS];
	int more, thread, memory;

	while ((more = fb_option_next_item(&list, item, sizeof(item))) > 0)
		if (strcmp(item, any) && strcmp(item, local) && strcmp(item, remote) &&
		    strcmp(item, all) && !read_nodes(item, &thread, &memory))
			break;
	if (more == 0)
		return FB_OK;
	snprintf(accepted, n, "a list of: any, local, remote, all, N, N:M with nodes below %d",
		 FB_NUMA_NODES);
	return FB_EINPUT;
}

/* --- the list --------------------------------------------------------------------------------- */

/* Adds a place by its canonical name. */
static int add(struct fb_places *places, const struct fb_place *model)
{
	struct fb_place *list;

	for (int i = 0; i < places->count; i++)
		if (!strcmp(places->item[i].name, model->name))
			return FB_OK;
	list = realloc(places->item, (size_t)(places->count + 1) * sizeof(*list));
	if (!list)
		return FB_ENOMEM;
	places->item = list;
	list[places->count++] = *model;
	return FB_OK;
}

static int add_nodes(struct fb_places *places, int thread, int memory)
{
	struct fb_place place = {.thread = thread, .memory = memory};

	snprintf(place.name, sizeof(place.name), "%d:%d", thread, memory);
	return add(places, &place);
}

/* Adds every N:M; `nodes` has a bit for each node of rank 0's host. */
static int add_all(struct fb_places *places, uint64_t nodes)
{
	int err = FB_OK;

	/* Without NUMA there is one row, which says so. */
	for (int n = 0; n < FB_NUMA_NODES && !err; n++)
		for (int m = 0; m < FB_NUMA_NODES && !err; m++)
			if ((nodes | !nodes) >> n & (nodes | !nodes) >> m & 1)
				err = add_nodes(places, n, m);
	return err;
}

static int add_item(struct fb_places *places, const char *item, uint64_t nodes)
{
	const struct fb_group *w = places->world;
	struct fb_place place = {.thread = -1, .memory = -1};
	int home, index, ranks;

	if (!strcmp(item, all))
		return add_all(places, nodes);
	if (read_nodes(item, &place.thread, &place.memory))
		return add_nodes(places, place.thread, place.memory);
	snprintf(place.name, sizeof(place.name), "%s", item);
	if (!strcmp(item, any))
		return add(places, &place);
	MPI_Comm_rank(w->node_comm, &index);
	MPI_Comm_size(w->node_comm, &ranks);
	home = fb_numa_home(places->numa, &places->allowed, index, ranks);
	place.thread = home;
	place.memory = strcmp(item, remote) ? home : fb_numa_far(places->numa, home);
	return add(places, &place);
}

/* Places with the same memory on all ranks: N:M by M. Equal on all ranks, as names are. */
static void number_stores(struct fb_places *places)
{
	places->stores = 1;
	places->used = 0;
	for (int i = 0; i < places->count; i++) {
		const char *name = places->item[i].name, *node = strchr(name, ':');
		int before = 0;

		if (!strcmp(name, any)) {
			places->used++;
			continue;
		}
		for (; before < i; before++) {
			const char *other = strchr(places->item[before].name, ':');

			if (node && other && !strcmp(node, other))
				break;
		}
		places->item[i].store = before < i ? places->item[before].store
						   : places->stores++;
	}
	places->used += places->stores - 1;
}

/* --- what there is ---------------------------------------------------------------------------- */

/* Tries to bind a page to the node and to ask for its node, which containers often forbid. */
static int try_memory(int node)
{
	size_t bytes = 1 << 16;
	char *memory = aligned_alloc(bytes, bytes);
	int err = memory ? fb_numa_bind(memory, bytes, node) : 0;

	free(memory);
	return err;
}

/* Writes the reason if this rank cannot have the place, and on which processors it would run. */
static void judge(const struct fb_places *places, struct fb_place *place, struct fb_cpus *cpus)
{
	char *why = place->reason;
	const struct fb_numa_node *node = places->numa->node;
	int err = 0, thread = place->thread, memory = place->memory;

	if (!places->numa->count)
		snprintf(why, FB_NUMA_REASON_CHARS, "the kernel has no NUMA");
	else if (!strcmp(place->name, remote) && places->numa->count == 1)
		snprintf(why, FB_NUMA_REASON_CHARS, "there is one NUMA node only");
	else if (thread < 0 || !node[thread].online || !fb_cpus_count(&node[thread].cpus))
		snprintf(why, FB_NUMA_REASON_CHARS, "no NUMA node %d with processors", thread);
	else if (memory < 0 || !node[memory].memory)
		snprintf(why, FB_NUMA_REASON_CHARS, "no NUMA node %d with memory", memory);
	else if ((err = fb_place_cpus(places, place, cpus)) != 0)
		snprintf(why, FB_NUMA_REASON_CHARS, "no processor of NUMA node %d: %s", thread,
			 strerror(err));
	else if ((err = try_memory(memory)) != 0)
		snprintf(why, FB_NUMA_REASON_CHARS, "mbind to NUMA node %d: %s", memory,
			 strerror(err));
}

/* Refuses a place with fewer processors than ranks, if ranks are set to wait without yielding. */
static void count_processors(const struct fb_places *places, struct fb_place *place,
			     struct fb_cpus *cpus)
{
	const struct fb_group *w = places->world;
	int ranks;

	MPI_Comm_size(w->node_comm, &ranks);
	MPI_Allreduce(MPI_IN_PLACE, cpus->word, FB_NUMA_WORDS, MPI_UINT64_T, MPI_BOR,
		      w->node_comm);
	if (!*place->reason && !w->oversubscribed && fb_cpus_count(cpus) < ranks)
		snprintf(place->reason, FB_NUMA_REASON_CHARS,
			 "%d processors there for %d ranks that do not yield",
			 fb_cpus_count(cpus), ranks);
}

/* How much memory each rank may have there: a share of the node that has the least. */
static void share_out(const struct fb_places *places, struct fb_place *place)
{
	const struct fb_group *w = places->world;
	uint64_t least[1 + FB_PAGE_KINDS];
	int ranks, *wanted, sharing = 0;

	MPI_Comm_size(w->node_comm, &ranks);
	wanted = calloc((size_t)ranks, sizeof(*wanted));
	for (int i = 0; i <= FB_PAGE_KINDS; i++)
		least[i] = 0;
	/* If this allocation fails, limits stay 0, so that nothing fits, and the rows say so. */
	if (!fb_group_agree(w, wanted ? FB_OK : FB_ENOMEM)) {
		MPI_Allgather(&place->memory, 1, MPI_INT, wanted, 1, MPI_INT, w->node_comm);
		for (int i = 0; i < ranks; i++)
			sharing += wanted[i] == place->memory;
		sharing *= places->used;
		if (place->memory >= 0)
			least[0] = places->numa->node[place->memory].bytes / 4 * 3 /
				   (uint64_t)sharing;
		for (int k = 0; k < FB_PAGE_KINDS && place->memory >= 0; k++) {
			size_t page = fb_pages_bytes((enum fb_pages)k);

			if (fb_pages_explicit((enum fb_pages)k) && page)
				least[1 + k] = fb_numa_huge_pages("", place->memory, page) /
					       (uint64_t)sharing * page;
		}
	}
	free(wanted);
	MPI_Allreduce(MPI_IN_PLACE, least, 1 + FB_PAGE_KINDS, MPI_UINT64_T, MPI_MIN, w->comm);
	place->limit = least[0];
	memcpy(place->huge_limit, least + 1, sizeof(place->huge_limit));
}

/* Finds out whether this machine has the place, and its limits; `any` has no limits. */
static void resolve(const struct fb_places *places, struct fb_place *place)
{
	const struct fb_group *w = places->world;
	struct fb_cpus cpus = {{0}};
	int who;

	place->limit = UINT64_MAX;
	for (int k = 0; k < FB_PAGE_KINDS; k++)
		place->huge_limit[k] = UINT64_MAX;
	if (!strcmp(place->name, any))
		return;
	judge(places, place, &cpus);
	count_processors(places, place, &cpus);
	who = *place->reason ? w->rank : w->nranks;
	MPI_Allreduce(MPI_IN_PLACE, &who, 1, MPI_INT, MPI_MIN, w->comm);
	if (who < w->nranks)
		MPI_Bcast(place->reason, FB_NUMA_REASON_CHARS, MPI_CHAR, who, w->comm);
	share_out(places, place);
}

int fb_places_open(struct fb_places *places, const struct fb_group *world, const char *list)
{
	char item[FB_NUMA_NAME_CHARS];
	uint64_t nodes = 0;
	int err;

	*places = (struct fb_places){.world = world, .numa = malloc(sizeof(*places->numa))};
	err = fb_group_agree(world, places->numa ? FB_OK : FB_ENOMEM);
	if (err || !places->numa)
		goto close_places;
	fb_numa_read(places->numa, "");
	(void)fb_cpus_get(&places->allowed);
	for (int i = 0; i < FB_NUMA_NODES; i++)
		nodes |= (uint64_t)places->numa->node[i].memory << i;
	MPI_Bcast(&nodes, 1, MPI_UINT64_T, 0, world->comm);
	while (!err && fb_option_next_item(&list, item, sizeof(item)) > 0)
		err = add_item(places, item, nodes);
	err = fb_group_agree(world, err);
	if (err)
		goto close_places;
	number_stores(places);
	for (int i = 0; i < places->count; i++) {
		places->item[i].number = i + 1;
		resolve(places, &places->item[i]);
	}
	return FB_OK;
close_places:
	fb_places_close(places);
	return fb_error(err, "out of memory for NUMA nodes");
}

void fb_places_close(struct fb_places *places)
{
	free(places->numa);
	free(places->item);
	*places = (struct fb_places){.count = 0};
}

void fb_place_put(const struct fb_place *place, struct fb_case *c)
{
	char key[8 + FB_NUMA_NAME_CHARS];

	if (!strcmp(place->name, any))
		return;
	c->place = place->number;
	snprintf(key, sizeof(key), "numa=%s", place->name);
	fb_variant_put(c, key);
}

const struct fb_place *fb_places_of(const struct fb_places *places, const struct fb_case *c)
{
	static const struct fb_place none = {
		.name = "any", .thread = -1, .memory = -1, .limit = UINT64_MAX,
		.huge_limit = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
	};

	return c->place ? &places->item[c->place - 1] : &none;
}
