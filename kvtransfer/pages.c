/* SPDX-License-Identifier: BSD-3-Clause */
/* Test data of pages in host memory, and what is said of wrong elements; see pages.h. */
#include "kvtransfer/pages.h"

#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "kvtransfer/wire.h"

int fb_kv_canary(enum fb_kv_side side)
{
	return fb_data_poison_byte((unsigned)side + 1);
}

/* As addends elements are integers whose sums are exact, up to 256; else they are any bits. */
struct fb_data fb_kv_data_of(const struct fb_kv_job *job)
{
	return (struct fb_data){.seed = job->seed, .type = job->type, .op = FB_SUM,
				.nranks = 1, .reduces = job->worst != NULL};
}

struct fb_kv_locator fb_kv_locator_of(const struct fb_kv_job *job, enum fb_kv_side side)
{
	const struct fb_kv_shape *s = &job->plan.shape;

	return (struct fb_kv_locator){
		.inverse = job->plan.inverse[side], .pool = fb_kv_pool(s),
		.heads = fb_kv_heads(s, side), .block_tokens = s->block_tokens,
		.head_dim = s->head_dim, .kv_heads = s->kv_heads, .tokens = s->tokens,
		.first_head = fb_kv_first_head(s, side, (uint32_t)job->index[side]),
		.hnd = fb_kv_is_hnd(s, side), .grouped = fb_kv_grouped(s, side),
	};
}

void fb_kv_print_wrong(const struct fb_kv_job *job, enum fb_kv_side side, uint64_t place,
		       const struct fb_mismatch *bad)
{
	const struct fb_kv_locator locator = fb_kv_locator_of(job, side);
	struct fb_kv_place at = fb_kv_locate(&locator, place);
	const char *group = side == FB_KV_PREFILL ? "prefill" : "decode";

	if (at.used)
		fb_error_print("rank %d, %s rank %d: layer %u %c, head %u, token %u, element %u "
			       "(page %u) is %s, expected %s", job->rank, group, job->index[side],
			       at.region / 2, "KV"[at.region % 2], at.model_head, at.request_token,
			       at.element, at.page, bad->got, bad->expected);
	else
		fb_error_print("rank %d, %s rank %d: layer %u %c, page %u, own head %u, token %u "
			       "of the page, which is none of the request's, was written: %s",
			       job->rank, group, job->index[side], at.region / 2,
			       "KV"[at.region % 2], at.page, at.head, at.token, bad->got);
}

/* Neighbouring elements that are all of the request, or all not. */
struct span {
	char *at;
	uint64_t place; /* of the first in the area */
	uint64_t elements, index;
	bool used;
};

typedef int (*visit_fn)(void *arg, const struct span *span);

/* A page's rows (a head's tokens, or a token's heads) by spans. */
static int visit_page(const struct fb_kv_job *job, enum fb_kv_side side, uint32_t region,
		      uint32_t page, visit_fn visit, void *arg)
{
	const struct fb_kv_shape *s = &job->plan.shape;
	uint32_t heads = fb_kv_heads(s, side);
	uint32_t first = fb_kv_first_head(s, side, (uint32_t)job->index[side]);
	int32_t block = job->plan.inverse[side][page];
	uint32_t fill = block < 0 ? 0 : fb_kv_block_fill(s, (uint32_t)block);
	char *base = fb_kv_region_of(job, job->rank, side, 0);
	int err = base ? FB_OK : FB_ESYS;

	for (uint32_t h = 0; h < heads; h++)
		for (uint32_t t = 0; t < s->block_tokens && !err; t++) {
			uint64_t offset = fb_kv_offset(s, side, region, page, h, t);
			struct span span = {.at = base + offset, .elements = s->head_dim,
					    .place = offset / s->element_bytes, .used = t < fill};

			if (span.used)
				span.index = fb_kv_index(s, region, first + h,
							 (uint32_t)block * s->block_tokens + t);
			err = visit(arg, &span);
		}
	return err;
}

static int visit_all(const struct fb_kv_job *job, enum fb_kv_side side, visit_fn visit, void *arg)
{
	const struct fb_kv_shape *s = &job->plan.shape;
	int err = FB_OK;

	for (uint32_t region = 0; region < fb_kv_regions(s); region++)
		for (uint32_t page = 0; page < fb_kv_pool(s) && !err; page++)
			err = visit_page(job, side, region, page, visit, arg);
	return err;
}

struct visitor {
	const struct fb_kv_job *job;
	enum fb_kv_side side;
	struct fb_data data;
	struct fb_mismatch *bad;
};

static int fill_span(void *arg, const struct span *span)
{
	const struct visitor *v = arg;

	if (span->used)
		fb_data_fill(&v->data, 0, span->index, span->at, span->elements);
	return FB_OK;
}

static struct visitor visitor_of(const struct fb_kv_job *job, enum fb_kv_side side,
				 struct fb_mismatch *bad)
{
	return (struct visitor){job, side, fb_kv_data_of(job), bad};
}

static int host_fill(const struct fb_kv_job *job, enum fb_kv_side side, bool empty)
{
	struct visitor v = visitor_of(job, side, NULL);

	memset(fb_kv_region_of(job, job->rank, side, 0), fb_kv_canary(side),
	       fb_kv_area_bytes(&job->plan.shape, side));
	return empty ? FB_OK : visit_all(job, side, fill_span, &v);
}

/* The first wrong element of all is kept, and printed. */
static void found(const struct visitor *v, const struct span *span, const struct fb_mismatch *in)
{
	uint64_t before = v->bad->errors, first = in->index - (span->used ? span->index : 0);

	if (before == 0) {
		*v->bad = *in;
		fb_kv_print_wrong(v->job, v->side, span->place + first, in);
	}
	v->bad->errors = before + in->errors;
}

/* Elements that were quantised on their way: as near as that allows. */
static void check_close(const struct visitor *v, const struct span *span, struct fb_mismatch *in)
{
	enum { SOME = 256 };
	uint16_t wanted[SOME], got;
	float relative;

	for (uint64_t k = 0; k < span->elements; k++) {
		if (k % SOME == 0)
			fb_data_fill(&v->data, 0, span->index + k, wanted,
				     span->elements - k < SOME ? span->elements - k : SOME);
		memcpy(&got, span->at + k * sizeof(got), sizeof(got));
		if (fb_kv_fp8_is_near(wanted[k % SOME], got, &relative)) {
			if ((double)relative > *v->job->worst)
				*v->job->worst = (double)relative;
			continue;
		}
		if (in->errors++)
			continue;
		in->index = span->index + k;
		snprintf(in->got, sizeof(in->got), "%g", (double)fb_widen_bf16(got));
		snprintf(in->expected, sizeof(in->expected), "%g quantised",
			 (double)fb_widen_bf16(wanted[k % SOME]));
	}
}

static int check_span(void *arg, const struct span *span)
{
	const struct visitor *v = arg;
	uint32_t size = v->job->plan.shape.element_bytes;
	unsigned char canary = (unsigned char)fb_kv_canary(v->side);
	const unsigned char *at = (const unsigned char *)span->at;
	struct fb_mismatch in = {.errors = 0};

	if (span->used) {
		if (v->job->worst && v->side == FB_KV_DECODE)
			check_close(v, span, &in);
		else
			fb_data_check(&v->data, 0, span->index, at, span->elements, &in);
		if (in.errors)
			found(v, span, &in);
		return FB_OK;
	}
	for (uint64_t i = 0; i < span->elements * size; i++) {
		if (at[i] == canary)
			continue;
		in.errors = 1;
		in.index = i / size;
		snprintf(in.got, sizeof(in.got), "byte 0x%02x", at[i]);
		snprintf(in.expected, sizeof(in.expected), "canary 0x%02x", canary);
		found(v, span, &in);
		break;
	}
	return FB_OK;
}

static int host_check(const struct fb_kv_job *job, enum fb_kv_side side, struct fb_mismatch *bad)
{
	struct visitor v = visitor_of(job, side, bad);

	return visit_all(job, side, check_span, &v);
}

const struct fb_kv_pages_ops fb_kv_pages_host = {.fill = host_fill, .check = host_check};
const struct fb_kv_pages_ops fb_kv_pages_gpu = {.fill = fb_kv_gpu_fill,
						.check = fb_kv_gpu_check};
