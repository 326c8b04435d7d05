/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages made of pages, by the processor; see wire.h. */
#include "kvtransfer/wire.h"
#include "kvtransfer/staging.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

const char *const fb_kv_wires[] = {"pages", "packed", "fp8", NULL};
const char *const fb_kv_stagings[] = {"none", "pageable", "pinned", "pipelined", "mapped", NULL};

/* Threads of a GPU share a list by parts, so that none is long. */
enum { MOST_PART = 8192 };

static uint64_t parts_of(uint64_t bytes, bool device)
{
	return device ? (bytes + MOST_PART - 1) / MOST_PART : bytes > 0;
}

/* The parts of a piece, from *wire on. Returns where the next ones go. */
static struct fb_kv_part *cut(struct fb_kv_part *part, uint64_t at, uint64_t bytes,
			      enum fb_kv_wire wire, bool device, uint64_t *message)
{
	for (uint64_t begun = 0; begun < bytes; part++) {
		uint64_t left = bytes - begun;

		left = device && left > MOST_PART ? MOST_PART : left;
		*part = (struct fb_kv_part){at + begun, *message, left};
		*message += fb_kv_wire_bytes(wire, left);
		begun += left;
	}
	return part;
}

int fb_kv_packing_open(struct fb_kv_packing *p, const struct fb_transfer *t, bool out,
		       enum fb_kv_wire wire, bool device, char *pages, char *message)
{
	bool meets = t->verb == FB_MOVE_SEND || t->verb == FB_MOVE_RECV;
	bool local = meets || out == (t->verb != FB_MOVE_GET);
	struct fb_kv_part *part, *next;
	uint64_t most = 0, odd_pages, odd_wire;

	for (uint64_t k = 0; k < t->pieces; k++)
		most += parts_of(t->piece[k].bytes, device);
	part = calloc(most + 1, sizeof(*part));
	*p = (struct fb_kv_packing){
		.part = (uintptr_t)part, .pages = (uintptr_t)pages, .wire = (uintptr_t)message,
		.pages_step = local ? t->local_step : t->remote_step,
		.repeats = t->repeats ? t->repeats : 1, .fp8 = wire == FB_KV_WIRE_FP8, .out = out};
	if (!part)
		return fb_error(FB_ENOMEM, "out of memory for a list of %llu parts",
				(unsigned long long)most);
	next = part;
	for (uint64_t k = 0; k < t->pieces; k++)
		next = cut(next, local ? t->piece[k].local : t->piece[k].remote, t->piece[k].bytes,
			   wire, device, &p->wire_step);
	p->parts = (uint64_t)(next - part);
	odd_pages = p->pages | p->pages_step;
	odd_wire = p->wire | p->wire_step;
	for (uint64_t k = 0; k < p->parts; k++) {
		odd_pages |= part[k].pages | part[k].bytes;
		odd_wire |= part[k].wire;
	}
	/* Four elements are 8 bytes of pages, and of a quantised message 4. */
	p->any = (odd_pages & 7) || (odd_wire & (p->fp8 ? 3 : 7));
	return device ? fb_kv_gpu_packing_open(p) : FB_OK;
}

void fb_kv_packing_close(struct fb_kv_packing *p, bool device)
{
	if (device)
		fb_kv_gpu_packing_close(p);
	else
		free((void *)(uintptr_t)p->part);
	*p = (struct fb_kv_packing){.part = 0};
}

/* Loops of their own, so that compilers make vector code of them. */
static void quantise(const uint16_t *restrict from, uint8_t *restrict to, uint64_t n)
{
	for (uint64_t k = 0; k < n; k++)
		to[k] = fb_narrow_e4m3(fb_widen_bf16(from[k]));
}

static void restore(const uint8_t *restrict from, uint16_t *restrict to, uint64_t n)
{
	for (uint64_t k = 0; k < n; k++)
		to[k] = fb_narrow_bf16(fb_widen_e4m3(from[k]));
}

static void run_part(const struct fb_kv_packing *p, char *pages, char *wire, uint64_t bytes)
{
	if (p->fp8 && p->out)
		quantise((const uint16_t *)(const void *)pages, (uint8_t *)wire, bytes / 2);
	else if (p->fp8)
		restore((const uint8_t *)wire, (uint16_t *)(void *)pages, bytes / 2);
	else if (p->out)
		memcpy(wire, pages, bytes);
	else
		memcpy(pages, wire, bytes);
}

int fb_kv_packing_run(const struct fb_kv_packing *p, bool device)
{
	const struct fb_kv_part *part = (const struct fb_kv_part *)(uintptr_t)p->part;

	if (device)
		return fb_kv_gpu_packing_run(p);
	for (uint32_t r = 0; r < p->repeats; r++)
		for (uint64_t k = 0; k < p->parts; k++)
			run_part(p, (char *)(uintptr_t)p->pages + r * p->pages_step + part[k].pages,
				 (char *)(uintptr_t)p->wire + r * p->wire_step + part[k].wire,
				 part[k].bytes);
	return FB_OK;
}
