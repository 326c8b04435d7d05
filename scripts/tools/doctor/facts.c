/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts of an environment.csv; see doctor.h. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "scripts/tools/doctor/doctor.h"
#include "scripts/tools/lib/records.h"

enum { SCOPE, HOST, RANK, KEY, VALUE, COLUMNS };

static bool is_known(const struct fb_node_facts *facts, const char *host)
{
	for (size_t i = 0; i < facts->count; i++)
		if (!strcmp(facts->item[i].host, host))
			return true;
	return false;
}

/* A host whose ranks differ in a fact keeps that of its first rank. */
static int add(void *arg, const struct fb_record *record)
{
	struct fb_node_facts *facts = arg;
	struct fb_node_fact *more, *fact;

	if (record->number == 1 || record->count < COLUMNS ||
	    !strncmp(record->field[KEY], "program.", strlen("program.")))
		return FB_OK;
	for (size_t i = 0; i < facts->count; i++)
		if (!strcmp(facts->item[i].host, record->field[HOST]) &&
		    !strcmp(facts->item[i].key, record->field[KEY]))
			return FB_OK;
	more = realloc(facts->item, (facts->count + 1) * sizeof(*more));
	if (!more)
		return fb_error(FB_ENOMEM, "out of memory for facts");
	facts->item = more;
	if (*record->field[HOST] && !is_known(facts, record->field[HOST]))
		facts->hosts++;
	fact = &facts->item[facts->count++];
	fact->host = strdup(record->field[HOST]);
	fact->key = strdup(record->field[KEY]);
	fact->value = strdup(record->field[VALUE]);
	return fact->host && fact->key && fact->value
		       ? FB_OK : fb_error(FB_ENOMEM, "out of memory for facts");
}

int fb_node_facts_read(struct fb_node_facts *facts, const char *path)
{
	int err;

	*facts = (struct fb_node_facts){.count = 0};
	err = fb_records_read(path, add, facts, NULL);
	if (!facts->hosts)
		facts->hosts = 1;
	return !err && !facts->count
		       ? fb_error(FB_EINPUT, "%s: no facts: expected an environment.csv", path)
		       : err;
}

void fb_node_facts_free(struct fb_node_facts *facts)
{
	for (size_t i = 0; i < facts->count; i++) {
		free(facts->item[i].host);
		free(facts->item[i].key);
		free(facts->item[i].value);
	}
	free(facts->item);
	*facts = (struct fb_node_facts){.count = 0};
}

const char *fb_node_fact(const struct fb_node_facts *facts, const char *host, const char *key)
{
	const char *value = NULL;

	for (size_t i = 0; i < facts->count; i++) {
		const struct fb_node_fact *f = &facts->item[i];

		if (strcmp(f->key, key))
			continue;
		if (!strcmp(f->host, host))
			return f->value;
		if (!*f->host)
			value = f->value;
	}
	return value;
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
