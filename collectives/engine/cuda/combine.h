/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions of one datatype on 16 bytes: a template without include guard, for C and CUDA.
 *
 * The includer defines NAME(name), and for types that are reduced
 *	ELEMENT     how an element is stored
 *	COMPUTE     what is computed with
 *	WIDEN(e)    an element as COMPUTE
 *	NARROW(c)   and back, rounded to nearest even
 *	DIVIDE(c,n) the average's division
 *	ADD(x,y), MULTIPLY(x,y)
 * MOVE_ONLY says that there is nothing to combine: any element, as bytes.
 *
 * The results are those of the host's kernels (common/base/combine.c): 8- and 16-bit floats are
 * widened, combined and rounded at each combination, integers wrap. The operation is looked at
 * once per 16 bytes, which costs nothing beside memory, and makes one kernel of five.
 */

union NAME(pack) {
	struct fb_words4 words;
	uint64_t halves[2];
	ELEMENT e[16 / sizeof(ELEMENT)];
};

enum { NAME(PER_PACK) = 16 / sizeof(ELEMENT) };

#ifdef MOVE_ONLY

FB_DEVICE void NAME(combine)(uint32_t op, union NAME(pack) *a, const union NAME(pack) *b)
{
	(void)op;
	(void)a;
	(void)b;
}

FB_DEVICE void NAME(combine_half)(uint32_t op, union NAME(pack) *a, const union NAME(pack) *b)
{
	NAME(combine)(op, a, b);
}

FB_DEVICE void NAME(finish)(union NAME(pack) *a, uint32_t n)
{
	(void)a;
	(void)n;
}

#else

#define EACH(expression)                                                   \
	do {                                                               \
		FB_UNROLL                                                  \
		for (int i = 0; i < n; i++) {                              \
			const COMPUTE x = WIDEN(a->e[i]);                  \
			const COMPUTE y = WIDEN(b->e[i]);                  \
									   \
			a->e[i] = NARROW(expression);                      \
		}                                                          \
	} while (0)

FB_DEVICE void NAME(combine_some)(uint32_t op, union NAME(pack) *a, const union NAME(pack) *b,
				  const int n)
{
	if (op == FB_SUM || op == FB_AVG)
		EACH(ADD(x, y));
	else if (op == FB_PROD)
		EACH(MULTIPLY(x, y));
	else if (op == FB_MIN)
		EACH(x < y ? x : y);
	else
		EACH(x > y ? x : y);
}

#undef EACH

FB_DEVICE void NAME(combine)(uint32_t op, union NAME(pack) *a, const union NAME(pack) *b)
{
	NAME(combine_some)(op, a, b, NAME(PER_PACK));
}

/* The first 8 bytes. */
FB_DEVICE void NAME(combine_half)(uint32_t op, union NAME(pack) *a, const union NAME(pack) *b)
{
	NAME(combine_some)(op, a, b, NAME(PER_PACK) / 2);
}

FB_DEVICE void NAME(finish)(union NAME(pack) *a, uint32_t n)
{
	FB_UNROLL
	for (int i = 0; i < NAME(PER_PACK); i++) {
		const COMPUTE x = WIDEN(a->e[i]);

		a->e[i] = NARROW(DIVIDE(x, n));
	}
}

#endif
