/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels of the GPU that works (cudart_works.c): those that fill and check pages of a KV cache
 * (kvtransfer/pages.cu), at once, and those of fresh data (common/cuda/fresh.cu), which stand in
 * the queues.
 */
#include <string.h>

#include "tests/cuda/emulator.h"
/* On top of the emulator. */
#include "kvtransfer/place.h"
#include "kvtransfer/wire_device.h"
#include "tests/fake/cudart.h"

cudaError_t fake_box_copy(const struct fake_box *b)
{
	for (size_t z = 0; z < b->depth; z++)
		for (size_t y = 0; y < b->height; y++)
			memcpy(b->to + z * b->to_slice + y * b->to_pitch,
			       b->from + z * b->from_slice + y * b->from_pitch, b->width);
	return cudaSuccess;
}

void fake_fresh_run(const struct fake_fresh *f)
{
	struct fb_fresh_state *state = f->state;
	uint64_t first = f->first + (state->call << 40), bytes = f->recipe.bytes;

	if (f->what == FAKE_BEGIN) {
		state->wrong_calls += state->result.errors != state->errors_before;
		state->errors_before = state->result.errors;
		state->call++;
	}
	for (uint64_t i = 0; f->what != FAKE_BEGIN && i < f->count; i++) {
		uint64_t bits = fb_element_make(&f->recipe, f->from, first + i);

		if (f->what == FAKE_PRODUCE) {
			memcpy(f->data + i * bytes, &bits, bytes);
		} else if (memcmp(f->data + i * bytes, &bits, bytes)) {
			state->result.errors++;
			state->result.first = i < state->result.first ? i : state->result.first;
		}
	}
}

static void data(void **args, struct fb_check_result *result)
{
	const struct fb_element_recipe *recipe = args[0];
	const struct fb_element_source *from = args[1];
	uint64_t first = *(const uint64_t *)args[2], count = *(const uint64_t *)args[4];
	char *at = *(char **)args[3];

	for (uint64_t i = 0; i < count; i++, at += recipe->bytes) {
		uint64_t bits = fb_element_make(recipe, *from, first + i);

		if (!result) {
			memcpy(at, &bits, recipe->bytes);
		} else if (memcmp(at, &bits, recipe->bytes)) {
			result->errors++;
			result->first = i < result->first ? i : result->first;
		}
	}
}

/* The kernels of spans, by those of one. */
static void spans(void **args, struct fb_check_result *result)
{
	const struct fb_data_span *span = *(struct fb_data_span **)args[2];
	uint64_t n = *(const uint64_t *)args[3], count = *(const uint64_t *)args[4];

	for (uint64_t k = 0; k < n; k++) {
		struct fb_check_result found = {0, ~0ull};
		uint64_t first = span[k].first;
		void *at = span[k].at, *one[] = {args[0], args[1], &first, &at, &count};

		data(one, result ? &found : NULL);
		if (!result || !found.errors)
			continue;
		found.first += k * count;
		result->errors += found.errors;
		result->first = found.first < result->first ? found.first : result->first;
	}
}

void fake_data(const char *name, void **args)
{
	if (strstr(name, "fill_spans17"))
		spans(args, NULL);
	if (strstr(name, "check_spans17"))
		spans(args, *(struct fb_check_result **)args[5]);
	if (strstr(name, "fill17fb_element_recipe17fb_element_source"))
		data(args, NULL);
	if (strstr(name, "check17fb_element_recipe17fb_element_source"))
		data(args, *(struct fb_check_result **)args[5]);
}

/* Bits of an element of pages; see kvtransfer/pages.cu. */
static uint64_t page_element(const struct fb_element_recipe *recipe,
			     const struct fb_kv_locator *locator, int canary, uint64_t place)
{
	const struct fb_kv_place at = fb_kv_locate(locator, place);
	const struct fb_element_source first = {0, 0};

	return at.used ? fb_element_make(recipe, first, at.index)
		       : (uint64_t)(uint8_t)canary * 0x0101010101010101u;
}

/* The kernels of kvtransfer/pages.cu, at once: the arguments of both begin alike. */
void fake_pages(void **args, struct fb_check_result *result, unsigned *worst)
{
	const struct fb_element_recipe *recipe = args[0];
	const struct fb_kv_locator *locator = args[1];
	int canary = *(const int *)args[2];
	char *pages = *(char **)args[3];
	uint64_t count = *(const uint64_t *)args[4];

	for (uint64_t i = 0; i < count; i++) {
		uint64_t bits = page_element(recipe, locator, canary, i);

		uint16_t got;
		float off;

		memcpy(&got, pages + i * recipe->bytes, worst ? sizeof(got) : 0);
		if (!result) {
			memcpy(pages + i * recipe->bytes, &bits, recipe->bytes);
		} else if (worst && fb_kv_locate(locator, i).used &&
			   fb_kv_fp8_is_near((uint16_t)bits, got, &off)) {
			if (off > fb_bits_float(*worst))
				*worst = fb_float_bits(off);
		} else if (memcmp(pages + i * recipe->bytes, &bits, recipe->bytes)) {
			result->errors++;
			result->first = i < result->first ? i : result->first;
		}
	}
}

/* The arguments as the kernels of fresh.cu have them. */
struct fake_fresh fake_fresh_of(const char *name, void **args)
{
	struct fake_fresh f = {.what = strstr(name, "begin") ? FAKE_BEGIN
				  : strstr(name, "produce") ? FAKE_PRODUCE : FAKE_CONSUME,
			  .state = *(struct fb_fresh_state **)args[0]};
	int at = f.what == FAKE_CONSUME ? 4 : 3;

	if (f.what == FAKE_BEGIN)
		return f;
	f.recipe = *(const struct fb_element_recipe *)args[1];
	f.from = *(const struct fb_element_source *)args[2];
	f.first = f.what == FAKE_CONSUME ? *(const uint64_t *)args[3] : 0;
	f.data = *(char **)args[at];
	f.count = *(const uint64_t *)args[at + 1];
	f.early = f.what == FAKE_PRODUCE && *(const int *)args[at + 2];
	return f;
}

/* The kernel of kvtransfer/wire.cu, at once, by teams of other sizes than the GPU's. */
void fake_packing(void **args)
{
	const struct fb_kv_packing *p = args[0];

	for (uint64_t i = 0; i < p->parts * p->repeats; i++)
		for (uint32_t lane = 0, team = 1 + (uint32_t)(i % 5); lane < team; lane++)
			fb_kv_packing_part(p, i, lane, team);
}
