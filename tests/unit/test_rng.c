/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers against the published sequences, and hashes for spread and order of bytes. */
#include "common/base/rng.h"
#include "tests/unit/check.h"

enum { DRAWS = 100000 };

static void test_known_sequences(void)
{
	/* SplitMix64 from 0, and xoshiro256** from the state 1, 2, 3, 4. */
	static const uint64_t splitmix[4] = {0xe220a8397b1dcdafu, 0x6e789e6aa1b965f4u,
					     0x06c45d188009454fu, 0xf88bb8a8724c81ecu};
	static const uint64_t xoshiro[6] = {11520,
					    0,
					    1509978240,
					    1215971899390074240u,
					    1216172134540287360u,
					    607988272756665600u};
	struct fb_rng rng;

	fb_rng_seed(&rng, 0);
	for (size_t i = 0; i < 4; i++)
		CHECK(rng.state[i] == splitmix[i]);
	rng = (struct fb_rng){.state = {1, 2, 3, 4}};
	for (size_t i = 0; i < 6; i++)
		CHECK(fb_rng_u64(&rng) == xoshiro[i]);
}

static void test_below(void)
{
	int counts[7] = {0};
	struct fb_rng rng;

	fb_rng_seed(&rng, 1);
	CHECK_INT(fb_rng_below(&rng, 0), 0);
	CHECK_INT(fb_rng_below(&rng, 1), 0);
	for (int i = 0; i < DRAWS; i++)
		counts[fb_rng_below(&rng, 7)]++;
	/* Standard deviation 111: five of them. */
	for (int i = 0; i < 7; i++)
		CHECK_NEAR(counts[i], DRAWS / 7.0, 5 * 111);

	/* With a bound of 3/4 of 2^64, taking a remainder would favour the lower third twofold. */
	uint64_t bound = UINT64_C(3) << 62;
	int low = 0;

	for (int i = 0; i < DRAWS; i++) {
		uint64_t x = fb_rng_below(&rng, bound);

		low += x < bound / 3;
		if (x >= bound)
			CHECK(x < bound);
	}
	CHECK_NEAR(low, DRAWS / 3.0, 5 * 149);
}

static void test_unit(void)
{
	double sum = 0, squares = 0;
	struct fb_rng rng;

	fb_rng_seed(&rng, 2);
	for (int i = 0; i < DRAWS; i++) {
		double x = fb_rng_unit(&rng);

		if (x < 0 || x >= 1)
			CHECK(x >= 0 && x < 1);
		sum += x;
		squares += x * x;
	}
	CHECK_NEAR(sum / DRAWS, 0.5, 5 * 0.000913);
	CHECK_NEAR(squares / DRAWS, 1.0 / 3, 5 * 0.00094);
}

static void test_shuffle(void)
{
	int orders[6] = {0}, position = 0;
	struct fb_rng rng, again;
	unsigned char wide[3][200];

	fb_rng_seed(&rng, 3);
	for (int i = 0; i < DRAWS; i++) {
		char x[3] = {0, 1, 2};

		fb_shuffle(x, 3, 1, &rng);
		if (x[0] + x[1] + x[2] != 3)
			CHECK_INT(x[0] + x[1] + x[2], 3);
		orders[x[0] * 2 + (x[1] > x[2])]++;
	}
	for (int i = 0; i < 6; i++)
		CHECK_NEAR(orders[i], DRAWS / 6.0, 5 * 118);

	/* Elements larger than the swap buffer stay whole; the same seed gives the same order. */
	for (size_t i = 0; i < 3; i++)
		memset(wide[i], (int)i, sizeof(wide[i]));
	fb_rng_seed(&rng, 11);
	again = rng;
	fb_shuffle(wide, 3, sizeof(wide[0]), &rng);
	for (size_t i = 0; i < 3; i++) {
		for (size_t j = 1; j < sizeof(wide[i]); j++)
			CHECK_INT(wide[i][j], wide[i][0]);
		position |= 1 << wide[i][0];
	}
	CHECK_INT(position, 7);
	char small[3] = {0, 1, 2};

	fb_shuffle(small, 3, 1, &again);
	for (size_t i = 0; i < 3; i++)
		CHECK_INT(small[i], wide[i][0]);
	fb_shuffle(small, 0, 1, &again);
	fb_shuffle(small, 1, 1, &again);
}

static void test_hash(void)
{
	static const char text[] = "all_reduce/host/ring/simple/shm";
	uint64_t hash = fb_hash64(text, sizeof(text), 0);
	int flipped = 0;

	CHECK(hash == fb_hash64(text, sizeof(text), 0));
	CHECK(hash != fb_hash64(text, sizeof(text), 1));
	CHECK(hash != fb_hash64(text, sizeof(text) - 1, 0));
	CHECK(fb_hash64("", 0, 0) != fb_hash64("\0", 1, 0));
	CHECK(fb_hash64("\0", 1, 0) != fb_hash64("\0\0", 2, 0));
	/* Every bit of the input turns about half of the output. */
	for (size_t bit = 0; bit < 8 * sizeof(text); bit++) {
		char changed[sizeof(text)];

		memcpy(changed, text, sizeof(text));
		changed[bit / 8] ^= (char)(1 << (bit % 8));
		int bits = __builtin_popcountll(hash ^ fb_hash64(changed, sizeof(text), 0));

		CHECK(bits > 10 && bits < 54);
		flipped += bits;
	}
	CHECK_NEAR(flipped / (8.0 * sizeof(text)), 32, 1.5);
}

int main(void)
{
	test_known_sequences();
	test_below();
	test_unit();
	test_shuffle();
	test_hash();
	return check_done("rng");
}
