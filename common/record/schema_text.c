/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a row's fields; see schema.h. */
#include "common/record/schema.h"

#include <math.h>
#include <stdio.h>

static void put_chars(const char *text, char *buf, size_t n)
{
	snprintf(buf, n, "%s", text ? text : "");
	for (char *c = buf; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
}

/* Extra columns hold whole numbers in doubles too, hence the formats for them. */
static void put_real(enum fb_column_type type, double value, char *buf, size_t n)
{
	if (!isfinite(value))
		buf[0] = '\0';
	else if (type == FB_COLUMN_TIME_US)
		snprintf(buf, n, "%.4f", value);
	else if (type == FB_COLUMN_U64 || type == FB_COLUMN_I64)
		snprintf(buf, n, "%.0f", value);
	else
		snprintf(buf, n, "%.6g", value);
}

/* The name of an enumerator, or "-" for one that has none. */
static const char *name_of(enum fb_field field, int value)
{
	switch (field) {
	case FB_FIELD_STATUS:
		return fb_status_name((enum fb_status)value);
	case FB_FIELD_STOP:
		return fb_stop_name((enum fb_stop)value);
	case FB_FIELD_CASE_CADENCE:
		return fb_cadence_name((enum fb_cadence)value);
	case FB_FIELD_CASE_DATATYPE:
		return value < FB_DATATYPES ? fb_datatype_name((enum fb_datatype)value) : "-";
	default:
		return value < 0 ? "-" : fb_redop_name((enum fb_redop)value);
	}
}

const char *fb_column_text(const struct fb_column *column, const struct fb_row *row, size_t extra,
			   char *buf, size_t n)
{
	bool in_case = column->field >= FB_FIELD_CASE_TEXT;
	const void *at = (in_case ? (const char *)row->key : (const char *)row) + column->offset;

	switch (column->field) {
	case FB_FIELD_EXTRA:
		put_real(column->type, row->extra ? row->extra[extra] : (double)NAN, buf, n);
		break;
	case FB_FIELD_VERSION:
		snprintf(buf, n, "%d", FB_SCHEMA_VERSION);
		break;
	case FB_FIELD_UTC:
	case FB_FIELD_ROW_TEXT:
	case FB_FIELD_CASE_TEXT:
		put_chars(*(const char *const *)at, buf, n);
		break;
	case FB_FIELD_CASE_CHARS:
		put_chars(at, buf, n);
		break;
	case FB_FIELD_ROW_U64:
	case FB_FIELD_CASE_U64:
		snprintf(buf, n, "%llu", (unsigned long long)*(const uint64_t *)at);
		break;
	case FB_FIELD_ROW_F64:
		put_real(column->type, *(const double *)at, buf, n);
		break;
	case FB_FIELD_CASE_INT:
		snprintf(buf, n, "%d", *(const int *)at);
		break;
	case FB_FIELD_CASE_BOOL:
		snprintf(buf, n, "%s", *(const bool *)at ? "yes" : "no");
		break;
	default: /* enumerators, all of the size of an int */
		snprintf(buf, n, "%s", name_of(column->field, *(const int *)at));
	}
	return buf;
}
