/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages made of pages: the processor's loops and the kernel's code, by teams of any size, give
 * the same bytes at any alignment; every bf16 number that e4m3 can hold comes back within the error
 * that the check allows; and quantisers that are wrong do not pass that check.
 */
#include <math.h>
#include <stdlib.h>

#include "tests/cuda/emulator.h"
/* On top of the emulator. */
#include "kvtransfer/wire_device.h"
#include "common/base/error.h"
#include "tests/unit/check.h"

enum { BYTES = 4096, STEP = 1024 };

static _Alignas(16) char pages[BYTES], message[BYTES], other[BYTES];

/* Three pieces in a region of STEP bytes, twice; `shift` moves them off their alignment. */
static struct fb_transfer transfer_of(struct fb_piece *piece, uint64_t shift)
{
	piece[0] = (struct fb_piece){64 + shift, 512, 128};
	piece[1] = (struct fb_piece){320, 64 + shift, 18};
	piece[2] = (struct fb_piece){512 + shift, 768, 200 - shift};
	return (struct fb_transfer){.verb = FB_MOVE_PUT, .piece = piece, .pieces = 3, .repeats = 2,
				    .local_step = STEP, .remote_step = STEP};
}

static void run_device(const struct fb_kv_packing *p, uint32_t team)
{
	for (uint64_t k = 0; k < p->parts * p->repeats; k++)
		for (uint32_t lane = 0; lane < team; lane++)
			fb_kv_packing_part(p, k, lane, team);
}

/* One end by both; the bytes of the target have to be the same everywhere. */
static void both_ways(struct fb_kv_packing *p, uint32_t team)
{
	char *target = p->out ? message : pages;

	memset(target, 0x5a, BYTES);
	CHECK_INT(fb_kv_packing_run(p, false), FB_OK);
	memcpy(other, target, BYTES);
	memset(target, 0x5a, BYTES);
	run_device(p, team);
	CHECK_INT(memcmp(other, target, BYTES), 0);
}

static void test_both_ways(void)
{
	for (int wire = FB_KV_WIRE_PACKED; wire < FB_KV_WIRES; wire++)
		for (uint64_t shift = 0; shift <= 16; shift += 2)
			for (int out = 1; out >= 0; out--)
				for (uint32_t team = 1; team < 40; team += 31) {
					struct fb_piece piece[3];
					const struct fb_transfer t = transfer_of(piece, shift);
					struct fb_kv_packing p;

					for (int k = 0; k < BYTES; k++)
						(out ? pages : message)[k] = (char)(k * 37);
					CHECK_INT(fb_kv_packing_open(&p, &t, out, (enum fb_kv_wire)
								     wire, false, pages, message),
						  FB_OK);
					both_ways(&p, team);
					/* Without the odd pieces, in words. */
					p.parts = 1;
					p.wire_step = p.fp8 ? 64 : 128;
					p.any = shift % 8 != 0;
					both_ways(&p, team);
					fb_kv_packing_close(&p, false);
				}
}

/* What a quantiser makes of all numbers that e4m3 can hold: the share that is near enough. */
typedef uint8_t quantise_fn(float value);

static uint8_t towards_zero(float value)
{
	uint8_t byte = fb_narrow_e4m3(value);

	return fabsf(fb_widen_e4m3(byte)) > fabsf(value) ? (uint8_t)(byte - 1) : byte;
}

static uint8_t short_range(float value)
{
	return fb_narrow_e4m3(fminf(fmaxf(value, -240), 240));
}

static uint8_t other_format(float value)
{
	return fb_narrow_e5m2(value);
}

static uint8_t no_sign(float value)
{
	return fb_narrow_e4m3(fabsf(value));
}

static uint8_t scaled(float value)
{
	return fb_narrow_e4m3(value * 2);
}

static uint8_t no_subnormals(float value)
{
	return fb_narrow_e4m3(fabsf(value) < 0x1p-6f ? 0 : value);
}

static uint64_t wrong_of(quantise_fn *quantise, float *worst)
{
	uint64_t wrong = 0;

	*worst = 0;
	for (uint32_t bits = 0; bits < 65536; bits++) {
		float value = fb_widen_bf16((uint16_t)bits), off;
		uint16_t got;

		if (!(fabsf(value) <= 448))
			continue;
		got = fb_narrow_bf16(fb_widen_e4m3(quantise(value)));
		if (!fb_kv_fp8_is_near((uint16_t)bits, got, &off))
			wrong++;
		else if (fabsf(value) >= 0x1p-6f && off > *worst)
			*worst = off;
	}
	return wrong;
}

static void test_error(void)
{
	static quantise_fn *const mutant[] = {towards_zero, short_range, other_format, no_sign,
					      scaled, no_subnormals};
	float worst, off;

	CHECK_INT(wrong_of(fb_narrow_e4m3, &worst), 0);
	/* Half of a last place of 1.xxx: between 1/18 and 1/16. */
	CHECK_INT(worst > 1 / 18.0f && worst <= 1 / 16.0f, 1);
	for (size_t m = 0; m < sizeof(mutant) / sizeof(mutant[0]); m++)
		CHECK_INT(wrong_of(mutant[m], &worst) > 0, 1);
	/* What nobody wrote, and what is no number, is not near. */
	CHECK_INT(fb_kv_fp8_is_near(fb_narrow_bf16(3), 0xf2f2, &off), 0);
	CHECK_INT(fb_kv_fp8_is_near(fb_narrow_bf16(3), 0x7fc0, &off), 0);
}

/* Each byte of a message that is left out, or another's, shows in the pages. */
static void test_wrong_bytes(void)
{
	struct fb_piece piece[3];
	const struct fb_transfer t = transfer_of(piece, 0);
	struct fb_kv_packing out, in;
	float off;

	for (int k = 0; k < BYTES / 2; k++) {
		uint16_t element = fb_narrow_bf16((float)(k % 256 - 128));

		memcpy(pages + 2 * k, &element, sizeof(element));
	}
	CHECK_INT(fb_kv_packing_open(&out, &t, true, FB_KV_WIRE_FP8, false, pages, message), FB_OK);
	CHECK_INT(fb_kv_packing_open(&in, &t, false, FB_KV_WIRE_FP8, false, other, message), FB_OK);
	CHECK_INT(fb_kv_packing_run(&out, false), FB_OK);
	/* Half of the bytes of the pages. */
	CHECK_INT(out.wire_step, (128 + 18 + 200) / 2);
	for (uint64_t at = 0; at < 2 * out.wire_step; at++) {
		uint64_t wrong = 0;

		message[at] = (char)(message[at] ^ 0x10); /* twice or half of it */
		CHECK_INT(fb_kv_packing_run(&in, false), FB_OK);
		for (uint64_t r = 0; r < 2; r++)
			for (int k = 0; k < 3; k++)
				for (uint64_t b = 0; b < piece[k].bytes; b += 2) {
					uint16_t wanted, got;

					memcpy(&wanted, pages + r * STEP + piece[k].local + b, 2);
					memcpy(&got, other + r * STEP + piece[k].remote + b, 2);
					wrong += !fb_kv_fp8_is_near(wanted, got, &off);
				}
		CHECK_INT(wrong, 1);
		message[at] = (char)(message[at] ^ 0x10);
	}
	fb_kv_packing_close(&out, false);
	fb_kv_packing_close(&in, false);
}

int main(void)
{
	test_both_ways();
	test_error();
	test_wrong_bytes();
	return check_done("kv_wire");
}
