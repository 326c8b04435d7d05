/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See environment_view.h. Facts are renamed to lines, sorted by (line, value, place), and each
 * stretch of one line becomes its text.
 */
#include "scripts/tools/compare/environment_view.h"
#include "scripts/tools/lib/memory.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_CHARS = 256, TEXT_CHARS = 1024 };

/* Facts that differ between any two runs, or that rows say already. */
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

/* Of a launch's self-test only what is no measurement. */
static const char *const kept_tests[] = {"clock", "clock_method", "clock_agrees"};

/* Devices, by which key their model is recorded; counted by model. */
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

static bool is_one_of(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(word, list[i]))
			return true;
	return false;
}

/* "program.NAME.LAUNCH.rest" to the line's name; false: it is of no interest. */
static bool name_program(const char *key, char *buf)
{
	const char *name = key + strlen("program."), *end = strchr(name, '.'), *rest, *what;
	int length = end ? (int)(end - name) : 0;

	rest = end ? end + 1 + strspn(end + 1, "0123456789") : NULL;
	if (!rest || *rest != '.') {
		snprintf(buf, NAME_CHARS, "%s", key); /* binary.build_id */
		return true;
	}
	what = strchr(rest + 1, '.');
	if (!what)
		return false;
	what++;
	if (!strncmp(rest, ".option.", 8)) {
		snprintf(buf, NAME_CHARS, "option %s of %.*s", what, length, name);
		return !is_one_of(what, ignored_options,
				  sizeof(ignored_options) / sizeof(ignored_options[0]));
	}
	snprintf(buf, NAME_CHARS, "%s of %.*s", what, length, name);
	return !strncmp(rest, ".selftest.", 10) &&
	       is_one_of(what, kept_tests, sizeof(kept_tests) / sizeof(kept_tests[0]));
}

/* The line that a fact belongs to, in buf; false: to none. */
static bool name_line(const struct fb_env_fact *fact, char *buf, bool *counted)
{
	*counted = false;
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		if (!fnmatch(ignored[i], fact->key, 0))
			return false;
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
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

__attribute__((format(printf, 2, 3))) static void append(char *text, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + used, TEXT_CHARS - used, fmt, args);
	va_end(args);
}

/* How many devices of which model a host has; hosts that are alike are said once. */
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
			append(host, "%s%zu x %s", *host ? " + " : "", same, item[i].fact->value);
		}
		if (strcmp(host, last) != 0)
			append(text, "%s%s", *text ? ", " : "", host);
		stpcpy(last, host);
	}
}

/* item[0 .. n) have one name; where it is a binding, ranks are told apart. */
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
		append(text, "%s", i ? ", " : "");
		if (binding && !alone && fact->rank >= 0)
			append(text, "rank %d: ", fact->rank);
		append(text, "%s", fact->value);
		if (!alone && !binding && *fact->host && same == 1)
			append(text, " on %s", fact->host);
		else if (!alone && !binding && *fact->host)
			append(text, " on %zu", same);
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
