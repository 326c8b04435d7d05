/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Element types and reduction operations, and the kernels that apply them.
 *
 * The kernels are the inner loops of every engine that computes on the host, so they are
 * written for auto-vectorisation: one function per (type, operation), found once per plan.
 */
#ifndef FB_COMMON_BASE_DATATYPE_H
#define FB_COMMON_BASE_DATATYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fb_datatype {
	FB_I8,
	FB_U8,
	FB_I32,
	FB_U32,
	FB_I64,
	FB_U64,
	FB_F16,
	FB_BF16,
	FB_F32,
	FB_F64,
	FB_F8E4M3,
	FB_F8E5M2,
	FB_DATATYPES,
};

enum fb_redop { FB_SUM, FB_PROD, FB_MIN, FB_MAX, FB_AVG, FB_REDOPS };

/* The names of both, in the order of the enumerators, ending in NULL. */
extern const char *const fb_datatype_names[], *const fb_redop_names[];

/* Bytes per element. */
size_t fb_datatype_size(enum fb_datatype type);

/* "i8", "u32", "bf16", "f8e4m3", ... */
const char *fb_datatype_name(enum fb_datatype type);

/* Parses a name; returns the type or -1. */
int fb_datatype_parse(const char *name);

/* Whether it is a float of 8 or 16 bits, which is computed with as f32. */
bool fb_is_narrow_float(enum fb_datatype type);

/* "sum", "prod", "min", "max", "avg". */
const char *fb_redop_name(enum fb_redop op);
int fb_redop_parse(const char *name);

/* Whether the operation is defined for the type: all five are for every type. */
bool fb_can_reduce(enum fb_datatype type, enum fb_redop op);

/*
 * dst[i] = a[i] op b[i] for i in [0, count). dst may be equal to a or to b, but may not overlap
 * them otherwise. No alignment beyond the element's own is needed. 8- and 16-bit floats are
 * widened to f32, combined, and rounded to nearest even once per call; those of 8 bits saturate.
 * FB_AVG combines like FB_SUM: the division is fb_finish's. Integers wrap.
 */
typedef void (*fb_combine_fn)(void *dst, const void *a, const void *b, size_t count);
fb_combine_fn fb_combine(enum fb_datatype type, enum fb_redop op);

/*
 * Turns a complete sum into an average in place: data[i] /= nranks (integers truncate towards
 * zero). Returns NULL for every operation that needs no finishing, so callers test once.
 */
typedef void (*fb_finish_fn)(void *data, size_t count, int nranks);
fb_finish_fn fb_finish(enum fb_datatype type, enum fb_redop op);

/* One element as text, for error messages ("1.5", "-3", "0x7e"). Returns buf. */
const char *fb_element_text(enum fb_datatype type, const void *element, char *buf, size_t n);

#endif
