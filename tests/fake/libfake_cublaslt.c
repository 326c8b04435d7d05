/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cuBLASLt and a cuBLAS for the fake CUDA runtime, whose device memory is the host's: products
 * are computed as the arguments say, so that wrong layouts make wrong products. With
 * FAKE_CUBLASLT_WRONG one element of each product of 8-bit floats is wrong.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TRANSPOSED = 1, BF16 = 14, E4M3 = 28, COMPUTE_F32 = 68, TRANSPOSE_A = 3, REFUSED = 7 };

struct desc {
	int transposed;
};

struct layout {
	int type;
	uint64_t rows, columns;
	int64_t ld;
};

#define API(name, ...)                                                                             \
	int name(__VA_ARGS__);                                                                     \
	int name(__VA_ARGS__)

static float from_bf16(uint16_t bits)
{
	uint32_t wide = (uint32_t)bits << 16;
	float value;

	memcpy(&value, &wide, sizeof(value));
	return value;
}

/* To the nearest, ties to even. */
static uint16_t to_bf16(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* E4M3: four bits of exponent with a bias of 7. */
static float from_e4m3(uint8_t bits)
{
	int exponent = bits >> 3 & 15, fraction = bits & 7;
	float size = exponent ? ldexpf((float)(8 + fraction), exponent - 10)
			      : ldexpf((float)fraction, -9);

	return bits & 128 ? -size : size;
}

/* --- cuBLAS ---------------------------------------------------------------------------------- */

API(cublasCreate_v2, void **handle)
{
	*handle = malloc(1);
	return !*handle;
}

API(cublasDestroy_v2, void *handle)
{
	free(handle);
	return 0;
}

API(cublasGetVersion_v2, void *handle, int *version)
{
	(void)handle;
	*version = 120803;
	return 0;
}

API(cublasSetStream_v2, void *handle, void *stream)
{
	(void)handle, (void)stream;
	return 0;
}

API(cublasSetWorkspace_v2, void *handle, void *workspace, size_t bytes)
{
	(void)handle, (void)workspace, (void)bytes;
	return 0;
}

API(cublasSetSmCountTarget, void *handle, int sms)
{
	(void)handle;
	return sms < 0 || sms > 132;
}

API(cublasGemmEx, void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
			const uint16_t *a, int a_type, int lda, const uint16_t *b, int b_type,
			int ldb, const void *beta, uint16_t *c, int c_type, int ldc,
			int compute_type, int algorithm)
{
	(void)handle, (void)alpha, (void)beta, (void)algorithm;
	if (op_a || a_type != BF16 || b_type != BF16 || c_type != BF16 ||
	    compute_type != COMPUTE_F32)
		return REFUSED;
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++) {
			float sum = 0;

			for (int x = 0; x < k; x++)
				sum += from_bf16(a[(size_t)x * (size_t)lda + (size_t)i]) *
				       from_bf16(op_b ? b[(size_t)x * (size_t)ldb + (size_t)j]
						      : b[(size_t)j * (size_t)ldb + (size_t)x]);
			c[(size_t)j * (size_t)ldc + (size_t)i] = to_bf16(sum);
		}
	return 0;
}

/* --- cuBLASLt -------------------------------------------------------------------------------- */

API(cublasLtCreate, void **handle)
{
	*handle = malloc(1);
	return !*handle;
}

API(cublasLtDestroy, void *handle)
{
	free(handle);
	return 0;
}

API(cublasLtMatmulDescCreate, void **desc, int compute_type, int scale_type)
{
	*desc = calloc(1, sizeof(struct desc));
	return !*desc || compute_type != COMPUTE_F32 || scale_type;
}

API(cublasLtMatmulDescDestroy, void *desc)
{
	free(desc);
	return 0;
}

API(cublasLtMatmulDescSetAttribute, void *desc, int attribute, const void *value,
					  size_t bytes)
{
	int32_t number;

	if (bytes != sizeof(number))
		return REFUSED;
	memcpy(&number, value, bytes);
	if (attribute == TRANSPOSE_A)
		((struct desc *)desc)->transposed = number;
	return 0;
}

API(cublasLtMatrixLayoutCreate, void **layout, int type, uint64_t rows, uint64_t columns,
				      int64_t ld)
{
	struct layout *l = calloc(1, sizeof(*l));

	if (!l)
		return REFUSED;
	*l = (struct layout){type, rows, columns, ld};
	*layout = l;
	return 0;
}

API(cublasLtMatrixLayoutDestroy, void *layout)
{
	free(layout);
	return 0;
}

API(cublasLtMatmul, void *handle, void *desc, const float *alpha, const uint8_t *a,
			  const struct layout *la, const uint8_t *b, const struct layout *lb,
			  const float *beta, const void *c, const struct layout *lc, uint16_t *d,
			  const struct layout *ld, const void *algorithm, void *workspace,
			  size_t bytes, void *stream)
{
	(void)algorithm, (void)workspace, (void)bytes, (void)stream;
	/* What Hopper has: both of 8 bits, the first one transposed, multiples of 16. */
	if (!handle || ((struct desc *)desc)->transposed != TRANSPOSED || la->type != E4M3 ||
	    lb->type != E4M3 || ld->type != BF16 || lc->type != BF16 || c != d || *alpha != 1 ||
	    *beta != 0 || la->rows != lb->rows || la->columns != ld->rows ||
	    lb->columns != ld->columns || la->rows % 16 || ld->rows % 16 || ld->columns % 16)
		return REFUSED;
	for (uint64_t j = 0; j < ld->columns; j++)
		for (uint64_t i = 0; i < ld->rows; i++) {
			float sum = 0;

			for (uint64_t k = 0; k < la->rows; k++)
				sum += from_e4m3(a[i * (uint64_t)la->ld + k]) *
				       from_e4m3(b[j * (uint64_t)lb->ld + k]);
			d[j * (uint64_t)ld->ld + i] = to_bf16(sum);
		}
	if (getenv("FAKE_CUBLASLT_WRONG"))
		d[ld->rows] = to_bf16(1e6F);
	return 0;
}
