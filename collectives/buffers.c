/* SPDX-License-Identifier: BSD-3-Clause */
/* Layout, contents and verification of the buffers; see buffers.h. */
#include "collectives/buffers.h"

#include <stdio.h>
#include <string.h>

#include "common/base/error.h"

enum { PAGE_BYTES = 4096, CANARY = 0xa5 };

static size_t page_up(uint64_t bytes)
{
	return (size_t)((bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
}

uint64_t fb_buffers_first(const struct fb_operation *op, bool out, int rank, int block)
{
	const struct fb_counts *c = op->counts;
	size_t n = c ? (size_t)c->nranks : 0;
	uint64_t first = 0;

	if (!c)
		return op->count * (uint64_t)block;
	for (size_t b = 0; b < (size_t)block; b++)
		first += c->elements[out ? b * n + (size_t)rank : (size_t)rank * n + b];
	return first;
}

uint64_t fb_buffers_elements(const struct fb_operation *op, bool out, int rank, int nranks)
{
	int blocks = fb_collective_blocks(op->collective, out, rank, nranks, op->root);

	return fb_buffers_first(op, out, rank, blocks);
}

/* The longest input or output of any rank, in bytes. */
static uint64_t longest(const struct fb_operation *op, bool out, int nranks)
{
	uint64_t most = 0;

	for (int r = 0; r < nranks; r++) {
		uint64_t n = fb_buffers_elements(op, out, r, nranks);

		most = n > most ? n : most;
	}
	return most * fb_datatype_size(op->datatype);
}

size_t fb_buffers_layout(struct fb_operation *op, int nranks)
{
	uint64_t in = longest(op, false, nranks), out = longest(op, true, nranks);

	op->in_offset = PAGE_BYTES;
	if (op->in_place) {
		op->out_offset = op->in_offset;
		return page_up(op->in_offset + (in > out ? in : out) + FB_CANARY_BYTES);
	}
	op->out_offset = page_up(op->in_offset + in + 2 * FB_CANARY_BYTES);
	return page_up(op->out_offset + out + FB_CANARY_BYTES);
}

/* A buffer of this rank with a canary on either side. */
struct region {
	unsigned char *base;
	uint64_t elements;
	size_t bytes;
};

/* The rank's regions: input and output, or one for both in place. Returns how many. */
static int regions(const struct fb_operation *op, int rank, int nranks, struct region region[2])
{
	/* Not NULL, because a rank can always address its own part. */
	unsigned char *part = (unsigned char *)fb_segment_part(op->segment, rank);
	size_t size = fb_datatype_size(op->datatype);
	uint64_t in = fb_buffers_elements(op, false, rank, nranks);
	uint64_t out = fb_buffers_elements(op, true, rank, nranks);

	if (op->in_place) {
		uint64_t both = in > out ? in : out;

		region[0] = (struct region){part + op->out_offset, both, (size_t)(both * size)};
		return 1;
	}
	region[0] = (struct region){part + op->in_offset, in, (size_t)(in * size)};
	region[1] = (struct region){part + op->out_offset, out, (size_t)(out * size)};
	return 2;
}

int fb_buffers_prime(const struct fb_operation *op, const struct fb_data *data, int rank)
{
	const struct fb_memory_ops *memory = op->segment->ops;
	size_t size = fb_datatype_size(op->datatype);
	struct region region[2];
	int n = regions(op, rank, data->nranks, region), err = FB_OK;
	uint64_t in = fb_buffers_elements(op, false, rank, data->nranks);

	for (int i = 0; i < n && !err; i++) {
		err = memory->set(region[i].base - FB_CANARY_BYTES, CANARY, FB_CANARY_BYTES);
		if (!err)
			err = memory->set(region[i].base + region[i].bytes, CANARY,
					  FB_CANARY_BYTES);
	}
	/* The output first: in place the input lies on it, or on a part of it. */
	if (!err)
		err = memory->set(region[n - 1].base, fb_data_poison_byte((unsigned)rank),
				  region[n - 1].bytes);
	if (!err && in * size > 0)
		err = memory->fill(data, rank, data->shift, fb_operation_in(op, rank), (size_t)in);
	return err;
}

/* Reports the canary's first damaged byte as element `index`. */
static int check_canary(const struct fb_memory_ops *memory, const unsigned char *where,
			uint64_t index, struct fb_mismatch *bad)
{
	unsigned char canary[FB_CANARY_BYTES];
	int err = memory->get(canary, where, FB_CANARY_BYTES);

	for (int i = 0; i < FB_CANARY_BYTES && !err; i++) {
		if (canary[i] == CANARY)
			continue;
		if (bad->errors++ == 0) {
			bad->index = index;
			snprintf(bad->got, sizeof(bad->got), "0x%02x", canary[i]);
			snprintf(bad->expected, sizeof(bad->expected), "canary");
		}
		break;
	}
	return err;
}

/* Adds `found`: element `first` of the data is element `base` of the buffer. */
static void merge(struct fb_mismatch *bad, const struct fb_mismatch *found, uint64_t first,
		  uint64_t base)
{
	uint64_t before = bad->errors;

	if (found->errors == 0)
		return;
	if (before == 0) {
		*bad = *found;
		bad->index = found->index - first + base;
	}
	bad->errors = before + found->errors;
}

/* Where an output block comes from: element `first` on of a rank's input, or of the reduction. */
struct source {
	bool reduced;
	int rank;
	uint64_t first;
};

static struct source source_of(const struct fb_operation *op, int rank, int nranks, int block,
			       int calls)
{
	int shift = op->in_place ? calls % nranks : 1;

	switch (op->collective) {
	case FB_REDUCE_SCATTER:
	case FB_REDUCE_SCATTER_V:
		return (struct source){true, -1, fb_buffers_first(op, false, rank, rank)};
	case FB_ALL_GATHER:
	case FB_ALL_GATHER_V:
	case FB_GATHER:
		return (struct source){false, block, 0};
	case FB_BROADCAST:
		return (struct source){false, op->root, 0};
	case FB_SCATTER:
		return (struct source){false, op->root, op->count * (uint64_t)rank};
	case FB_ALL_TO_ALL:
	case FB_ALL_TO_ALL_V:
		/* A call transposes the blocks, so in place every second call undoes the first. */
		if (op->in_place && calls % 2 == 0)
			return (struct source){false, rank, op->count * (uint64_t)block};
		return (struct source){false, block, fb_buffers_first(op, false, block, rank)};
	case FB_SEND_RECV:
		return (struct source){false, (rank - shift + nranks) % nranks, 0};
	default:
		return (struct source){true, -1, 0};
	}
}

int fb_buffers_outputs(const struct fb_operation *op, int nranks, int rank, int calls,
		       int (*visit)(void *arg, const struct fb_output_block *block), void *arg)
{
	int blocks = fb_collective_blocks(op->collective, true, rank, nranks, op->root);
	unsigned char *out = fb_operation_out(op, rank);
	size_t size = fb_datatype_size(op->datatype);
	int err = FB_OK;

	for (int b = 0; b < blocks && !err; b++) {
		struct source from = source_of(op, rank, nranks, b, calls);
		uint64_t base = fb_buffers_first(op, true, rank, b);
		const struct fb_output_block block = {
			.rank = from.reduced ? FB_REDUCED : from.rank,
			.first = from.first,
			.base = base,
			.at = out + base * size,
			.count = (size_t)(fb_buffers_first(op, true, rank, b + 1) - base),
		};

		err = visit(arg, &block);
	}
	return err;
}

/* A check under way. */
struct checking {
	const struct fb_memory_ops *memory;
	const struct fb_data *data;
	struct fb_mismatch *bad;
};

static int check_block(void *arg, const struct fb_output_block *block)
{
	struct checking *c = arg;
	struct fb_mismatch found = {0};
	uint64_t first = block->first + c->data->shift;
	int err = c->memory->check(c->data, block->rank, first, block->at, block->count, &found);

	merge(c->bad, &found, first, block->base);
	return err;
}

int fb_buffers_check(const struct fb_operation *op, const struct fb_data *data, int rank,
		     int calls, struct fb_mismatch *bad)
{
	const struct fb_memory_ops *memory = op->segment->ops;
	struct region region[2];
	int n = regions(op, rank, data->nranks, region), err = FB_OK;
	struct checking checking = {memory, data, bad};
	struct fb_mismatch found = {0};

	for (int i = 0; i < n && !err; i++) {
		err = check_canary(memory, region[i].base - FB_CANARY_BYTES, 0, bad);
		if (!err)
			err = check_canary(memory, region[i].base + region[i].bytes,
					   region[i].elements, bad);
	}
	if (!err)
		err = fb_buffers_outputs(op, data->nranks, rank, calls, check_block, &checking);
	if (err || op->in_place)
		return err;
	err = memory->check(data, rank, data->shift, region[0].base, (size_t)region[0].elements,
			    &found);
	merge(bad, &found, data->shift, 0);
	return err;
}
