/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts of an environment.csv; see doctor.h. */
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "scripts/tools/doctor/doctor.h"
#include "scripts/tools/lib/memory.h"

static int compare_place(const struct fb_env_fact *fact, const char *key, const char *host,
			 long rank)
{
	int order = strcmp(fact->key, key);

	if (!order)
		order = strcmp(fact->host, host);
	return order ? order : (fact->rank > rank) - (fact->rank < rank);
}

/* The first fact that is not before this place, or `count`. */
static size_t find(const struct fb_node_facts *facts, const char *key, const char *host, long rank)
{
	size_t low = 0, high = facts->env.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_place(&facts->env.fact[middle], key, host, rank) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_of(const struct fb_node_facts *facts, size_t i, const char *key, const char *host)
{
	return i < facts->env.count && !strcmp(facts->env.fact[i].key, key) &&
	       (!host || !strcmp(facts->env.fact[i].host, host));
}

/* What a launch says of a rank is a fact; its options and times are not. NULL: left out. */
static const char *key_of(const char *key)
{
	static const char gpu[] = ".rank.gpu";
	size_t length = strlen(key);

	if (strncmp(key, "program.", strlen("program.")))
		return key;
	return length >= strlen(gpu) && !strcmp(key + length - strlen(gpu), gpu)
		       ? key + length - strlen("rank.gpu") : NULL;
}

/* Reads a file's facts under the keys that the rules know. */
static int read_facts(struct fb_env *env, const char *path)
{
	static const char conf[] = "nccl.conf.";
	size_t n = 0;
	int err = fb_env_read(env, path);

	for (size_t i = 0; i < env->count; i++) {
		struct fb_env_fact fact = env->fact[i];

		fact.key = key_of(fact.key);
		if (!fact.key)
			continue;
		/* Only what is no variable already is such a fact. */
		if (!strncmp(fact.key, conf, strlen(conf))) {
			fact.key = fb_new_text("variable.%s", fact.key + strlen(conf));
			fact.scope = FB_SCOPE_NCCL_FILE;
		}
		env->fact[n++] = fact;
	}
	env->count = n;
	fb_env_sort(env);
	return err;
}

static size_t count_hosts(const struct fb_env *env)
{
	const char **host = fb_new(env->count + 1, sizeof(*host));
	size_t n = 0;

	for (size_t i = 0; i < env->count; i++) {
		size_t h = 0;

		while (h < n && strcmp(host[h], env->fact[i].host))
			h++;
		if (h == n && *env->fact[i].host)
			host[n++] = env->fact[i].host;
	}
	return n ? n : 1;
}

/* Adds the facts whose key none of the others has. */
static void join(struct fb_env *env, const struct fb_env *more)
{
	struct fb_env old = {.fact = fb_new(env->count, sizeof(*old.fact)), .count = env->count};
	size_t first;

	memcpy(old.fact, env->fact, env->count * sizeof(*old.fact));
	for (size_t i = 0; i < more->count; i++)
		if (!fb_env_find(&old, more->fact[i].key, &first))
			*FB_ADD(env->fact, env->count) = more->fact[i];
	fb_env_sort(env);
}

int fb_node_facts_read(struct fb_node_facts *facts, const char *folder)
{
	const char *path = fb_new_text("%s/environment.csv", folder);
	struct fb_env more = {.count = 0};
	int err;

	*facts = (struct fb_node_facts){.env = {.count = 0}};
	err = read_facts(&facts->env, path);
	if (!err && !facts->env.count)
		err = fb_error(FB_EINPUT, "%s: no facts: expected an environment.csv", path);
	path = fb_new_text("%s/rates/environment.csv", folder);
	if (!err && access(path, F_OK) == 0) {
		err = read_facts(&more, path);
		join(&facts->env, &more);
	}
	facts->hosts = count_hosts(&facts->env);
	return err;
}

const char *fb_rank_fact(const struct fb_node_facts *facts, const char *host, long rank,
			 const char *key)
{
	size_t i = find(facts, key, host, rank);

	return is_of(facts, i, key, host) && facts->env.fact[i].rank == rank
		       ? facts->env.fact[i].value : fb_node_fact(facts, host, key);
}

const char *fb_node_fact(const struct fb_node_facts *facts, const char *host, const char *key)
{
	size_t i = find(facts, key, host, -1);

	if (!is_of(facts, i, key, host))
		i = find(facts, key, host = "", -1);
	return is_of(facts, i, key, host) ? facts->env.fact[i].value : NULL;
}

bool fb_fact_opens_key(const struct fb_node_facts *facts, const struct fb_env_fact *fact)
{
	return fact == facts->env.fact || strcmp(fact[-1].key, fact->key) != 0;
}

bool fb_fact_opens_host(const struct fb_node_facts *facts, const struct fb_env_fact *fact)
{
	return fb_fact_opens_key(facts, fact) || strcmp(fact[-1].host, fact->host) != 0;
}

const struct fb_env_fact *fb_next_fact(const struct fb_node_facts *facts,
					const struct fb_env_fact *after, const char *host,
					const char *pattern)
{
	size_t known = strcspn(pattern, "*?["), i;
	char prefix[64];

	snprintf(prefix, sizeof(prefix), "%.*s", (int)known, pattern);
	i = after ? (size_t)(after - facts->env.fact) + 1 : find(facts, prefix, "", LONG_MIN);
	for (; i < facts->env.count; i++) {
		const struct fb_env_fact *fact = &facts->env.fact[i];

		if (strncmp(fact->key, prefix, strlen(prefix)))
			break;
		if ((!*fact->host || !strcmp(fact->host, host)) &&
		    !fnmatch(pattern, fact->key, 0))
			return fact;
	}
	return NULL;
}

bool fb_fact_has(const struct fb_node_facts *facts, const char *host, const char *key,
		 const char *text)
{
	const char *value = fb_node_fact(facts, host, key);

	return value && strstr(value, text);
}

void fb_findings_add(struct fb_findings *findings, const struct fb_finding *finding)
{
	*FB_ADD(findings->item, findings->count) = *finding;
}

void fb_findings_judge(struct fb_findings *findings, const struct fb_check *check,
		       const char *host, bool good, const char *fmt, ...)
{
	struct fb_finding f = {.level = good ? FB_LEVEL_GOOD : check->level, .check = check->check,
			       .host = host, .advice = check->advice};
	va_list args;

	va_start(args, fmt);
	vsnprintf(f.found, sizeof(f.found), fmt, args);
	va_end(args);
	snprintf(f.wanted, sizeof(f.wanted), "%s", check->wanted);
	fb_findings_add(findings, &f);
}
