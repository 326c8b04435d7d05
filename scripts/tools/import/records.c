/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections and records as the formats fill them; see import.h. */
#include "common/base/error.h"
#include "scripts/tools/import/import.h"
#include "scripts/tools/lib/memory.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define COLUMN(name_, type_, unit_, help_)                                                         \
	{                                                                                          \
		.name = (name_), .kind = FB_COLUMN_VALUE, .type = (type_), .unit = (unit_),        \
		.help = (help_)                                                                    \
	}
#define EXTRA(name, unit, help) COLUMN(name, FB_COLUMN_F64, unit, help)
#define TIME(name, help)	COLUMN(name, FB_COLUMN_TIME_US, "us", help)

const struct fb_column fb_import_extras[FB_EXTRAS] = {
	[FB_EXTRA_ITERATIONS] = EXTRA("iterations", "", "calls behind the tool's figure"),
	[FB_EXTRA_MEAN_US] = TIME("mean_us", "mean over calls"),
	[FB_EXTRA_RANK_MAX_US] = TIME("rank_max_us", "slowest rank's mean"),
	[FB_EXTRA_STDEV_US] = TIME("stdev_us", "as the tool says"),
	[FB_EXTRA_REPORTED_MIN_US] = TIME("reported_min_us", "as the tool says"),
	[FB_EXTRA_REPORTED_MAX_US] = TIME("reported_max_us", "as the tool says"),
	[FB_EXTRA_REPORTED_P95_US] = TIME("reported_p95_us", "as the tool says"),
	[FB_EXTRA_REPORTED_P99_US] = TIME("reported_p99_us", "as the tool says"),
	[FB_EXTRA_REPORTED_P999_US] = TIME("reported_p999_us", "as the tool says"),
	[FB_EXTRA_PEAK_GBPS] = EXTRA("peak_GBps", "GB/s", "greatest rate of a stretch of calls"),
	[FB_EXTRA_RATE_MPS] = EXTRA("rate_Mps", "M/s", "messages, in millions per second"),
	[FB_EXTRA_OVERLAP_PERCENT] = EXTRA("overlap_percent", "%", "as the tool says"),
	[FB_EXTRA_CPU_PERCENT] = EXTRA("cpu_percent", "%", "as the tool says"),
};

static struct fb_import_section *current(struct fb_import *import)
{
	return &import->section[import->nsections - 1];
}

/* Whether a program's name can be part of a file's name. */
static bool good_program(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n < sizeof(((struct fb_import_section *)0)->program) && *name != '.' &&
	       strcmp(name, "samples") && strcmp(name, "environment") &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789_.+-") == n;
}

void fb_import_tag(struct fb_import *import, const char *key, const char *value)
{
	char text[FB_VARIANT_CHARS];

	snprintf(text, sizeof(text), "%s", value);
	for (char *c = text; *c; c++)
		if (*c == ';' || *c == '=')
			*c = ',';
	fb_facts_add(&current(import)->tags, key, "%s", text);
}

static void add_tags(struct fb_import *import, const struct fb_facts *facts)
{
	for (size_t i = 0; i < facts->count; i++)
		fb_import_tag(import, facts->item[i].key, facts->item[i].value);
}

int fb_import_begin(struct fb_import *import, const struct fb_text *text, const char *program,
		    const char *path)
{
	struct fb_import_section *section;

	if (!good_program(program))
		return fb_error(FB_EINPUT, "%s: program '%.80s' cannot name a file", text->path,
				program);
	section = FB_ADD(import->section, import->nsections);
	*section = (struct fb_import_section){.file = text->path, .hash = text->hash};
	snprintf(section->program, sizeof(section->program), "%s", program);
	snprintf(section->path, sizeof(section->path), "%s", path);
	memcpy(section->utc, text->utc, sizeof(section->utc));
	add_tags(import, &import->config.script);
	add_tags(import, &import->config.command);
	import->config.used = true;
	return FB_OK;
}

int fb_import_size(struct fb_import *import, const struct fb_text *text, size_t line,
		   uint64_t ranks, uint64_t nodes, uint64_t usual)
{
	struct fb_import_section *section = current(import);

	section->ranks = ranks ? ranks : import->hints.ranks;
	section->nodes = nodes ? nodes : import->hints.nodes;
	if (!section->ranks)
		return fb_error(FB_EINPUT,
				"%s:%zu: %s does not say how many ranks took part: give --ranks N",
				text->path, line, section->program);
	if (!section->nodes) {
		section->nodes = usual < section->ranks ? usual : section->ranks;
		section->nodes_assumed = true;
	}
	if (section->nodes > section->ranks)
		return fb_error(FB_EINPUT, "%s:%zu: %llu nodes for %llu ranks of %s", text->path,
				line, (unsigned long long)section->nodes,
				(unsigned long long)section->ranks, section->program);
	return FB_OK;
}

void fb_import_fact(struct fb_import *import, const char *key, const char *value)
{
	fb_facts_add(&current(import)->facts, key, "%s", value);
}

struct fb_import_record *fb_import_add(struct fb_import *import, size_t line)
{
	struct fb_import_section *section = current(import);
	struct fb_import_record *record = fb_new(1, sizeof(*record));

	*FB_ADD(import->record, import->nrecords) = record;
	record->key = (struct fb_case){
		.operation = record->operation,
		.engine = "-",
		.algorithm = "library",
		.protocol = "library",
		.transport = "library",
		.memory = "-",
		.registration = "-",
		.launch = "-",
		.cadence = FB_STREAMING,
		.datatype = FB_DATATYPES,
		.redop = -1,
		.root = -1,
	};
	record->row = fb_row_empty(&record->key);
	record->row.status = FB_STATUS_FEW;
	record->row.ranks = section->ranks;
	record->row.nodes = section->nodes;
	for (size_t i = 0; i < FB_EXTRAS; i++)
		record->extra[i] = (double)NAN;
	record->counted_bytes = record->bus_factor = (double)NAN;
	record->section = import->nsections - 1;
	record->line = line;
	if (section->nodes_assumed)
		fb_import_flag(record, "nodes_assumed");
	return record;
}

void fb_import_sample(struct fb_import_record *record, double us)
{
	*FB_ADD(record->sample, record->nsamples) = us;
}

int fb_import_mean(struct fb_import_record *record, double us, double iterations,
		   double counted_bytes, double bus_factor)
{
	record->extra[FB_EXTRA_ITERATIONS] = iterations;
	record->counted_bytes = counted_bytes;
	record->bus_factor = bus_factor;
	fb_import_sample(record, us);
	if (*record->reason)
		return FB_OK;
	if (isfinite(iterations))
		snprintf(record->reason, sizeof(record->reason), "one mean of %.0f iterations",
			 iterations);
	else
		snprintf(record->reason, sizeof(record->reason),
			 "one mean of an unknown number of iterations");
	return FB_OK;
}

void fb_import_flag(struct fb_import_record *record, const char *flag)
{
	size_t used = strlen(record->flags);

	snprintf(record->flags + used, sizeof(record->flags) - used, "%s%s", used ? ";" : "", flag);
}

void fb_import_variant(struct fb_import_record *record, const char *key, const char *fmt, ...)
{
	size_t used = strlen(record->key.variant);
	char *value = record->key.variant + used;
	size_t room = sizeof(record->key.variant) - used;
	va_list args;
	int n = snprintf(value, room, "%s%s=", used ? ";" : "", key);

	if (n < 0 || (size_t)n >= room)
		return;
	va_start(args, fmt);
	vsnprintf(value + n, room - (size_t)n, fmt, args);
	va_end(args);
	for (char *c = value + n; *c; c++)
		if (*c == ';' || *c == '=')
			*c = '_';
}
void fb_import_free(struct fb_import *import)
{
	for (size_t i = 0; i < import->nsections; i++) {
		fb_facts_free(&import->section[i].facts);
		fb_facts_free(&import->section[i].tags);
	}
	fb_config_free(&import->config);
	*import = (struct fb_import){.nsections = 0};
}
