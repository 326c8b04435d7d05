/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts of an environment.csv; see doctor.h. */
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "scripts/tools/doctor/doctor.h"
#include "scripts/tools/lib/records.h"

enum { SCOPE, HOST, RANK, KEY, VALUE, COLUMNS };

static int compare_place(const struct fb_node_fact *fact, const char *key, const char *host,
			 long rank)
{
	int order = strcmp(fact->key, key);

	if (!order)
		order = strcmp(fact->host, host);
	return order ? order : (fact->rank > rank) - (fact->rank < rank);
}

static int by_place(const void *a, const void *b)
{
	const struct fb_node_fact *x = a, *y = b;
	int order = compare_place(x, y->key, y->host, y->rank);

	return order ? order : strcmp(x->value, y->value);
}

/* The first fact that is not before this place, or `count`. */
static size_t find(const struct fb_node_facts *facts, const char *key, const char *host, long rank)
{
	size_t low = 0, high = facts->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_place(&facts->item[middle], key, host, rank) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_of(const struct fb_node_facts *facts, size_t i, const char *key, const char *host)
{
	return i < facts->count && !strcmp(facts->item[i].key, key) &&
	       (!host || !strcmp(facts->item[i].host, host));
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

static int add(void *arg, const struct fb_record *record)
{
	struct fb_node_facts *facts = arg;
	struct fb_node_fact *more, *fact;
	static const char conf[] = "nccl.conf.";
	char variable[128];
	const char *key;

	if (record->number == 1 || record->count < COLUMNS)
		return FB_OK;
	key = key_of(record->field[KEY]);
	if (!key)
		return FB_OK;
	/* Only what is no variable already is such a fact. */
	if (!strncmp(key, conf, strlen(conf))) {
		snprintf(variable, sizeof(variable), "variable.%s", key + strlen(conf));
		key = variable;
	}
	more = realloc(facts->item, (facts->count + 1) * sizeof(*more));
	if (!more)
		return fb_error(FB_ENOMEM, "out of memory for facts");
	facts->item = more;
	fact = &facts->item[facts->count++];
	fact->host = strdup(record->field[HOST]);
	fact->rank = *record->field[RANK] ? strtol(record->field[RANK], NULL, 10) : -1;
	fact->key = strdup(key);
	fact->value = strdup(record->field[VALUE]);
	fact->of_file = key == variable;
	return fact->host && fact->key && fact->value
		       ? FB_OK : fb_error(FB_ENOMEM, "out of memory for facts");
}

static void sort(struct fb_node_facts *facts)
{
	if (facts->count)
		qsort(facts->item, facts->count, sizeof(facts->item[0]), by_place);
}

static size_t count_hosts(const struct fb_node_facts *facts)
{
	const char **host = malloc((facts->count + 1) * sizeof(*host));
	size_t n = 0;

	for (size_t i = 0; host && i < facts->count; i++) {
		size_t h = 0;

		while (h < n && strcmp(host[h], facts->item[i].host))
			h++;
		if (h == n && *facts->item[i].host)
			host[n++] = facts->item[i].host;
	}
	free(host);
	return n ? n : 1;
}

static void free_fact(struct fb_node_fact *fact)
{
	free(fact->host);
	free(fact->key);
	free(fact->value);
}

/* Moves those facts to the others whose key none of these has. */
static int join(struct fb_node_facts *facts, struct fb_node_facts *more)
{
	struct fb_node_fact *item =
		realloc(facts->item, (facts->count + more->count + 1) * sizeof(*item));
	size_t known = facts->count;

	if (!item)
		return fb_error(FB_ENOMEM, "out of memory for facts");
	facts->item = item;
	for (size_t i = 0; i < more->count; i++) {
		struct fb_node_facts old = {.item = facts->item, .count = known};
		struct fb_node_fact *fact = &more->item[i];

		if (is_of(&old, find(&old, fact->key, "", -1), fact->key, NULL))
			free_fact(fact);
		else
			facts->item[facts->count++] = *fact;
	}
	more->count = 0;
	sort(facts);
	return FB_OK;
}

int fb_node_facts_read(struct fb_node_facts *facts, const char *folder)
{
	struct fb_node_facts more = {.count = 0};
	char path[4096];
	int err;

	*facts = (struct fb_node_facts){.count = 0};
	snprintf(path, sizeof(path), "%s/environment.csv", folder);
	err = fb_records_read(path, add, facts, NULL);
	if (!err && !facts->count)
		err = fb_error(FB_EINPUT, "%s: no facts: expected an environment.csv", path);
	sort(facts);
	snprintf(path, sizeof(path), "%s/rates/environment.csv", folder);
	if (!err && access(path, F_OK) == 0) {
		err = fb_records_read(path, add, &more, NULL);
		if (!err)
			err = join(facts, &more);
	}
	fb_node_facts_free(&more);
	facts->hosts = count_hosts(facts);
	return err;
}

void fb_node_facts_free(struct fb_node_facts *facts)
{
	for (size_t i = 0; i < facts->count; i++)
		free_fact(&facts->item[i]);
	free(facts->item);
	*facts = (struct fb_node_facts){.count = 0};
}

const char *fb_rank_fact(const struct fb_node_facts *facts, const char *host, long rank,
			 const char *key)
{
	size_t i = find(facts, key, host, rank);

	return is_of(facts, i, key, host) && facts->item[i].rank == rank
		       ? facts->item[i].value : fb_node_fact(facts, host, key);
}

const char *fb_node_fact(const struct fb_node_facts *facts, const char *host, const char *key)
{
	size_t i = find(facts, key, host, -1);

	if (!is_of(facts, i, key, host))
		i = find(facts, key, host = "", -1);
	return is_of(facts, i, key, host) ? facts->item[i].value : NULL;
}

bool fb_fact_opens_key(const struct fb_node_facts *facts, const struct fb_node_fact *fact)
{
	return fact == facts->item || strcmp(fact[-1].key, fact->key) != 0;
}

bool fb_fact_opens_host(const struct fb_node_facts *facts, const struct fb_node_fact *fact)
{
	return fb_fact_opens_key(facts, fact) || strcmp(fact[-1].host, fact->host) != 0;
}

const struct fb_node_fact *fb_next_fact(const struct fb_node_facts *facts,
					const struct fb_node_fact *after, const char *host,
					const char *pattern)
{
	size_t known = strcspn(pattern, "*?["), i;
	char prefix[64];

	snprintf(prefix, sizeof(prefix), "%.*s", (int)known, pattern);
	i = after ? (size_t)(after - facts->item) + 1 : find(facts, prefix, "", LONG_MIN);
	for (; i < facts->count && !strncmp(facts->item[i].key, prefix, strlen(prefix)); i++) {
		const struct fb_node_fact *fact = &facts->item[i];

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
	struct fb_finding *more = realloc(findings->item, (findings->count + 1) * sizeof(*more));

	if (!more) {
		findings->failed = true;
		return;
	}
	findings->item = more;
	findings->item[findings->count++] = *finding;
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
