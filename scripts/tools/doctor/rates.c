/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that measured rates are near their bounds and those of the links; see doctor.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/carrier.h"
#include "scripts/tools/doctor/doctor.h"
#include "scripts/tools/lib/links.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/records.h"
#include "scripts/tools/lib/text.h"

enum { NAME_CHARS = 64, KIND_CHARS = 64 };
enum column {
	OPERATION, ENGINE, TRANSPORT, VARIANT, BYTES, STATUS, BUSBW, PATH, MEMORY, RANKS, NODES,
	EFFICIENCY, COLUMNS
};

static const char *const names[COLUMNS] = {
	"operation", "engine", "transport", "variant", "bytes", "status", "busbw_GBps", "path",
	"memory", "ranks", "nodes", "efficiency"};

/* Messages in one direction only: two directions may share what is behind the link. */
static const char *const one_way[] = {"one_way", "h2d", "d2h"};
static const double large = 1 << 20;

/* Collectives whose busbw_GBps is what all links of a GPU, or all ports of a node, carry. */
static const char *const collectives[] = {"all_reduce", "all_gather", "reduce_scatter"};
static const char *const of_gpus[] = {"device", "vmm", "fabric", "nccl", "symmetric"};
static const double large_collective = 64 << 20;
static const char collective_advice[] =
	"another way than these links (column path: SHM or NET/Socket, or one port of several), "
	"a variable that forbids them, links that are down, clocks held down (column throttle), "
	"another job, or few channels";
static const char bound_advice[] =
	"so far below what link or memory allow, something is configured wrongly: another path "
	"than meant (see column path), a link that negotiated less, throttling, ranks bound to far "
	"processors, other load";

/* The best that a pair of ranks, a rank and its GPU, or a collective reached by any engine. */
struct way {
	char name[NAME_CHARS], engine[KIND_CHARS];
	struct fb_link link; /* of kind "" and 1 GB/s: best is a share of the row's own bound */
	double best, least;  /* least: share of the link's rate */
};

struct ways {
	const struct fb_node_facts *facts;
	const struct fb_least *least;
	int at[COLUMNS];
	struct way *item;
	size_t count;
};

/* "rank 0 to 1", or the operation where the variant names no ranks. */
static void name_pair(const char *operation, const char *variant, char name[NAME_CHARS])
{
	const char *src = strstr(variant, "src="), *dst = strstr(variant, "dst=");

	if (src && dst)
		snprintf(name, NAME_CHARS, "rank %ld to %ld", strtol(src + 4, NULL, 10),
			 strtol(dst + 4, NULL, 10));
	else
		snprintf(name, NAME_CHARS, "%.40s", operation);
}

static void note(struct ways *w, const struct way *way)
{
	struct way *item = w->item, *end = item + w->count;

	if (!(way->link.GBps > 0) || !(way->best > 0))
		return;
	while (item < end && (strcmp(item->name, way->name) ||
			      strcmp(item->link.kind, way->link.kind)))
		item++;
	if (item == end)
		item = FB_ADD(w->item, w->count);
	if (way->best > item->best)
		*item = *way;
}

/*
 * What a collective of GPUs should pass: their NVLinks on one node, and between nodes an RDMA port
 * like the one in NCCL's path for each rank of a node, as far as the node has so many active ones.
 * The first node stands for all.
 */
static void link_of_gpus(const struct fb_node_facts *facts, const char *path, double ranks,
			 double nodes, struct fb_link *link)
{
	const struct fb_env_fact *fact = NULL;
	char port[FB_CARRIER_CHARS] = "";
	const char *host = "";
	struct fb_link nvlink;
	double ports = 0;

	fb_link_of(facts, "NVLink", "", &nvlink);
	*link = nvlink;
	if (nodes > 1) {
		fb_carrier_devices(path, port);
		port[strcspn(port, " ")] = '\0';
		fb_link_of(facts, fb_new_text("rdma %s", port), "rdma", link);
		for (size_t i = 0; i < facts->env.count && !*host; i++)
			host = facts->env.fact[i].host;
		while ((fact = fb_next_fact(facts, fact, host, "infiniband.*.port*.state")))
			ports += strstr(fact->value, "ACTIVE") != NULL;
		link->GBps *= fmin(ports, ranks / nodes);
		/* A GPU passes on all that its node receives. */
		if (ranks > nodes && link->GBps > nvlink.GBps)
			link->GBps = nvlink.GBps;
		snprintf(link->kind, sizeof(link->kind), "RDMA ports of a node");
	}
	link->advice = collective_advice;
}

static int add(void *arg, const struct fb_record *record)
{
	struct ways *w = arg;
	char *const *field = record->field;
	struct way way = {.least = w->least->bound, .link.GBps = 1};
	bool collective;
	double bytes;

	if (record->number == 1) {
		for (int c = 0; c < COLUMNS; c++) {
			w->at[c] = fb_record_find(record, names[c]);
			if (w->at[c] < 0)
				return FB_RECORDS_STOP;
		}
		return FB_OK;
	}
	bytes = strtod(field[w->at[BYTES]], NULL);
	if (bytes < large ||
	    (strcmp(field[w->at[STATUS]], "ok") && strcmp(field[w->at[STATUS]], "few")))
		return FB_OK;
	snprintf(way.engine, sizeof(way.engine), "%.60s", field[w->at[ENGINE]]);
	snprintf(way.name, sizeof(way.name), "%.30s in memory %.20s", field[w->at[OPERATION]],
		 field[w->at[MEMORY]]);
	way.best = strtod(field[w->at[EFFICIENCY]], NULL);
	note(w, &way);
	way.best = strtod(field[w->at[BUSBW]], NULL);
	name_pair(field[w->at[OPERATION]], field[w->at[VARIANT]], way.name);
	collective = FB_AMONG(field[w->at[OPERATION]], collectives) &&
		     FB_AMONG(field[w->at[MEMORY]], of_gpus) && bytes >= large_collective;
	way.least = collective ? w->least->collective : w->least->link;
	if (collective)
		link_of_gpus(w->facts, field[w->at[PATH]], strtod(field[w->at[RANKS]], NULL),
			     strtod(field[w->at[NODES]], NULL), &way.link);
	else if (FB_AMONG(field[w->at[OPERATION]], one_way))
		fb_link_of(w->facts, field[w->at[PATH]], field[w->at[TRANSPORT]], &way.link);
	else
		return FB_OK;
	note(w, &way);
	return FB_OK;
}

int fb_doctor_rates(const struct fb_node_facts *facts, const char *path,
		    const struct fb_least *least, struct fb_findings *findings)
{
	struct ways w = {.facts = facts, .least = least};
	int err = fb_records_read(path, add, &w, NULL);

	for (size_t i = 0; !err && i < w.count; i++) {
		const struct way *way = &w.item[i];
		double rate = way->link.GBps;
		bool bound = !*way->link.kind, good = way->best / rate >= way->least;
		const struct fb_check check = {
			FB_LEVEL_DOUBT, bound ? "rate of large messages" : "link carries its rate",
			bound ? fb_new_text("%.2f or more", way->least)
			      : fb_new_text("%.4g GB/s or more, %.0f%% of the link's rate",
					    way->least * rate, 100 * way->least),
			bound ? bound_advice : way->link.advice};

		if (bound)
			fb_findings_judge(findings, &check, "", good,
					  "%s: %.2f of the bound, by engine %.30s", way->name,
					  way->best, way->engine);
		else
			fb_findings_judge(findings, &check, "", good,
					  "%.40s, %.40s: %.4g of %.4g GB/s, by engine %.20s",
					  way->name, way->link.kind, way->best, rate, way->engine);
	}
	return err == FB_RECORDS_STOP ? FB_OK : err;
}
