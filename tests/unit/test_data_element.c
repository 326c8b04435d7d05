/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Test data made element by element, as GPUs make them, against the blocks that the host makes:
 * every type, operation and kind, several numbers of ranks, both sides of block boundaries.
 */
#include "common/cuda/data_element.h"
#include "tests/unit/check.h"

enum { ELEMENTS = 300 };

static void compare(const struct fb_data *data, int rank, uint64_t first)
{
	static uint64_t storage[ELEMENTS];
	const struct fb_element_recipe recipe = fb_element_prepare(data);
	struct fb_element_source from = {.reduced = rank < 0,
					 .rank = (uint32_t)(rank < 0 ? 0 : rank)};
	size_t size = fb_datatype_size(data->type);
	struct fb_mismatch bad = {0};
	unsigned char *bytes = (unsigned char *)storage;

	for (uint64_t i = 0; i < ELEMENTS; i++) {
		uint64_t value = fb_element_make(&recipe, from, first + i);

		memcpy(bytes + i * size, &value, size);
	}
	if (rank < 0)
		fb_data_check_reduced(data, first, storage, ELEMENTS, &bad);
	else
		fb_data_check(data, rank, first, storage, ELEMENTS, &bad);
	if (!CHECK_INT(bad.errors, 0))
		printf("\t%s %s%s, %d ranks, rank %d, element %llu: %s, not %s\n",
		       fb_datatype_name(data->type), fb_redop_name(data->op),
		       data->reduces ? "" : " (movement)", data->nranks, rank,
		       (unsigned long long)bad.index, bad.got, bad.expected);
}

int main(void)
{
	static const int ranks[] = {1, 2, 3, 4, 5, 8, 17, 100, 300, 5000};
	static const uint64_t firsts[] = {0, 61, 1000003, UINT64_C(1) << 33};

	for (int type = 0; type < FB_DATATYPES; type++)
		for (int op = 0; op < FB_REDOPS; op++)
			for (size_t k = 0; k < sizeof(ranks) / sizeof(ranks[0]); k++) {
				struct fb_data data = {
					.seed = 77 + k, .type = (enum fb_datatype)type,
					.op = (enum fb_redop)op, .nranks = ranks[k],
					.reduces = fb_can_reduce((enum fb_datatype)type,
								 (enum fb_redop)op)};
				uint64_t first = firsts[k % 4];

				compare(&data, 0, first);
				compare(&data, ranks[k] / 2, first);
				compare(&data, ranks[k] - 1, first);
				if (data.reduces)
					compare(&data, -1, first);
				data.reduces = false;
				compare(&data, ranks[k] - 1, first);
			}
	return check_done("data_element");
}
