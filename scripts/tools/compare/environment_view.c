/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See environment_view.h. Facts are renamed to lines, sorted by (line, value, place), and each
 * stretch of one line becomes its text.
 */
#include "scripts/tools/compare/environment_view.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_CHARS = 256, TEXT_CHARS = 1024 };

/* Facts that differ between any two runs, or that are columns of rows. */
static const char *const ignored[] = {
	"host.*",
	"run.name",
	"run.ranks",
	"run.nodes",
	"binary.file",
	"variable.SLURM_JOB_*",
	"variable.SLURM_NTASKS*",
	"variable.SLURM_NNODES*",
	"variable.FB_*",
};

/* Options of the programs that say where results go and what is shown, not what is measured. */
static const char *const ignored_options[] = {
	"csv", "run", "launch-index", "resume",	 "quiet",   "help",	  "list",
	"man", "raw", "raw-ranks",    "version", "dry-run", "check-plan",
};

/* The facts of a launch's self-test that are no measurements. */
static const char *const kept_tests[] = {"clock", "clock_method", "clock_agrees"};

/* Keys under which models of devices are recorded. Devices are counted by model. */
static const struct {
	const char *pattern, *name;
} devices[] = {
	{"nvidia.gpu.*", "GPUs"},
	{"gpu.*.model", "GPUs"},
	{"infiniband.*.type", "adapters"},
};

struct item {
	char *name;
	const struct fb_env_fact *fact;
	bool counted; /* a device */
};

/*
 * Makes the line's name of "program.NAME.LAUNCH.rest". Returns false for a fact without interest.
 */
static bool name_program(const char *key, char *buf)
{
	const char *name = key + strlen("program."), *rest, *what;
	int length = (int)fb_env_program(key, &rest);

	if (!length) {
		snprintf(buf, NAME_CHARS, "%s", key);
		return true;
	}
	what = strchr(rest, '.');
	if (!what)
		return false;
	what++;
	if (!strncmp(rest, "option.", 7)) {
		snprintf(buf, NAME_CHARS, "option %s of %.*s", what, length, name);
		return !FB_AMONG(what, ignored_options);
	}
	snprintf(buf, NAME_CHARS, "%s of %.*s", what, length, name);
	return !strncmp(rest, "selftest.", 9) && FB_AMONG(what, kept_tests);
}

/* Writes the name of the line that a fact belongs to. Returns false where it belongs to none. */
static bool name_line(const struct fb_env_fact *fact, char *buf, bool *counted)
{
	*counted = false;
	for (size_t i = 0; i < FB_COUNT_OF(ignored); i++)
		if (!fnmatch(ignored[i], fact->key, 0))
			return false;
	for (size_t i = 0; i < FB_COUNT_OF(devices); i++) {
		const char *rest = strchr(fact->key, '.');

		if (fnmatch(devices[i].pattern, fact->key, 0) != 0)
			continue;
		/* nvidia.gpu.ADDRESS, but not nvidia.gpu.ADDRESS.something. */
		if (!strncmp(fact->key, "nvidia.", 7) && strchr(rest + 5, '.') &&
		    strspn(strrchr(rest, '.') + 1, "0123456789") == 0)
			continue;
		snprintf(buf, NAME_CHARS, "%s", devices[i].name);
		*counted = true;
		return true;
	}
	if (!strncmp(fact->key, "program.", 8))
		return name_program(fact->key, buf);
	snprintf(buf, NAME_CHARS, "%s", fact->key);
	return true;
}

static int compare(const void *x, const void *y)
{
	const struct item *a = x, *b = y;
	int order = strcmp(a->name, b->name);

	if (!order && a->counted)
		order = strcmp(a->fact->host, b->fact->host);
	if (!order && !strncmp(a->name, "bind.", 5))
		order = (a->fact->rank > b->fact->rank) - (a->fact->rank < b->fact->rank);
	if (!order)
		order = strcmp(a->fact->value, b->fact->value);
	return order ? order : strcmp(a->fact->host, b->fact->host);
}

/* Writes how many devices of which model each host has; hosts that follow and are alike, once. */
static void describe_devices(const struct item *item, size_t n, char *text)
{
	char host[TEXT_CHARS], last[TEXT_CHARS] = "";
	size_t same;

	for (size_t i = 0; i < n;) {
		const char *name = item[i].fact->host;

		*host = '\0';
		for (; i < n && !strcmp(item[i].fact->host, name); i += same) {
			for (same = 1; i + same < n; same++)
				if (strcmp(item[i + same].fact->value, item[i].fact->value) != 0 ||
				    strcmp(item[i + same].fact->host, name) != 0)
					break;
			fb_append(host, TEXT_CHARS, "%s%zu x %s", *host ? " + " : "", same,
				  item[i].fact->value);
		}
		if (strcmp(host, last) != 0)
			fb_append(text, TEXT_CHARS, "%s%s", *text ? ", " : "", host);
		stpcpy(last, host);
	}
}

/* Writes the values of item[0 .. n), which have one name; those of bindings with their ranks. */
static void describe(const struct item *item, size_t n, char *text)
{
	bool alone = true, binding = !strncmp(item->name, "bind.", 5);
	size_t same;

	for (size_t i = 1; i < n; i++)
		alone &= !strcmp(item[i].fact->value, item[0].fact->value);
	for (size_t i = 0; i < n; i += same) {
		const struct fb_env_fact *fact = item[i].fact;

		same = 1;
		while (i + same < n && !strcmp(item[i + same].fact->value, fact->value) &&
		       (alone || !binding))
			same++;
		fb_append(text, TEXT_CHARS, "%s", i ? ", " : "");
		if (binding && !alone && fact->rank >= 0)
			fb_append(text, TEXT_CHARS, "rank %d: ", fact->rank);
		fb_append(text, TEXT_CHARS, "%s", fact->value);
		if (!alone && !binding && *fact->host && same == 1)
			fb_append(text, TEXT_CHARS, " on %s", fact->host);
		else if (!alone && !binding && *fact->host)
			fb_append(text, TEXT_CHARS, " on %zu", same);
	}
}

static size_t collect(const struct fb_env *env, struct item *item)
{
	char name[NAME_CHARS];
	size_t n = 0;

	for (size_t i = 0; i < env->count; i++) {
		bool counted;

		if (name_line(&env->fact[i], name, &counted))
			item[n++] = (struct item){fb_new_copy(name), &env->fact[i], counted};
	}
	return n;
}

static void add_line(struct fb_view *view, const struct item *item, size_t n)
{
	char text[TEXT_CHARS] = "";

	if (item->counted)
		describe_devices(item, n, text);
	else
		describe(item, n, text);
	view->line[view->count++] =
		(struct fb_view_line){.name = item->name, .value = fb_new_copy(text)};
}

void fb_view_make(struct fb_view *view, const struct fb_env *env)
{
	struct item *item = fb_new(env->count + 1, sizeof(*item));
	size_t n = collect(env, item), same;

	*view = (struct fb_view){.line = fb_new(env->count + 1, sizeof(*view->line))};
	if (n)
		qsort(item, n, sizeof(*item), compare);
	for (size_t i = 0; i < n; i += same) {
		for (same = 1; i + same < n && !strcmp(item[i + same].name, item[i].name);)
			same++;
		add_line(view, item + i, same);
	}
}
