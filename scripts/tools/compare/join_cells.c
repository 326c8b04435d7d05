/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows as a table of keys by launches; see comparison.h. */
#include "common/base/error.h"
#include "scripts/tools/compare/comparison.h"
#include "scripts/tools/lib/memory.h"

#include <math.h>

/* "all_reduce ring ll 64", for an error. */
static void name_key(const struct fb_key *key, char *buf, size_t n)
{
	snprintf(buf, n, "%s %s %s %s of %s bytes", fb_key_text(key, "operation"),
		 fb_key_text(key, "engine"), fb_key_text(key, "algorithm"),
		 fb_key_text(key, "protocol"), fb_key_text(key, "bytes"));
}

static int refuse_second(const struct fb_comparison *c, const struct fb_set *set,
			 const struct fb_observation *row)
{
	char name[256];

	name_key(&c->keys.key[row->key], name, sizeof(name));
	return fb_error(FB_EINPUT,
			"%s: launch %llu of run '%s' has two rows of %s: expected one number for "
			"each launch and key",
			set->path, (unsigned long long)set->launch[row->launch].index,
			set->launch[row->launch].run, name);
}

/* What is used of a row that is the last attempt. */
static void count(struct fb_comparison *c, int s, const struct fb_observation *row, double *value)
{
	struct fb_outcome *outcome = &c->outcome[s][row->key];
	bool usable = row->status == FB_STATUS_OK || row->status == FB_STATUS_FEW;

	outcome->status[row->status]++;
	if (!usable || row->marked || c->set[s].launch[row->launch].out)
		return;
	if (!isnan(row->value)) {
		*value = row->value;
		outcome->values++;
	}
	if (!isnan(row->time_us)) {
		outcome->times++;
		outcome->log_us += log((double)row->time_us);
	}
}

static int fill(struct fb_comparison *c, int s, double *value, uint32_t *last)
{
	const struct fb_set *set = &c->set[s];
	size_t cells = c->keys.count * set->nlaunches;

	for (size_t i = 0; i < cells; i++) {
		value[i] = (double)NAN;
		last[i] = UINT32_MAX;
	}
	/* The last attempt counts, and only a fault may be followed by one. */
	for (size_t i = 0; i < set->count; i++) {
		const struct fb_observation *row = &set->row[i];
		uint32_t *at = &last[row->key * set->nlaunches + row->launch];

		if (*at != UINT32_MAX && set->row[*at].status != FB_STATUS_FAULT)
			return refuse_second(c, set, row);
		*at = (uint32_t)i;
	}
	for (size_t i = 0; i < cells; i++)
		if (last[i] != UINT32_MAX)
			count(c, s, &set->row[last[i]], &value[i]);
	return FB_OK;
}

int fb_join_cells(struct fb_comparison *c, double *value[2])
{
	int err = FB_OK;

	for (int s = 0; s < 2 && !err; s++) {
		size_t cells = c->keys.count * c->set[s].nlaunches;
		uint32_t *last;

		if (c->set[s].count >= UINT32_MAX)
			return fb_error(FB_EINPUT, "%s: more than %u rows", c->set[s].path,
					UINT32_MAX);
		value[s] = fb_new(cells + 1, sizeof(*value[s]));
		c->outcome[s] = fb_new(c->keys.count + 1, sizeof(*c->outcome[s]));
		last = fb_new(cells + 1, sizeof(*last));
		err = fill(c, s, value[s], last);
		fb_drop(last);
	}
	return err;
}
