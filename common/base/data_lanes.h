/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops over the lanes of one block: a template without include guard, which data_values.c
 * includes once for 32-bit and once for 64-bit words, so that narrow types run twice as many
 * lanes per vector. All loops have a constant length, which is what lets gcc vectorise them at
 * -O2. The includer defines WORD (the type) and LANES(name).
 */

/* One word per lane: any bits. */
static void LANES(words)(const uint32_t *restrict base, uint32_t key, WORD *restrict out)
{
	for (size_t i = 0; i < FB_DATA_BLOCK; i++)
		out[i] = LANES(word)(base[i], key);
}

/* The value that one rank adds. */
static void LANES(term)(const struct fb_data_terms *terms, const uint32_t *restrict base,
			uint32_t rank, WORD *restrict out)
{
	for (size_t g = 0; g < FB_DATA_PERIODS; g++, base += GROUP, out += GROUP) {
		uint32_t period = terms->periods[g], slots = terms->slots[g];
		uint32_t residue = rank % period;

		if (!terms->sparse) {
			for (size_t i = 0; i < GROUP; i++)
				out[i] = (LANES(word)(base[i], terms->keys[residue]) >>
					  terms->shift) -
					 (WORD)terms->offset;
			continue;
		}
		for (size_t i = 0; i < GROUP; i++) {
			uint32_t slot = residue + draw(base[i], period);

			slot = slot >= period ? slot - period : slot;
			WORD one = slot & 1 ? (WORD)-1 : 1;

			out[i] = slot < slots ? one : 0;
		}
	}
}

/* The sum of dense terms over n ranks: classes below n mod P have one rank more. */
static void LANES(dense_sum)(const struct fb_data_terms *terms, size_t g,
			     const uint32_t *restrict base, uint32_t n, WORD *restrict out)
{
	uint32_t period = terms->periods[g], rounds = n / period, rest = n % period;
	uint32_t classes = n < period ? n : period;
	WORD more[GROUP] = {0}, less[GROUP] = {0};

	for (uint32_t c = 0; c < classes; c++) {
		WORD *to = c < rest ? more : less;

		for (size_t i = 0; i < GROUP; i++)
			to[i] += (LANES(word)(base[i], terms->keys[c]) >> terms->shift) -
				 (WORD)terms->offset;
	}
	for (size_t i = 0; i < GROUP; i++)
		out[i] = more[i] * (rounds + 1) + less[i] * rounds;
}

/* The sum of sparse terms: slot s is the class of ranks that are s - draw modulo P. */
static void LANES(sparse_sum)(const struct fb_data_terms *terms, size_t g,
			      const uint32_t *restrict base, uint32_t n, WORD *restrict out)
{
	uint32_t period = terms->periods[g], rounds = n / period, rest = n % period;
	uint32_t starts[GROUP];
	WORD sum[GROUP] = {0};

	for (size_t i = 0; i < GROUP; i++)
		starts[i] = period - draw(base[i], period);
	for (uint32_t s = 0; s < terms->slots[g]; s++) {
		WORD negative = s & 1 ? (WORD)-1 : 0;

		for (size_t i = 0; i < GROUP; i++) {
			uint32_t residue = starts[i] + s;

			residue = residue >= period ? residue - period : residue;
			WORD ranks = rounds + (residue < rest);

			sum[i] += (ranks ^ negative) - negative;
		}
	}
	memcpy(out, sum, sizeof(sum));
}

static void LANES(sum)(const struct fb_data_terms *terms, const uint32_t *restrict base, uint32_t n,
		       WORD *restrict out)
{
	for (size_t g = 0; g < FB_DATA_PERIODS; g++, base += GROUP, out += GROUP) {
		if (terms->sparse)
			LANES(sparse_sum)(terms, g, base, n, out);
		else
			LANES(dense_sum)(terms, g, base, n, out);
	}
}

/* The product over n ranks of the terms made odd: (all classes)^rounds times (the rest). */
static void LANES(product)(const struct fb_data_terms *terms, const uint32_t *restrict base,
			   uint32_t n, WORD *restrict out)
{
	for (size_t g = 0; g < FB_DATA_PERIODS; g++, base += GROUP, out += GROUP) {
		uint32_t period = terms->periods[g], rounds = n / period, rest = n % period;
		WORD more[GROUP], less[GROUP];

		for (size_t i = 0; i < GROUP; i++)
			more[i] = less[i] = 1;
		for (uint32_t c = 0; c < period && c < n; c++) {
			WORD *to = c < rest ? more : less;

			for (size_t i = 0; i < GROUP; i++)
				to[i] *= LANES(word)(base[i], terms->keys[c]) | 1;
		}
		for (size_t i = 0; i < GROUP; i++) {
			out[i] = more[i];
			more[i] *= less[i];
		}
		for (uint32_t power = rounds; power > 0; power /= 2)
			for (size_t i = 0; i < GROUP; i++) {
				out[i] *= power & 1 ? more[i] : 1;
				more[i] *= more[i];
			}
	}
}

/* The extreme value of each lane, whichever rank holds it. */
static void LANES(best)(const struct fb_data_extremes *extremes, const uint32_t *restrict base,
			WORD *restrict out)
{
	const WORD keep = (WORD)extremes->best_keep, set = (WORD)extremes->best_set;

	for (size_t i = 0; i < FB_DATA_BLOCK; i++)
		out[i] = (LANES(word)(base[i], extremes->best_key) & keep) | set;
}

/* The value that one rank compares: the extreme one if the rank was drawn, else a moderate one. */
static void LANES(extreme)(const struct fb_data_extremes *extremes, const uint32_t *restrict base,
			   uint32_t key, uint32_t rank, uint32_t n, WORD *restrict out)
{
	const WORD keep = (WORD)extremes->other_keep, set = (WORD)extremes->other_set;
	const WORD copy = (WORD)extremes->other_copy;

	LANES(best)(extremes, base, out);
	for (size_t i = 0; i < FB_DATA_BLOCK; i++) {
		WORD x = LANES(word)(base[i], key);
		WORD other = (x & keep) | set | ((x >> 1) & copy);

		out[i] = draw(base[i], n) == rank ? out[i] : other;
	}
}

#undef WORD
#undef LANES
