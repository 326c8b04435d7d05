/* SPDX-License-Identifier: BSD-3-Clause */
/* Element types and operations by name, and conversions of single elements; see datatype.h. */
#include "common/base/datatype.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/float16.h"
#include "common/base/float8.h"

const char *const fb_datatype_names[] = {
	[FB_I8] = "i8",	       [FB_U8] = "u8",	 [FB_I32] = "i32",	 [FB_U32] = "u32",
	[FB_I64] = "i64",      [FB_U64] = "u64", [FB_F16] = "f16",	 [FB_BF16] = "bf16",
	[FB_F32] = "f32",      [FB_F64] = "f64", [FB_F8E4M3] = "f8e4m3", [FB_F8E5M2] = "f8e5m2",
	[FB_DATATYPES] = NULL,
};

static const size_t sizes[FB_DATATYPES] = {
	[FB_I8] = 1,  [FB_U8] = 1,   [FB_I32] = 4, [FB_U32] = 4, [FB_I64] = 8,	  [FB_U64] = 8,
	[FB_F16] = 2, [FB_BF16] = 2, [FB_F32] = 4, [FB_F64] = 8, [FB_F8E4M3] = 1, [FB_F8E5M2] = 1,
};

const char *const fb_redop_names[] = {
	[FB_SUM] = "sum", [FB_PROD] = "prod", [FB_MIN] = "min",
	[FB_MAX] = "max", [FB_AVG] = "avg",   [FB_REDOPS] = NULL,
};

static int find(const char *const *names, const char *name)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

size_t fb_datatype_size(enum fb_datatype type)
{
	return sizes[type];
}

const char *fb_datatype_name(enum fb_datatype type)
{
	return fb_datatype_names[type];
}

int fb_datatype_parse(const char *name)
{
	return find(fb_datatype_names, name);
}

bool fb_is_narrow_float(enum fb_datatype type)
{
	return type >= FB_F16 && fb_datatype_size(type) < sizeof(float);
}

const char *fb_redop_name(enum fb_redop op)
{
	return fb_redop_names[op];
}

int fb_redop_parse(const char *name)
{
	return find(fb_redop_names, name);
}

bool fb_can_reduce(enum fb_datatype type, enum fb_redop op)
{
	return type < FB_DATATYPES && op < FB_REDOPS;
}

/* Enough digits to tell any two values of the type apart. */
static void float_text(enum fb_datatype type, uint64_t bits, char *buf, size_t n)
{
	double f64;

	switch (type) {
	case FB_F16:
		snprintf(buf, n, "%.5g", (double)fb_widen_f16((uint16_t)bits));
		break;
	case FB_BF16:
		snprintf(buf, n, "%.4g", (double)fb_widen_bf16((uint16_t)bits));
		break;
	case FB_F32:
		snprintf(buf, n, "%.9g", (double)fb_bits_float((uint32_t)bits));
		break;
	default:
		memcpy(&f64, &bits, sizeof(f64));
		snprintf(buf, n, "%.17g", f64);
	}
}

const char *fb_element_text(enum fb_datatype type, const void *element, char *buf, size_t n)
{
	uint8_t u8 = 0;
	uint16_t u16 = 0;
	uint32_t u32 = 0;
	uint64_t u64 = 0;

	switch (fb_datatype_size(type)) {
	case 1:
		memcpy(&u8, element, 1);
		u64 = u8;
		break;
	case 2:
		memcpy(&u16, element, 2);
		u64 = u16;
		break;
	case 4:
		memcpy(&u32, element, 4);
		u64 = u32;
		break;
	default:
		memcpy(&u64, element, 8);
	}
	if (type == FB_F8E4M3 || type == FB_F8E5M2)
		snprintf(buf, n, "0x%02" PRIx64, u64);
	else if (type >= FB_F16)
		float_text(type, u64, buf, n);
	else if (type == FB_I8)
		snprintf(buf, n, "%d", (int8_t)u8);
	else if (type == FB_I32)
		snprintf(buf, n, "%" PRId32, (int32_t)u32);
	else if (type == FB_I64)
		snprintf(buf, n, "%" PRId64, (int64_t)u64);
	else
		snprintf(buf, n, "%" PRIu64, u64);
	return buf;
}
