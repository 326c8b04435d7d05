/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Test data: the closed forms against reductions that are really carried out, in three orders;
 * exactness of every partial result; that wrong contributions are noticed; speed.
 */
#include <stdlib.h>
#include <time.h>

#include "common/base/data_values.h"
#include "common/base/float8.h"
#include "common/base/rng.h"
#include "tests/unit/check.h"

enum { COUNT = 203, MAX_RANKS = 1024, SMALL_RANKS = 64, WINDOW = 64, ELEMENT = 8 };

/* Starts in the middle of a block, ends in the middle of another. */
static const uint64_t first_index = 1000003;

static const int rank_counts[] = {1,  2,  3,  4,   5,	7,   8,	  12,  13,  14,	  15,
				  17, 63, 64, 100, 128, 129, 255, 256, 257, 1023, 1024};
enum { RANK_COUNTS = sizeof(rank_counts) / sizeof(rank_counts[0]) };

/* Rank r's elements at inputs + r * COUNT * ELEMENT. */
static unsigned char *inputs_of(unsigned char *inputs, int rank)
{
	return inputs + (size_t)rank * COUNT * ELEMENT;
}

static uint64_t errors_of(const struct fb_data *data, const void *result, size_t count)
{
	struct fb_mismatch bad = {0};

	fb_data_check_reduced(data, first_index, result, count, &bad);
	return bad.errors;
}

static void finish(const struct fb_data *data, void *result)
{
	fb_finish_fn fn = fb_finish(data->type, data->op);

	if (fn)
		fn(result, COUNT, data->nranks);
}

/* Reduces ranks in the order `order` into result; `finish` is left to the caller. */
static void reduce(const struct fb_data *data, unsigned char *inputs, const int *order,
		   unsigned char *result)
{
	fb_combine_fn combine = fb_combine(data->type, data->op);

	memcpy(result, inputs_of(inputs, order[0]), COUNT * ELEMENT);
	for (int i = 1; i < data->nranks; i++)
		combine(result, result, inputs_of(inputs, order[i]), COUNT);
}

/* A balanced tree over all ranks; destroys the inputs. */
static void reduce_tree(const struct fb_data *data, unsigned char *inputs)
{
	fb_combine_fn combine = fb_combine(data->type, data->op);

	for (int step = 1; step < data->nranks; step *= 2)
		for (int rank = 0; rank + step < data->nranks; rank += 2 * step)
			combine(inputs_of(inputs, rank), inputs_of(inputs, rank + step),
				inputs_of(inputs, rank), COUNT);
}

static double number_at(enum fb_datatype type, const unsigned char *buffer, size_t i)
{
	uint16_t half;
	float f32;
	double f64;

	switch (type) {
	case FB_F16:
		memcpy(&half, buffer + 2 * i, 2);
		return (double)fb_widen_f16(half);
	case FB_BF16:
		memcpy(&half, buffer + 2 * i, 2);
		return (double)fb_widen_bf16(half);
	case FB_F8E4M3:
		return (double)fb_widen_e4m3(buffer[i]);
	case FB_F8E5M2:
		return (double)fb_widen_e5m2(buffer[i]);
	case FB_F32:
		memcpy(&f32, buffer + 4 * i, 4);
		return (double)f32;
	default:
		memcpy(&f64, buffer + 8 * i, 8);
		return f64;
	}
}

/*
 * Every subset's sum lies between the sum of the negative and the sum of the positive terms: if
 * all terms are integers and both bounds are within 2^significand, no order of addition rounds.
 * For products the same is asked of the exponents.
 */
static void check_exact(const struct fb_data *data, unsigned char *inputs)
{
	static const double exact[FB_DATATYPES] = {
		[FB_F16] = 0x1p11, [FB_BF16] = 0x1p8, [FB_F32] = 0x1p24, [FB_F64] = 0x1p53,
		[FB_F8E4M3] = 0x1p4, [FB_F8E5M2] = 0x1p3};
	static const double range[FB_DATATYPES] = {
		[FB_F16] = 14, [FB_BF16] = 126, [FB_F32] = 126, [FB_F64] = 1022,
		[FB_F8E4M3] = 6, [FB_F8E5M2] = 14};
	bool product = data->op == FB_PROD;
	double limit = product ? range[data->type] : exact[data->type];
	int worse = 0;

	for (size_t i = 0; i < COUNT; i++) {
		double up = 0, down = 0;

		for (int rank = 0; rank < data->nranks; rank++) {
			double x = number_at(data->type, inputs_of(inputs, rank), i);
			int exponent;

			if (product) {
				worse += fabs(frexp(x, &exponent)) != 0.5;
				x = exponent - 1;
			}
			worse += x != floor(x);
			up += x > 0 ? x : 0;
			down += x < 0 ? x : 0;
		}
		worse += up > limit || -down > limit;
	}
	CHECK_INT(worse, 0);
}

/* One rank left out, or counted in place of another one, must show. */
static void check_notices(const struct fb_data *data, unsigned char *inputs, int *order,
			  unsigned char *result)
{
	int saved = order[1];

	if (data->nranks > 17)
		return;
	order[1] = order[0];
	reduce(data, inputs, order, result);
	finish(data, result);
	CHECK(errors_of(data, result, COUNT) > 0);
	order[1] = saved;
}

static void test_reduction(const struct fb_data *data, unsigned char *inputs, int *order,
			   struct fb_rng *rng)
{
	unsigned char result[COUNT * ELEMENT];
	int n = data->nranks;

	for (int rank = 0; rank < n; rank++) {
		order[rank] = rank;
		fb_data_fill(data, rank, first_index, inputs_of(inputs, rank), COUNT);
	}
	reduce(data, inputs, order, result);
	finish(data, result);
	if (!CHECK_INT(errors_of(data, result, COUNT), 0))
		printf("\t%s %s over %d ranks\n", fb_datatype_name(data->type),
		       fb_redop_name(data->op), n);
	fb_shuffle(order, (size_t)n, sizeof(*order), rng);
	reduce(data, inputs, order, result);
	finish(data, result);
	CHECK_INT(errors_of(data, result, COUNT), 0);

	if (n > 1)
		check_notices(data, inputs, order, result);
	if (data->type >= FB_F16 && data->op <= FB_PROD)
		check_exact(data, inputs);
	reduce_tree(data, inputs);
	finish(data, inputs);
	CHECK_INT(errors_of(data, inputs, COUNT), 0);
}

static void test_reductions(unsigned char *inputs, int *order)
{
	struct fb_rng rng;

	fb_rng_seed(&rng, 7);
	for (int type = 0; type < FB_DATATYPES; type++)
		for (int op = 0; op < FB_REDOPS; op++)
			for (size_t k = 0; k < RANK_COUNTS; k++) {
				struct fb_data data = {.seed = 99 + k,
						       .type = (enum fb_datatype)type,
						       .op = (enum fb_redop)op,
						       .reduces = true,
						       .nranks = rank_counts[k]};

				if (fb_can_reduce(data.type, data.op))
					test_reduction(&data, inputs, order, &rng);
			}
}

/*
 * Any two of 1024 ranks differ within any 64 elements; here at three different places. Sums of
 * 8-bit floats have room for few contributions, and show it of 64 ranks.
 */
static void test_ranks_differ(unsigned char *inputs)
{
	static const uint64_t places[] = {0, 77, UINT64_C(0x123456789ab)};

	for (int kind = 0; kind < FB_DATATYPES * (FB_REDOPS + 1); kind++) {
		struct fb_data data = {.seed = 5,
				       .type = (enum fb_datatype)(kind % FB_DATATYPES),
				       .op = (enum fb_redop)(kind / FB_DATATYPES % FB_REDOPS),
				       .reduces = kind / FB_DATATYPES < FB_REDOPS,
				       .nranks = MAX_RANKS};
		bool small = data.reduces && (data.type == FB_F8E4M3 || data.type == FB_F8E5M2);
		size_t bytes = WINDOW * fb_datatype_size(data.type), place = (size_t)kind % 3;
		int same = 0;

		if (data.reduces && !fb_can_reduce(data.type, data.op))
			continue;
		data.nranks = small ? SMALL_RANKS : MAX_RANKS;
		for (int rank = 0; rank < data.nranks; rank++)
			fb_data_fill(&data, rank, places[place], inputs_of(inputs, rank), WINDOW);
		for (int a = 0; a < data.nranks; a++)
			for (int b = a + 1; b < data.nranks; b++)
				same += !memcmp(inputs_of(inputs, a), inputs_of(inputs, b), bytes);
		if (!CHECK_INT(same, 0))
			printf("\t%s %s reduces %d\n", fb_datatype_name(data.type),
			       fb_redop_name(data.op), data.reduces);
	}
}

/* The same element is the same whatever range it is asked for with, and seeds matter. */
static void test_pure(void)
{
	struct fb_data data = {.seed = 1, .type = FB_F16, .op = FB_SUM, .nranks = 6};
	struct fb_data other = data;
	uint16_t whole[COUNT], parts[COUNT], last;
	struct fb_mismatch bad = {0};

	fb_data_fill(&data, 3, first_index, whole, COUNT);
	for (size_t i = 0, n = 0; i < COUNT; i += n, n = (n + 3) % 71) {
		n = n < COUNT - i ? n : COUNT - i;
		fb_data_fill(&data, 3, first_index + i, parts + i, n);
	}
	CHECK(!memcmp(whole, parts, sizeof(whole)));
	fb_data_check(&data, 3, first_index, whole, COUNT, &bad);
	CHECK_INT(bad.errors, 0);
	fb_data_fill(&data, 3, first_index + COUNT - 1, &last, 1);
	CHECK_INT(last, whole[COUNT - 1]);
	fb_data_fill(&data, 3, 0, &last, 0);
	CHECK_INT(last, whole[COUNT - 1]);
	other.seed = 2;
	fb_data_check(&other, 3, first_index, whole, COUNT, &bad);
	CHECK(bad.errors > COUNT - 3);
	bad.errors = 0;
	fb_data_check(&data, 3, first_index + 1, whole, COUNT, &bad);
	CHECK(bad.errors > COUNT - 3);
}

static void test_first_error(void)
{
	struct fb_data data = {
		.seed = 4, .type = FB_I32, .op = FB_SUM, .reduces = true, .nranks = 1};
	int32_t values[COUNT];
	struct fb_mismatch bad = {0};
	char want[32];

	fb_data_fill(&data, 0, first_index, values, COUNT);
	snprintf(want, sizeof(want), "%d", values[130]);
	values[130] = -12;
	values[131] ^= 1;
	values[202] ^= INT32_MIN;
	fb_data_check_reduced(&data, first_index, values, COUNT, &bad);
	CHECK_INT(bad.errors, 3);
	CHECK_INT(bad.index, first_index + 130);
	CHECK_STR(bad.got, "-12");
	CHECK_STR(bad.expected, want);
	/* A second check adds up and keeps the first one's place. */
	fb_data_check(&data, 0, first_index, values, 131, &bad);
	CHECK_INT(bad.errors, 4);
	CHECK_INT(bad.index, first_index + 130);
}

static void test_poison(unsigned char *inputs)
{
	for (int type = FB_I32; type < FB_DATATYPES; type++)
		for (int op = 0; op < FB_REDOPS; op++) {
			struct fb_data data = {.seed = 8,
					       .type = (enum fb_datatype)type,
					       .op = (enum fb_redop)op,
					       .reduces = true,
					       .nranks = 4};

			memset(inputs, fb_data_poison_byte((unsigned)(type + op)), COUNT * ELEMENT);
			CHECK_INT(errors_of(&data, inputs, COUNT), COUNT);
		}
	memset(inputs, fb_data_poison_byte(0), 1);
	memset(inputs + 1, fb_data_poison_byte(1), 1);
	CHECK(inputs[0] != inputs[1]);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Shown, not checked: the machine may be busy. */
static void show_one_speed(const struct fb_data *data, unsigned char *buffer, size_t bytes)
{
	size_t width = fb_datatype_size(data->type), block_bytes = FB_DATA_BLOCK * width;
	struct fb_data_recipe recipe;
	struct fb_mismatch bad = {0};

	memset(buffer, 0, bytes);
	double start = seconds();

	fb_data_fill(data, 1, 0, buffer, bytes / width);
	double fill = seconds() - start;

	fb_data_prepare(data, &recipe);
	for (size_t i = 0; data->reduces && i < bytes / block_bytes; i++)
		fb_data_block_reduced(&recipe, i, buffer + i * block_bytes);
	start = seconds();
	if (data->reduces)
		fb_data_check_reduced(data, 0, buffer, bytes / width, &bad);
	else
		fb_data_check(data, 1, 0, buffer, bytes / width, &bad);
	double check = seconds() - start;

	CHECK_INT(bad.errors, 0);
	printf("%s %s over %d: fill %.2f GB/s, check %.2f GB/s\n", fb_datatype_name(data->type),
	       data->reduces ? fb_redop_name(data->op) : "movement", data->nranks,
	       (double)bytes / fill * 1e-9, (double)bytes / check * 1e-9);
}

static void show_speed(void)
{
	static const struct fb_data cases[] = {
		{.seed = 1, .type = FB_F32},
		{.seed = 1, .type = FB_U8},
		{.seed = 1, .type = FB_F32, .op = FB_SUM, .reduces = true, .nranks = 4},
		{.seed = 1, .type = FB_F32, .op = FB_SUM, .reduces = true, .nranks = 1024},
		{.seed = 1, .type = FB_F16, .op = FB_SUM, .reduces = true, .nranks = 8},
		{.seed = 1, .type = FB_BF16, .op = FB_SUM, .reduces = true, .nranks = 1024},
		{.seed = 1, .type = FB_F32, .op = FB_PROD, .reduces = true, .nranks = 8},
		{.seed = 1, .type = FB_I32, .op = FB_PROD, .reduces = true, .nranks = 1024},
		{.seed = 1, .type = FB_F32, .op = FB_MAX, .reduces = true, .nranks = 8},
		{.seed = 1, .type = FB_F32, .op = FB_AVG, .reduces = true, .nranks = 8},
		{.seed = 1, .type = FB_F64, .op = FB_SUM, .reduces = true, .nranks = 8},
	};
	const size_t bytes = 1 << 22;
	unsigned char *buffer = malloc(bytes);

	for (size_t k = 0; buffer && k < sizeof(cases) / sizeof(cases[0]); k++)
		show_one_speed(&cases[k], buffer, bytes);
	free(buffer);
}

int main(int argc, char **argv)
{
	unsigned char *inputs = malloc((size_t)MAX_RANKS * COUNT * ELEMENT);
	int *order = calloc(MAX_RANKS, sizeof(*order));

	if (CHECK(inputs && order)) {
		test_reductions(inputs, order);
		test_ranks_differ(inputs);
		test_pure();
		test_first_error();
		test_poison(inputs);
	}
	if (argc > 1 && !strcmp(argv[1], "--speed"))
		show_speed();
	free(order);
	free(inputs);
	return check_done("data");
}
