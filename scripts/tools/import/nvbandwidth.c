/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of nvbandwidth; see nvbandwidth.h. A value is the median of a few samples (3 by default),
 * each of 16 copies of a buffer. It prints neither the number of samples nor the buffer's size, so
 * the time of a copy is computed with the default size, and the row says so.
 */
#include "common/base/error.h"
#include "scripts/tools/import/nvbandwidth.h"
#include "scripts/tools/lib/text.h"

#include <math.h>
#include <string.h>

static const uint64_t MiB = UINT64_C(1) << 20;

/* 64 MiB up to version 0.6, 512 MiB since. */
static uint64_t usual_bytes(const struct fb_nvbandwidth_run *run)
{
	unsigned int major = 0, minor = 0;

	if (sscanf(run->version, "v%u.%u", &major, &minor) != 2)
		return 512 * MiB;
	return major == 0 && minor < 7 ? 64 * MiB : 512 * MiB;
}

int fb_nvbandwidth_begin(struct fb_import *import, const struct fb_text *text,
			 const struct fb_nvbandwidth_run *run)
{
	char path[128];
	int err;

	snprintf(path, sizeof(path), "nvbandwidth%s%s", *run->version ? " " : "", run->version);
	err = fb_import_begin(import, text, "nvbandwidth", path);
	if (!err)
		err = fb_import_size(import, text, 1, run->processes ? run->processes : 1,
				     run->hosts ? run->hosts : 1, 1);
	if (err)
		return err;
	fb_import_fact(import, "nvbandwidth.version", run->version);
	fb_import_fact(import, "gpu.driver", run->driver);
	fb_import_fact(import, "cuda.version", run->cuda);
	fb_import_fact(import, "gpu.name", run->gpu);
	return FB_OK;
}

static struct fb_import_record *add(struct fb_import *import, size_t line, const char *testcase)
{
	struct fb_import_record *record = fb_import_add(import, line);
	size_t n = strlen(testcase);

	if (!record)
		return NULL;
	snprintf(record->operation, sizeof(record->operation), "%s", testcase);
	record->key.engine = "cuda";
	record->key.algorithm = n > 3 && !strcmp(testcase + n - 3, "_sm")   ? "sm"
				: n > 3 && !strcmp(testcase + n - 3, "_ce") ? "ce"
									    : "-";
	record->key.protocol = "-";
	record->key.memory = "device";
	record->key.launch = "stream";
	record->key.registration = "none";
	return record;
}

int fb_nvbandwidth_add(struct fb_import *import, size_t line, const struct fb_nvbandwidth_run *run,
		       const struct fb_nvbandwidth_cell *cell, double value)
{
	bool latency = strstr(cell->description, "(ns)") != NULL;
	bool both = strstr(cell->testcase, "bidirectional") != NULL;
	struct fb_import_record *record = add(import, line, cell->testcase);

	if (*cell->column)
		fb_import_variant(record, "column", "%s", cell->column);
	if (*cell->matrix)
		fb_import_variant(record, "matrix", "%s", cell->matrix);
	if (*cell->row)
		fb_import_variant(record, "row", "%s", cell->row);
	snprintf(record->reason, sizeof(record->reason), "one figure of an unknown number of %s",
		 latency ? "accesses" : "samples");
	if (latency)
		return fb_import_mean(record, value * 1e-3, (double)NAN, (double)NAN, (double)NAN);
	record->key.bytes = import->hints.bytes ? import->hints.bytes : usual_bytes(run);
	if (!import->hints.bytes)
		fb_import_flag(record, "bytes_assumed");
	if (!(value > 0)) {
		record->row.status = FB_STATUS_SKIPPED;
		snprintf(record->reason, sizeof(record->reason), "reported as 0");
		return FB_OK;
	}
	return fb_import_mean(record, (double)record->key.bytes / value * 1e-3, (double)NAN,
			      (double)record->key.bytes, both ? (double)NAN : 1);
}

int fb_nvbandwidth_add_none(struct fb_import *import, size_t line, const char *testcase,
			    bool failed, const char *why)
{
	struct fb_import_record *record = add(import, line, testcase);

	record->row.status = failed ? FB_STATUS_FAULT : FB_STATUS_SKIPPED;
	snprintf(record->reason, sizeof(record->reason), "%s", *why ? why : "no reason given");
	return FB_OK;
}

const char *fb_nvbandwidth_matrix(const char *description, char *buf, size_t n)
{
	static const char *const names[] = {"Read1", "Read2", "Write1", "Write2", "Total"};

	buf[0] = '\0';
	for (size_t i = 0; i < FB_COUNT_OF(names); i++)
		if (strstr(description, names[i]))
			snprintf(buf, n, "%s", names[i]);
	return buf;
}
