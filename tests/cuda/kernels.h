/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels of collectives/engine/cuda for the emulator, of some datatypes: one for each way in
 * which combining differs.
 */
#ifndef FB_TESTS_CUDA_KERNELS_H
#define FB_TESTS_CUDA_KERNELS_H

#include "tests/cuda/emulator.h"
#include "tests/cuda/emulator_tma.h"
/* Above both. */
#include "common/cuda/device_pipe.h"

#include "collectives/engine/cuda/table.h"

#define EMU_KERNELS(type)                                                                    \
	static void emu_simple_##type(const void *args, unsigned char *shared)               \
	{                                                                                    \
		interpret_##type(args, FB_GPU_SIMPLE, false, shared, NULL, 0);               \
	}                                                                                    \
	static void emu_ll8_##type(const void *args, unsigned char *shared)                  \
	{                                                                                    \
		interpret_##type(args, FB_GPU_LL8, false, shared, NULL, 0);                  \
	}                                                                                    \
	static void emu_ll16_##type(const void *args, unsigned char *shared)                 \
	{                                                                                    \
		interpret_##type(args, FB_GPU_LL16, false, shared, NULL, 0);                 \
	}                                                                                    \
	static void emu_ll128_##type(const void *args, unsigned char *shared)                \
	{                                                                                    \
		interpret_##type(args, FB_GPU_LL128, false, shared, NULL, 0);                \
	}                                                                                    \
	static void emu_tma_##type(const void *args, unsigned char *shared)                  \
	{                                                                                    \
		interpret_##type(args, FB_GPU_SIMPLE, false, shared,                         \
				 shared + FB_GPU_SHARED, EMU_POOL);                          \
	}                                                                                    \
	static void emu_striped_##type(const void *args, unsigned char *shared)              \
	{                                                                                    \
		interpret_##type(args, FB_GPU_SIMPLE, true, shared, NULL, 0);                \
	}                                                                                    \
	static void emu_exchange_##type(const void *args, unsigned char *shared)             \
	{                                                                                    \
		const struct fb_gpu_exchange *x = args;                                      \
                                                                                             \
		(void)shared;                                                                \
		exchange_##type(x, x->flags & FB_GPU_SAME);                                  \
	}                                                                                    \
	static void emu_lines_##type(const void *args, unsigned char *shared)                \
	{                                                                                    \
		const struct fb_gpu_exchange *x = args;                                      \
                                                                                             \
		(void)shared;                                                                \
		exchange_lines_##type(x, x->flags & FB_GPU_SAME,                             \
				      x->npeers == 1 ? 1                                     \
				      : x->npeers <= FB_GPU_FEW_PEERS ? FB_GPU_FEW_PEERS     \
								      : FB_GPU_MOST_PEERS);  \
	}

#include "tests/cuda/kernel_sets.h"

#define TYPE_f32
#include "tests/cuda/kernel_sets.h"
#undef TYPE_f32
#define TYPE_bf16
#include "tests/cuda/kernel_sets.h"
#undef TYPE_bf16
#define TYPE_f16
#include "tests/cuda/kernel_sets.h"
#undef TYPE_f16
#define TYPE_f64
#include "tests/cuda/kernel_sets.h"
#undef TYPE_f64
#define TYPE_i8
#include "tests/cuda/kernel_sets.h"
#undef TYPE_i8
#define TYPE_u8
#include "tests/cuda/kernel_sets.h"
#undef TYPE_u8
#define TYPE_i32
#include "tests/cuda/kernel_sets.h"
#undef TYPE_i32
#define TYPE_u32
#include "tests/cuda/kernel_sets.h"
#undef TYPE_u32
#define TYPE_i64
#include "tests/cuda/kernel_sets.h"
#undef TYPE_i64
#define TYPE_u64
#include "tests/cuda/kernel_sets.h"
#undef TYPE_u64
#define TYPE_f8e4m3
#include "tests/cuda/kernel_sets.h"
#undef TYPE_f8e4m3
#define TYPE_f8e5m2
#include "tests/cuda/kernel_sets.h"
#undef TYPE_f8e5m2

EMU_KERNELS(move)
EMU_KERNELS(odd_move)
EMU_KERNELS(i8)
EMU_KERNELS(odd_i8)
EMU_KERNELS(u8)
EMU_KERNELS(odd_u8)
EMU_KERNELS(i32)
EMU_KERNELS(odd_i32)
EMU_KERNELS(u32)
EMU_KERNELS(odd_u32)
EMU_KERNELS(i64)
EMU_KERNELS(odd_i64)
EMU_KERNELS(u64)
EMU_KERNELS(odd_u64)
EMU_KERNELS(f16)
EMU_KERNELS(odd_f16)
EMU_KERNELS(bf16)
EMU_KERNELS(odd_bf16)
EMU_KERNELS(f32)
EMU_KERNELS(odd_f32)
EMU_KERNELS(f64)
EMU_KERNELS(odd_f64)
EMU_KERNELS(f8e4m3)
EMU_KERNELS(odd_f8e4m3)
EMU_KERNELS(f8e5m2)
EMU_KERNELS(odd_f8e5m2)

struct emu_kernels {
	emu_kernel by_protocol[FB_GPU_PROTOCOLS], exchange, lines, tma, striped;
};

#define EMU_ROW(set, type)                                                                   \
	{                                                                                    \
		{emu_simple_##set##type, emu_ll8_##set##type,                                \
		 emu_ll16_##set##type, emu_ll128_##set##type}, emu_exchange_##set##type,     \
			emu_lines_##set##type, emu_tma_##set##type, emu_striped_##set##type  \
	}

#define EMU_TABLE(set)                                                                       \
	{                                                                                    \
		[FB_I8] = EMU_ROW(set, i8), [FB_U8] = EMU_ROW(set, u8),                      \
		[FB_I32] = EMU_ROW(set, i32), [FB_U32] = EMU_ROW(set, u32),                  \
		[FB_I64] = EMU_ROW(set, i64), [FB_U64] = EMU_ROW(set, u64),                  \
		[FB_F16] = EMU_ROW(set, f16), [FB_BF16] = EMU_ROW(set, bf16),                \
		[FB_F32] = EMU_ROW(set, f32), [FB_F64] = EMU_ROW(set, f64),                  \
		[FB_F8E4M3] = EMU_ROW(set, f8e4m3), [FB_F8E5M2] = EMU_ROW(set, f8e5m2),      \
	}

/* For aligned memory, and for any. */
static const struct emu_kernels emu_kernels[2][FB_DATATYPES] = {EMU_TABLE(), EMU_TABLE(odd_)};
static const struct emu_kernels emu_movers[2] = {EMU_ROW(, move), EMU_ROW(odd_, move)};

#endif
