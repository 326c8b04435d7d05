/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that measured rates are near the rates of the machine's links; see doctor.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "scripts/tools/doctor/doctor.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/records.h"

enum { MOST_WAYS = 64, NAME_CHARS = 120 };
enum column { OPERATION, ENGINE, MEMORY, BYTES, STATUS, EFFICIENCY, COLUMNS };

static const char *const names[COLUMNS] = {"operation", "engine", "memory",
					   "bytes",	"status", "efficiency"};
static const double large = 1 << 20;

struct rates {
	int at[COLUMNS];
	bool has;
	size_t count;
	char way[MOST_WAYS][NAME_CHARS], by[MOST_WAYS][NAME_CHARS];
	double best[MOST_WAYS];
};

static int add(void *arg, const struct fb_record *record)
{
	struct rates *r = arg;
	char way[NAME_CHARS];
	double share;
	size_t i;

	if (record->number == 1) {
		r->has = true;
		for (int c = 0; c < COLUMNS; c++) {
			r->at[c] = fb_record_find(record, names[c]);
			r->has &= r->at[c] >= 0;
		}
		return r->has ? FB_OK : FB_RECORDS_STOP;
	}
	share = strtod(record->field[r->at[EFFICIENCY]], NULL);
	if (strcmp(record->field[r->at[STATUS]], "ok") || !(share > 0) ||
	    strtod(record->field[r->at[BYTES]], NULL) < large)
		return FB_OK;
	snprintf(way, sizeof(way), "%.40s in memory %.30s", record->field[r->at[OPERATION]],
		 record->field[r->at[MEMORY]]);
	for (i = 0; i < r->count && strcmp(r->way[i], way); i++)
		;
	if (i == MOST_WAYS)
		return FB_OK;
	if (i == r->count)
		memcpy(r->way[r->count++], way, sizeof(way));
	if (share > r->best[i]) {
		r->best[i] = share;
		snprintf(r->by[i], sizeof(r->by[i]), "%.60s", record->field[r->at[ENGINE]]);
	}
	return FB_OK;
}

int fb_doctor_rates(const char *path, double least, struct fb_findings *findings)
{
	struct rates *r = fb_new(1, sizeof(*r));
	int err = fb_records_read(path, add, r, NULL);

	for (size_t i = 0; !err && i < r->count; i++) {
		const struct fb_check check = {
			FB_LEVEL_DOUBT, "rate of large messages",
			fb_new_text("%.2f or more", least),
			"so far below what link or memory allow, something is configured wrongly: "
			"another path than meant (see column path), a link that negotiated less, "
			"throttling, ranks bound to far processors, other load"};

		fb_findings_judge(findings, &check, "", r->best[i] >= least,
				  "%s: %.2f of the bound, by engine %.30s", r->way[i], r->best[i],
				  r->by[i]);
	}
	return err == FB_RECORDS_STOP ? FB_OK : err;
}
