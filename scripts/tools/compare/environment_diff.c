/* SPDX-License-Identifier: BSD-3-Clause */
/* See environment_diff.h. */
#include "scripts/tools/compare/environment_diff.h"
#include "scripts/tools/compare/environment_view.h"
#include "scripts/tools/lib/memory.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first pattern that a line's name matches decides. */
static const struct {
	const char *pattern;
	enum fb_difference_class kind;
	bool identity;
	double tolerance; /* numbers nearer than this (relative) do not differ */
} rules[] = {
	{"GPUs", FB_DIFFERS_TOPOLOGY, true, 0},
	{"adapters", FB_DIFFERS_TOPOLOGY, true, 0},
	{"machine.architecture", FB_DIFFERS_TOPOLOGY, true, 0},
	{"cpu.model", FB_DIFFERS_TOPOLOGY, true, 0},
	{"bind.*", FB_DIFFERS_TOPOLOGY, true, 0},
	{"option * of *", FB_DIFFERS_OPTION, false, 0},
	{"clock* of *", FB_DIFFERS_CLOCKS, false, 0},
	{"variable.*", FB_DIFFERS_VARIABLE, false, 0},
	{"*firmware*", FB_DIFFERS_FIRMWARE, false, 0},
	{"*vbios*", FB_DIFFERS_FIRMWARE, false, 0},
	{"cpu.microcode", FB_DIFFERS_FIRMWARE, false, 0},
	{"infiniband.*.board", FB_DIFFERS_FIRMWARE, false, 0},
	{"*driver_version*", FB_DIFFERS_DRIVER, false, 0},
	{"nvidia.driver*", FB_DIFFERS_DRIVER, false, 0},
	{"cuda.driver*", FB_DIFFERS_DRIVER, false, 0},
	{"library.*", FB_DIFFERS_LIBRARY, false, 0},
	{"mpi.library", FB_DIFFERS_LIBRARY, false, 0},
	{"nccl.conf*", FB_DIFFERS_VARIABLE, false, 0},
	{"nccl.*", FB_DIFFERS_LIBRARY, false, 0},
	{"os.*", FB_DIFFERS_KERNEL, false, 0},
	{"container.*", FB_DIFFERS_KERNEL, false, 0},
	{"memory.total", FB_DIFFERS_TOPOLOGY, false, 0.02},
	{"memory.dev_shm_bytes", FB_DIFFERS_KERNEL, false, 0.02},
	{"memory.*", FB_DIFFERS_KERNEL, false, 0},
	{"numa.balancing", FB_DIFFERS_KERNEL, false, 0},
	{"*congestion*", FB_DIFFERS_KERNEL, false, 0},
	{"tcp.*", FB_DIFFERS_KERNEL, false, 0},
	{"cgroup.*", FB_DIFFERS_TOPOLOGY, false, 0},
	{"*clock*", FB_DIFFERS_CLOCKS, false, 0},
	{"cpu.governor", FB_DIFFERS_CLOCKS, false, 0},
	{"cpu.frequency*", FB_DIFFERS_CLOCKS, false, 0},
	{"cpu.boost", FB_DIFFERS_CLOCKS, false, 0},
	{"cpu.no_turbo", FB_DIFFERS_CLOCKS, false, 0},
	{"*power*", FB_DIFFERS_CLOCKS, false, 0},
	{"*throttle*", FB_DIFFERS_CLOCKS, false, 0},
	{"*persistence*", FB_DIFFERS_CLOCKS, false, 0},
	{"build.*", FB_DIFFERS_BUILD, false, 0},
	{"binary.build_id", FB_DIFFERS_BUILD, false, 0},
	{"hostname", FB_DIFFERS_TOPOLOGY, false, 0},
	{"machine.*", FB_DIFFERS_TOPOLOGY, false, 0},
	{"cpu.*", FB_DIFFERS_TOPOLOGY, false, 0},
	{"numa.*", FB_DIFFERS_TOPOLOGY, false, 0},
	{"run.*", FB_DIFFERS_TOPOLOGY, false, 0},
	{"network.*", FB_DIFFERS_TOPOLOGY, false, 0},
	{"infiniband.*", FB_DIFFERS_TOPOLOGY, false, 0},
	{"nvidia.*", FB_DIFFERS_TOPOLOGY, false, 0},
	{"gpu.*", FB_DIFFERS_TOPOLOGY, false, 0},
	{"slurm.*", FB_DIFFERS_TOPOLOGY, false, 0},
	{"*", FB_DIFFERS_OTHER, false, 0},
};

static const char *const class_names[FB_DIFFERS_CLASSES] = {
	[FB_DIFFERS_DRIVER] = "driver",
	[FB_DIFFERS_LIBRARY] = "loaded libraries",
	[FB_DIFFERS_FIRMWARE] = "firmware",
	[FB_DIFFERS_KERNEL] = "kernel and system",
	[FB_DIFFERS_CLOCKS] = "clocks",
	[FB_DIFFERS_TOPOLOGY] = "topology and binding",
	[FB_DIFFERS_VARIABLE] = "variables",
	[FB_DIFFERS_OPTION] = "options",
	[FB_DIFFERS_BUILD] = "build of fabricbench",
	[FB_DIFFERS_OTHER] = "other",
};

static const char none[] = "(none)";

const char *fb_difference_class_name(enum fb_difference_class kind)
{
	return class_names[kind];
}

static size_t rule_of(const char *name)
{
	size_t i = 0;

	while (fnmatch(rules[i].pattern, name, 0) != 0)
		i++;
	return i;
}

/* "24684092 kB" and "24684088 kB" are the same amount of memory. */
static bool alike(const char *a, const char *b, double tolerance)
{
	char *enda, *endb;
	double x, y;

	if (!strcmp(a, b))
		return true;
	if (tolerance <= 0)
		return false;
	x = strtod(a, &enda);
	y = strtod(b, &endb);
	return enda != a && endb != b && !strcmp(enda, endb) &&
	       fabs(x - y) <= tolerance * fmax(fabs(x), fabs(y));
}

/* Whether a line that only one side has does not count as a difference. */
static bool one_sided(const char *name, const struct fb_view *other)
{
	const char *of = strstr(name, " of ");

	/* The other side did not run the program, or its version of it lacks the option. */
	if (of)
		return true;
	/* Bindings are facts of single ranks, and a side without any facts says nothing. */
	return !strncmp(name, "bind.", 5) || other->count == 0;
}

static void add(struct fb_differences *d, const char *name, const char *base, const char *new)
{
	size_t rule = rule_of(name);

	*FB_ADD(d->item, d->count) = (struct fb_difference){
		.name = name,
		.base = base ? base : none,
		.new = new ? new : none,
		.kind = rules[rule].kind,
		.identity = rules[rule].identity,
		.programs = 1,
	};
	d->identities += rules[rule].identity;
}

static void drop(struct fb_differences *d, size_t i)
{
	d->count--;
	memmove(&d->item[i], &d->item[i + 1], (d->count - i) * sizeof(*d->item));
}

static void add_all(struct fb_differences *d, const struct fb_view *a, const struct fb_view *b)
{
	size_t i = 0, j = 0;

	while (i < a->count || j < b->count) {
		const char *name, *base = NULL, *new = NULL;
		bool differ;
		int order = i == a->count   ? 1
			    : j == b->count ? -1
					    : strcmp(a->line[i].name, b->line[j].name);

		name = order <= 0 ? a->line[i].name : b->line[j].name;
		if (order <= 0)
			base = a->line[i++].value;
		if (order >= 0)
			new = b->line[j++].value;
		if (!base)
			differ = !one_sided(name, a);
		else if (!new)
			differ = !one_sided(name, b);
		else
			differ = !alike(base, new, rules[rule_of(name)].tolerance);
		if (differ)
			add(d, name, base, new);
	}
}

/* Whether two differences are of one option, in two programs, from and to the same value. */
static bool same_option(const struct fb_difference *a, const struct fb_difference *b)
{
	const char *end = strstr(a->name, " of ");
	size_t n = end ? (size_t)(end - a->name) + 4 : 0;

	return n && !strncmp(a->name, b->name, n) && !strcmp(a->base, b->base) &&
	       !strcmp(a->new, b->new);
}

static void merge_programs(struct fb_differences *d)
{
	for (size_t i = 0; i < d->count; i++) {
		const char *end;

		for (size_t j = i + 1; j < d->count;) {
			if (!same_option(&d->item[i], &d->item[j])) {
				j++;
				continue;
			}
			d->item[i].programs++;
			drop(d, j);
		}
		end = strstr(d->item[i].name, " of ");
		if (d->item[i].programs == 1 || !end)
			continue;
		d->item[i].name = fb_new_text("%.*s of %zu programs", (int)(end - d->item[i].name),
					      d->item[i].name, d->item[i].programs);
	}
}

/* Drops the build id of a library whose path or version differs too, as it follows from that. */
static void drop_build_ids(struct fb_differences *d)
{
	static const char id[] = ".build_id";

	for (size_t i = 0; i < d->count;) {
		const char *name = d->item[i].name;
		size_t n = strlen(name), stem = n - strlen(id);
		bool said = false;

		if (n > strlen(id) && !strcmp(name + stem, id))
			for (size_t j = 0; j < d->count; j++)
				said |= j != i && !strncmp(d->item[j].name, name, stem + 1) &&
					strncmp(name, "library.", 8) == 0;
		if (said)
			drop(d, i);
		else
			i++;
	}
}

/* Whether both sides ran one program. Build ids of two programs always differ. */
static bool same_file(const struct fb_env *a, const struct fb_env *b)
{
	size_t i, j;

	return fb_env_find(a, "binary.file", &i) == 1 && fb_env_find(b, "binary.file", &j) == 1 &&
	       !strcmp(a->fact[i].value, b->fact[j].value);
}

static int compare(const void *x, const void *y)
{
	const struct fb_difference *a = x, *b = y;

	return a->kind != b->kind ? (int)a->kind - (int)b->kind : strcmp(a->name, b->name);
}

void fb_differences_find(struct fb_differences *d, const struct fb_env *base,
			 const struct fb_env *new)
{
	struct fb_view a, b;

	*d = (struct fb_differences){.known = base->files && new->files};
	if (!d->known)
		return;
	fb_view_make(&a, base);
	fb_view_make(&b, new);
	add_all(d, &a, &b);
	for (size_t i = 0; i < d->count && !same_file(base, new); i++)
		if (!strcmp(d->item[i].name, "binary.build_id"))
			drop(d, i--);
	drop_build_ids(d);
	merge_programs(d);
	if (d->count)
		qsort(d->item, d->count, sizeof(*d->item), compare);
}

void fb_differences_hide(struct fb_differences *d,
			 bool (*hidden)(const char *name, const void *arg), const void *arg)
{
	for (size_t i = 0; i < d->count;) {
		if (hidden(d->item[i].name, arg)) {
			d->identities -= d->item[i].identity;
			drop(d, i);
		} else {
			i++;
		}
	}
}
