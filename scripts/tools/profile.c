/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * profile: the links of a machine or cluster in one table, from the rows of the point-to-point
 * programs: for each kind of link the time of small messages, rate of large ones, and the limit.
 */
#include "common/base/error.h"
#include "common/option/option.h"
#include "scripts/tools/lib/links.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/results.h"
#include "scripts/tools/lib/tool.h"

#include <csv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings {
	uint64_t small, large;
};

static const struct fb_option table[] = {
	FB_OPTION_GROUP("What counts"),
	FB_OPTION_U64(struct settings, small, 0, "small", "SIZE", "64", 1, UINT64_C(1) << 20,
		      "latency is that of messages of no more bytes than this"),
	FB_OPTION_U64(struct settings, large, 0, "large", "SIZE", "1M", 1, UINT64_C(1) << 50,
		      "bandwidth is that of messages of no fewer bytes than this"),
	FB_OPTION_END,
};

static const char description[] =
	"profile [option...] DIR\n\n"
	"Prints one table of all kinds of links that the rows of latency, bandwidth, all_pairs and "
	"host_device in a results folder passed: NVLink, PCIe, the link between a host and its "
	"GPU, each RDMA port and interface, shared memory. Latency is half a round trip of the "
	"fastest engine, bandwidth the best one in one direction; worst pair is the slowest pair "
	"of ranks by its own best engine. The bound is what the link's wires carry (as the doctor "
	"has it).\n\n"
	"Exit code: 0 good; 3 the input cannot be used, or has no such rows.";

enum { KINDS = 64, PAIRS = 4096, VARIANT_CHARS = 48, ENGINE_CHARS = 24 };

struct pair {
	char ranks[VARIANT_CHARS];
	double GBps; /* by its best engine */
	size_t kind;
};

struct kind {
	struct fb_link link;
	bool between;	 /* nodes */
	double us, GBps; /* NAN: no such row */
	char us_by[ENGINE_CHARS], GBps_by[ENGINE_CHARS];
};

struct profile {
	struct kind kind[KINDS];
	size_t kinds, pairs;
	struct pair *pair; /* [PAIRS] */
};

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(word, *list))
			return true;
	return false;
}

/* NULL: the table is full. */
static struct kind *kind_of(struct profile *p, const struct fb_link *link, bool between)
{
	struct kind *k = p->kind;

	while (k < p->kind + p->kinds &&
	       (strcmp(k->link.kind, link->kind) || k->between != between))
		k++;
	if (k == p->kind + KINDS)
		return NULL;
	if (k == p->kind + p->kinds) {
		*k = (struct kind){.link = *link, .between = between, .us = (double)NAN,
				   .GBps = (double)NAN};
		p->kinds++;
	}
	return k;
}

/* Keeps the best of each pair, of which the least is the worst pair. */
static void add_pair(struct profile *p, size_t kind, const char *variant, double GBps)
{
	const char *src = strstr(variant, "src="), *dst = strstr(variant, "dst=");
	char ranks[VARIANT_CHARS];
	size_t i = 0;

	if (!src || !dst)
		return;
	snprintf(ranks, sizeof(ranks), "%ld to %ld", strtol(src + 4, NULL, 10),
		 strtol(dst + 4, NULL, 10));
	while (i < p->pairs && (p->pair[i].kind != kind || strcmp(p->pair[i].ranks, ranks)))
		i++;
	if (i == PAIRS)
		return;
	if (i == p->pairs) {
		p->pair[p->pairs++].kind = kind;
		snprintf(p->pair[i].ranks, sizeof(p->pair[i].ranks), "%s", ranks);
	}
	if (GBps > p->pair[i].GBps)
		p->pair[i].GBps = GBps;
}

static void add(struct profile *p, const struct settings *s, const struct fb_node_facts *facts,
		const struct fb_result *row)
{
	static const char *const round_trips[] = {"ping_pong", NULL};
	static const char *const one_way[] = {"one_way", "h2d", "d2h", NULL};
	const char *operation = fb_result_text(row, "operation");
	const char *engine = fb_result_text(row, "engine");
	uint64_t bytes = strtoull(fb_result_text(row, "bytes"), NULL, 10);
	double us = fb_result_number(row, "median_us");
	double GBps = fb_result_number(row, "busbw_GBps");
	bool small = is_one_of(operation, round_trips) && bytes <= s->small && us > 0;
	bool large = is_one_of(operation, one_way) && bytes >= s->large && GBps > 0;
	struct fb_link link;
	struct kind *k;

	if (!small && !large)
		return;
	fb_link_of(facts, fb_result_text(row, "path"), fb_result_text(row, "transport"), &link);
	if (!strcmp(link.kind, "library"))
		snprintf(link.kind, sizeof(link.kind), "%.40s", engine);
	k = kind_of(p, &link, fb_result_number(row, "nodes") > 1);
	if (!k)
		return;
	if (small && !(k->us <= us)) {
		k->us = us;
		snprintf(k->us_by, sizeof(k->us_by), "%s", engine);
	}
	if (large && !(k->GBps >= GBps)) {
		k->GBps = GBps;
		snprintf(k->GBps_by, sizeof(k->GBps_by), "%s", engine);
	}
	if (large)
		add_pair(p, (size_t)(k - p->kind), fb_result_text(row, "variant"), GBps);
}

/* The worst pair of a kind of link; NULL if fewer than two pairs have that kind. */
static const struct pair *worst_of(const struct profile *p, size_t kind)
{
	const struct pair *worst = NULL;
	size_t count = 0;

	for (size_t i = 0; i < p->pairs; i++) {
		if (p->pair[i].kind != kind)
			continue;
		count++;
		if (!worst || p->pair[i].GBps < worst->GBps)
			worst = &p->pair[i];
	}
	return count > 1 ? worst : NULL;
}

static void print_number(double value, int decimals)
{
	char text[32] = "-";

	if (isfinite(value))
		snprintf(text, sizeof(text), "%.*f", decimals, value);
	printf(" %9s", text);
}

static void print(const struct profile *p)
{
	printf("%-28s %-7s %9s %9s %9s %6s  %-24s %s\n", "link", "between", "us", "GB/s", "bound",
	       "share", "by (latency, bandwidth)", "worst pair");
	for (size_t i = 0; i < p->kinds; i++) {
		const struct kind *k = &p->kind[i];
		const struct pair *worst = worst_of(p, i);
		char by[2 * ENGINE_CHARS + 4];

		printf("%-28s %-7s", k->link.kind, k->between ? "nodes" : "-");
		print_number(k->us, 2);
		print_number(k->GBps, 1);
		print_number(k->link.GBps, 1);
		if (k->GBps > 0 && k->link.GBps > 0)
			printf(" %5.0f%%", 100 * k->GBps / k->link.GBps);
		else
			printf(" %6s", "-");
		snprintf(by, sizeof(by), "%s, %s", *k->us_by ? k->us_by : "-",
			 *k->GBps_by ? k->GBps_by : "-");
		printf("  %-24s", by);
		if (worst)
			printf(" rank %s, %.1f GB/s", worst->ranks, worst->GBps);
		else
			printf(" -");
		printf("\n");
	}
}

static int run(void *values, char **words, size_t count)
{
	const struct settings *settings = values;
	struct profile *p = fb_new(1, sizeof(*p));
	struct fb_results results = {.count = 0};
	struct fb_node_facts facts;
	int err;

	p->pair = fb_new(PAIRS, sizeof(*p->pair));
	if (count != 1)
		err = fb_error(FB_EINPUT, "%zu folders: expected one results folder; see --help",
			       count);
	else
		err = fb_results_read(&results, words[0]);
	if (!err)
		err = fb_node_facts_read(&facts, words[0]);
	for (size_t i = 0; !err && i < results.count; i++) {
		const char *status = fb_result_text(&results.row[i], "status");

		if (!strcmp(status, "ok") || !strcmp(status, "few"))
			add(p, settings, &facts, &results.row[i]);
	}
	if (!err && !p->kinds)
		err = fb_error(FB_EINPUT, "%s: no rows of latency, bandwidth, all_pairs or "
			       "host_device", words[0]);
	if (!err)
		print(p);
	return fb_exit_code(err);
}

static const struct fb_tool tool = {
	.name = "profile",
	.summary = "the links of a machine in one table",
	.description = description,
	.table = table,
	.libraries = FB_TOOL_CSV,
	.run = run,
};

FB_TOOL_MAIN(struct settings)
