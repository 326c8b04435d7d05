/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Filling, checking and poisoning buffers; see data.h. The values come from data_values.c in
 * blocks of 64; a check makes the right block and compares memory, so that looking at single
 * elements costs nothing until one is wrong.
 */
#include "common/base/data.h"

#include <string.h>

#include "common/base/data_values.h"

enum { MAX_ELEMENT_BYTES = 8, ANY_RANK = -1 };

/* The part of one block that a range [first, first + count) begins with. */
struct piece {
	uint64_t block;
	size_t offset, count; /* elements, within the block */
};

static struct piece piece_at(uint64_t first, size_t count)
{
	struct piece piece = {
		.block = first / FB_DATA_BLOCK,
		.offset = (size_t)(first % FB_DATA_BLOCK),
	};
	size_t rest = FB_DATA_BLOCK - piece.offset;

	piece.count = count < rest ? count : rest;
	return piece;
}

void fb_data_fill(const struct fb_data *data, int rank, uint64_t first, void *dst, size_t count)
{
	uint64_t storage[FB_DATA_BLOCK * MAX_ELEMENT_BYTES / sizeof(uint64_t)];
	const unsigned char *values = (const unsigned char *)storage;
	struct fb_data_recipe recipe;
	unsigned char *to = dst;

	fb_data_prepare(data, &recipe);
	while (count > 0) {
		struct piece piece = piece_at(first, count);
		size_t bytes = piece.count * recipe.bytes;

		fb_data_block(&recipe, rank, piece.block, storage);
		memcpy(to, values + piece.offset * recipe.bytes, bytes);
		to += bytes;
		first += piece.count;
		count -= piece.count;
	}
}

static void find_errors(const struct fb_data_recipe *recipe, uint64_t first,
			const unsigned char *got, const unsigned char *expected, size_t count,
			struct fb_mismatch *bad)
{
	size_t bytes = recipe->bytes;

	for (size_t i = 0; i < count; i++, got += bytes, expected += bytes) {
		if (!memcmp(got, expected, bytes))
			continue;
		if (bad->errors++ > 0)
			continue;
		bad->index = first + i;
		fb_element_text(recipe->data->type, got, bad->got, sizeof(bad->got));
		fb_element_text(recipe->data->type, expected, bad->expected, sizeof(bad->expected));
	}
}

/* ANY_RANK: against the reduction over all ranks. */
static void check(const struct fb_data *data, int rank, uint64_t first, const void *src,
		  size_t count, struct fb_mismatch *bad)
{
	uint64_t storage[FB_DATA_BLOCK * MAX_ELEMENT_BYTES / sizeof(uint64_t)];
	const unsigned char *values = (const unsigned char *)storage;
	const unsigned char *from = src;
	struct fb_data_recipe recipe;

	fb_data_prepare(data, &recipe);
	while (count > 0) {
		struct piece piece = piece_at(first, count);
		size_t bytes = piece.count * recipe.bytes;
		const unsigned char *right = values + piece.offset * recipe.bytes;

		if (rank == ANY_RANK)
			fb_data_block_reduced(&recipe, piece.block, storage);
		else
			fb_data_block(&recipe, rank, piece.block, storage);
		if (memcmp(from, right, bytes) != 0)
			find_errors(&recipe, first, from, right, piece.count, bad);
		from += bytes;
		first += piece.count;
		count -= piece.count;
	}
}

void fb_data_renew(struct fb_data *data)
{
	data->seed++;
}

void fb_data_check(const struct fb_data *data, int rank, uint64_t first, const void *src,
		   size_t count, struct fb_mismatch *bad)
{
	check(data, rank, first, src, count, bad);
}

void fb_data_check_reduced(const struct fb_data *data, uint64_t first, const void *src,
			   size_t count, struct fb_mismatch *bad)
{
	check(data, ANY_RANK, first, src, count, bad);
}

int fb_data_poison_byte(unsigned salt)
{
	/*
	 * 0xf1 .. 0xf7 repeated is a huge negative finite number in every float type, which no
	 * sum, product, minimum or maximum of the values made here comes near.
	 */
	return (int)(0xf1 + salt % 7);
}
