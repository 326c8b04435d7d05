/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that large messages between two ranks reach the rate of their link; see doctor.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "scripts/tools/doctor/doctor.h"
#include "scripts/tools/lib/links.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/records.h"
#include "scripts/tools/lib/text.h"

enum { NAME_CHARS = 64, KIND_CHARS = 64 };
enum column { OPERATION, ENGINE, TRANSPORT, VARIANT, BYTES, STATUS, BUSBW, PATH, COLUMNS };

static const char *const names[COLUMNS] = {"operation", "engine", "transport",  "variant",
					   "bytes",	"status", "busbw_GBps", "path"};

/* Messages in one direction only: two directions may share what is behind the link. */
static const char *const one_way[] = {"one_way", "h2d", "d2h"};
static const double large = 1 << 20;

/* The best that a pair of ranks, or a rank and its GPU, reached by any engine. */
struct pair {
	char name[NAME_CHARS], engine[KIND_CHARS];
	struct fb_link link;
	double best;
};

struct pairs {
	const struct fb_node_facts *facts;
	int at[COLUMNS];
	struct pair *item;
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

static struct pair *pair_of(struct pairs *p, const char *name, const struct fb_link *link)
{
	struct pair *more;

	for (size_t i = 0; i < p->count; i++)
		if (!strcmp(p->item[i].name, name) && !strcmp(p->item[i].link.kind, link->kind))
			return &p->item[i];
	more = FB_ADD(p->item, p->count);
	more->link = *link;
	snprintf(more->name, sizeof(more->name), "%s", name);
	return more;
}

static int add(void *arg, const struct fb_record *record)
{
	struct pairs *p = arg;
	char *const *field = record->field, name[NAME_CHARS];
	struct fb_link link;
	struct pair *pair;
	double rate;

	if (record->number == 1) {
		for (int c = 0; c < COLUMNS; c++) {
			p->at[c] = fb_record_find(record, names[c]);
			if (p->at[c] < 0)
				return FB_RECORDS_STOP;
		}
		return FB_OK;
	}
	rate = strtod(field[p->at[BUSBW]], NULL);
	if (!(rate > 0) || !FB_AMONG(field[p->at[OPERATION]], one_way) ||
	    (strcmp(field[p->at[STATUS]], "ok") && strcmp(field[p->at[STATUS]], "few")) ||
	    strtod(field[p->at[BYTES]], NULL) < large)
		return FB_OK;
	fb_link_of(p->facts, field[p->at[PATH]], field[p->at[TRANSPORT]], &link);
	if (!(link.GBps > 0))
		return FB_OK;
	name_pair(field[p->at[OPERATION]], field[p->at[VARIANT]], name);
	pair = pair_of(p, name, &link);
	if (rate > pair->best) {
		pair->best = rate;
		snprintf(pair->engine, sizeof(pair->engine), "%.60s", field[p->at[ENGINE]]);
	}
	return FB_OK;
}

int fb_doctor_links(const struct fb_node_facts *facts, const char *path, double least,
		    struct fb_findings *findings)
{
	struct pairs p = {.facts = facts};
	int err = fb_records_read(path, add, &p, NULL);

	for (size_t i = 0; !err && i < p.count; i++) {
		const struct pair *pair = &p.item[i];
		const struct fb_check check = {
			FB_LEVEL_DOUBT, "link carries its rate",
			fb_new_text("%.4g GB/s or more, %.0f%% of the link's rate",
				    least * pair->link.GBps, 100 * least), pair->link.advice};

		fb_findings_judge(findings, &check, "", pair->best / pair->link.GBps >= least,
				  "%.40s, %.40s: %.4g of %.4g GB/s, by engine %.20s", pair->name,
				  pair->link.kind, pair->best, pair->link.GBps, pair->engine);
	}
	return err == FB_RECORDS_STOP ? FB_OK : err;
}
