/* SPDX-License-Identifier: BSD-3-Clause */
/* Flattens a recipe for kernels; see data_element.h. */
#include "common/cuda/data_element.h"

#include "common/base/rng.h"

struct fb_element_recipe fb_element_prepare(const struct fb_data *data)
{
	static const struct {
		uint32_t exponent, fraction;
	} bits[FB_DATATYPES] = {
		[FB_F16] = {5, 10}, [FB_BF16] = {8, 7}, [FB_F32] = {8, 23}, [FB_F64] = {11, 52},
		[FB_F8E4M3] = {4, 3}, [FB_F8E5M2] = {5, 2},
	};
	struct fb_data_recipe recipe;

	fb_data_prepare(data, &recipe);
	return (struct fb_element_recipe){
		.seed = data->seed,
		.seed_mix = fb_mix64(data->seed + 0x9e3779b97f4a7c15u),
		.key_mix = (uint32_t)fb_mix64(data->seed),
		.nranks = recipe.nranks,
		.type = (uint32_t)data->type,
		.bytes = (uint32_t)recipe.bytes,
		.kind = (uint32_t)recipe.kind,
		.average = data->reduces && data->op == FB_AVG,
		.exponent_bits = bits[data->type].exponent,
		.fraction_bits = bits[data->type].fraction,
		.terms = recipe.terms,
		.signs = recipe.signs,
		.extremes = recipe.extremes,
	};
}
