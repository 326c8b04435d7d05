/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads what nvbandwidth -j prints. Numbers of a matrix are texts. Test cases with three matrices
 * (both directions and their sum) put the rows of all three into one matrix, with the description
 * of the last one. So such a matrix has three times as many rows as columns.
 */
#include "common/base/error.h"
#include "scripts/tools/import/json.h"
#include "scripts/tools/import/nvbandwidth.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static void take_run(const json_t *root, struct fb_nvbandwidth_run *run)
{
	const char *device =
		json_string_value(json_array_get(json_object_get(root, "GPU Device list"), 0));
	double cuda = fb_json_number(root, "CUDA Runtime Version");

	*run = (struct fb_nvbandwidth_run){.processes = 0};
	fb_text_copy(fb_json_text(root, "version"), "", run->version, sizeof(run->version));
	fb_text_copy(fb_json_text(root, "Driver Version"), "", run->driver, sizeof(run->driver));
	if (isfinite(cuda))
		snprintf(run->cuda, sizeof(run->cuda), "%.0f", cuda);
	/* "0: NVIDIA H100 80GB HBM3 (00000000:04:00): (host)" */
	if (device && strstr(device, ": "))
		fb_text_copy(strstr(device, ": ") + 2, "(", run->gpu, sizeof(run->gpu));
}

/* The matrix that a row of several belongs to; the last one's name is the description's. */
static void name_matrix(size_t row, size_t columns, size_t rows, const char *description,
			struct fb_nvbandwidth_cell *cell)
{
	bool read = strstr(cell->testcase, "read") != NULL;
	bool several = columns > 0 && rows == 3 * columns;

	fb_nvbandwidth_matrix(description, cell->matrix, sizeof(cell->matrix));
	if (*cell->matrix && several && row < 2 * columns)
		snprintf(cell->matrix, sizeof(cell->matrix), "%s%d", read ? "Read" : "Write",
			 row < columns ? 1 : 2);
	snprintf(cell->row, sizeof(cell->row), "%zu", several ? row % columns : row);
}

static int take_matrix(struct fb_import *import, const struct fb_text *text,
		       const struct fb_nvbandwidth_run *run, size_t index, const json_t *testcase)
{
	const json_t *matrix = json_object_get(testcase, "bandwidth_matrix");
	struct fb_nvbandwidth_cell cell = {
		.testcase = fb_json_text(testcase, "name"),
		.description = fb_json_text(testcase, "bandwidth_description"),
	};
	size_t rows = json_array_size(matrix);
	int err = FB_OK;

	for (size_t r = 0; r < rows; r++) {
		const json_t *row = json_array_get(matrix, r);
		size_t columns = json_array_size(row);

		name_matrix(r, columns, rows, cell.description, &cell);
		for (size_t c = 0; c < columns && !err; c++) {
			const json_t *entry = json_array_get(row, c);
			double value = fb_json_value(entry);

			snprintf(cell.column, sizeof(cell.column), "%zu", c);
			if (isfinite(value))
				err = fb_nvbandwidth_add(import, index + 1, run, &cell, value);
			else if (!json_is_string(entry) || strcmp(json_string_value(entry), "N/A"))
				return fb_error(FB_EINPUT,
						"%s: test case %s, row %zu, column %zu: "
						"no number",
						text->path, cell.testcase, r, c);
		}
		if (err)
			return err;
	}
	return FB_OK;
}

static int take_testcase(struct fb_import *import, const struct fb_text *text,
			 const struct fb_nvbandwidth_run *run, size_t index, const json_t *testcase)
{
	const char *name = fb_json_text(testcase, "name");
	const char *status = fb_json_text(testcase, "status");
	const char *error = fb_json_text(testcase, "error");

	if (!*name)
		return fb_error(FB_EINPUT, "%s: test case %zu has no name", text->path, index + 1);
	if (json_array_size(json_object_get(testcase, "bandwidth_matrix")))
		return take_matrix(import, text, run, index, testcase);
	return fb_nvbandwidth_add_none(import, index + 1, name, strcmp(status, "Waived") != 0,
				       *error ? error : status);
}

int fb_nvbandwidth_json_read(struct fb_import *import, const struct fb_text *text)
{
	struct fb_text body = *text;
	const json_t *root, *testcases;
	struct fb_nvbandwidth_run run;
	json_t *document;
	int err;

	/* Warnings of a launcher may stand before the document. */
	body.bytes = strchr(text->bytes, '{');
	if (!body.bytes)
		return fb_error(FB_EINPUT, "%s:1: expected an object in braces", text->path);
	body.length -= (size_t)(body.bytes - text->bytes);
	document = fb_json_parse(&body);
	if (!document)
		return FB_EINPUT;
	root = json_object_get(document, "nvbandwidth");
	testcases = json_object_get(root, "testcases");
	take_run(root, &run);
	err = fb_nvbandwidth_begin(import, text, &run);
	for (size_t i = 0; i < json_array_size(testcases) && !err; i++)
		err = take_testcase(import, text, &run, i, json_array_get(testcases, i));
	json_decref(document);
	return err;
}
