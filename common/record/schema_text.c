/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a row's fields, one small function per place where a field can be; see schema.h. */
#include "common/record/schema.h"

#include <math.h>
#include <stdio.h>

/* `at` is the field's address: inside the row, its case, or its extra values. */
typedef void (*text_fn)(const struct fb_column *column, const void *at, char *buf, size_t n);

static void text_chars(const struct fb_column *column, const void *at, char *buf, size_t n)
{
	(void)column;
	snprintf(buf, n, "%s", (const char *)at);
	for (char *c = buf; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
}

static void text_pointer(const struct fb_column *column, const void *at, char *buf, size_t n)
{
	const char *const *text = at;

	text_chars(column, *text ? *text : "", buf, n);
}

static void text_version(const struct fb_column *column, const void *at, char *buf, size_t n)
{
	(void)column, (void)at;
	snprintf(buf, n, "%d", FB_SCHEMA_VERSION);
}

static void text_status(const struct fb_column *column, const void *at, char *buf, size_t n)
{
	const enum fb_status *status = at;

	(void)column;
	snprintf(buf, n, "%s", fb_status_name(*status));
}

static void text_stop(const struct fb_column *column, const void *at, char *buf, size_t n)
{
	const enum fb_stop *stop = at;

	(void)column;
	snprintf(buf, n, "%s", fb_stop_name(*stop));
}

static void text_u64(const struct fb_column *column, const void *at, char *buf, size_t n)
{
	const uint64_t *value = at;

	(void)column;
	snprintf(buf, n, "%llu", (unsigned long long)*value);
}

static void text_int(const struct fb_column *column, const void *at, char *buf, size_t n)
{
	const int *value = at;

	(void)column;
	snprintf(buf, n, "%d", *value);
}

/* Extra columns hold whole numbers in doubles too, hence the formats for them. */
static void text_f64(const struct fb_column *column, const void *at, char *buf, size_t n)
{
	const double *value = at;

	if (!isfinite(*value))
		buf[0] = '\0';
	else if (column->type == FB_COLUMN_TIME_US)
		snprintf(buf, n, "%.4f", *value);
	else if (column->type == FB_COLUMN_U64 || column->type == FB_COLUMN_I64)
		snprintf(buf, n, "%.0f", *value);
	else
		snprintf(buf, n, "%.6g", *value);
}

static void text_bool(const struct fb_column *column, const void *at, char *buf, size_t n)
{
	const bool *value = at;

	(void)column;
	snprintf(buf, n, "%s", *value ? "yes" : "no");
}

static void text_cadence(const struct fb_column *column, const void *at, char *buf, size_t n)
{
	const enum fb_cadence *cadence = at;

	(void)column;
	snprintf(buf, n, "%s", fb_cadence_name(*cadence));
}

static void text_datatype(const struct fb_column *column, const void *at, char *buf, size_t n)
{
	const enum fb_datatype *type = at;

	(void)column;
	snprintf(buf, n, "%s", *type < FB_DATATYPES ? fb_datatype_name(*type) : "-");
}

static void text_redop(const struct fb_column *column, const void *at, char *buf, size_t n)
{
	const int *op = at;

	(void)column;
	snprintf(buf, n, "%s", *op < 0 ? "-" : fb_redop_name((enum fb_redop) * op));
}

static const struct {
	text_fn text;
	bool in_case; /* the offset is into the case, not the row */
} fields[] = {
	[FB_FIELD_EXTRA] = {text_f64, false},
	[FB_FIELD_VERSION] = {text_version, false},
	[FB_FIELD_UTC] = {text_pointer, false},
	[FB_FIELD_STATUS] = {text_status, false},
	[FB_FIELD_STOP] = {text_stop, false},
	[FB_FIELD_ROW_TEXT] = {text_pointer, false},
	[FB_FIELD_ROW_U64] = {text_u64, false},
	[FB_FIELD_ROW_F64] = {text_f64, false},
	[FB_FIELD_CASE_TEXT] = {text_pointer, true},
	[FB_FIELD_CASE_CHARS] = {text_chars, true},
	[FB_FIELD_CASE_INT] = {text_int, true},
	[FB_FIELD_CASE_U64] = {text_u64, true},
	[FB_FIELD_CASE_BOOL] = {text_bool, true},
	[FB_FIELD_CASE_CADENCE] = {text_cadence, true},
	[FB_FIELD_CASE_DATATYPE] = {text_datatype, true},
	[FB_FIELD_CASE_REDOP] = {text_redop, true},
};

const char *fb_column_text(const struct fb_column *column, const struct fb_row *row, size_t extra,
			   char *buf, size_t n)
{
	const char *base =
		fields[column->field].in_case ? (const char *)row->key : (const char *)row;

	if (column->field != FB_FIELD_EXTRA)
		fields[column->field].text(column, base + column->offset, buf, n);
	else if (row->extra)
		fields[FB_FIELD_EXTRA].text(column, &row->extra[extra], buf, n);
	else
		buf[0] = '\0';
	return buf;
}
