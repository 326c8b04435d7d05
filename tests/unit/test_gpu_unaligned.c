/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads and stores of the GPU engine at any address: every alignment of source and destination and
 * every length that a thread moves. A load reads aligned words that contain bytes of the block and
 * no others; a store writes the bytes of the block and no others. For a message without bytes
 * nothing is read or written. Accesses that are wrong on purpose have to be noticed.
 */
#include "common/base/rng.h"
#include "tests/cuda/scheduler.h"
#include "tests/unit/check.h"

enum { ROOM = 64, PIECE = 16, ALIGNMENTS = 16 };

enum mutation {
	NO_MUTATION,
	NO_SHIFT,   /* bytes are where the aligned words had them */
	ONE_WORD,   /* what follows the first word is the first word again */
	NO_BYTES,   /* single bytes are not stored */
	NO_PAIRS,   /* nor are pairs */
	WIDE_PAIRS, /* a pair is stored with two bytes behind it */
	MUTATIONS
};

static struct {
	uint64_t begin, end; /* of the block that is loaded */
	int outside, misaligned;
	enum mutation mutation;
} watch;

static void look_at(uint64_t address, uint64_t bytes)
{
	watch.outside += address + bytes <= watch.begin || address >= watch.end;
	watch.misaligned += address % bytes != 0;
}

static uint64_t watched_load8(uint64_t address)
{
	look_at(address, 8);
	return fb_load8(watch.mutation == ONE_WORD ? watch.begin & ~(uint64_t)7 : address);
}

static uint32_t watched_funnel(uint32_t low, uint32_t high, uint32_t bits)
{
	return fb_funnel(low, high, watch.mutation == NO_SHIFT ? 0 : bits);
}

static void watched_store4(uint64_t address, uint32_t value)
{
	watch.misaligned += address % 4 != 0;
	fb_store4(address, value);
}

static void watched_store2(uint64_t address, uint16_t value)
{
	watch.misaligned += address % 2 != 0;
	if (watch.mutation == WIDE_PAIRS)
		memset((void *)(uintptr_t)(address + 2), ~value, 2);
	if (watch.mutation != NO_PAIRS)
		fb_store2(address, value);
}

static void watched_store1(uint64_t address, uint8_t value)
{
	if (watch.mutation != NO_BYTES)
		fb_store1(address, value);
}

#define fb_load8 watched_load8
#define fb_store4 watched_store4
#define fb_store2 watched_store2
#define fb_store1 watched_store1
#define fb_funnel watched_funnel

#define ODD 1
#include "collectives/engine/cuda/types.h"

#include "collectives/engine/cuda/combine.h"
/* Needs both. */
#include "collectives/engine/cuda/unaligned.h"
#include "collectives/engine/cuda/undefine.h"

#define TYPE_bf16
#define ODD 1
#include "collectives/engine/cuda/types.h"

#include "collectives/engine/cuda/combine.h"
/* Needs both. */
#include "collectives/engine/cuda/unaligned.h"
#include "collectives/engine/cuda/undefine.h"

static const struct {
	const char *name;
	uint32_t element;
} types[] = {{"move", 1}, {"bf16", 2}};

static void load_piece(size_t type, uint64_t address, uint64_t left, unsigned char *to)
{
	union pack_odd_move bytes;
	union pack_odd_bf16 pairs;

	if (type) {
		load_piece_odd_bf16(address, left, &pairs);
		memcpy(to, &pairs, PIECE);
	} else {
		load_piece_odd_move(address, left, &bytes);
		memcpy(to, &bytes, PIECE);
	}
}

static void load_half(size_t type, uint64_t address, uint64_t left, unsigned char *to)
{
	uint64_t half = type ? load_half_odd_bf16(address, left)
			     : load_half_odd_move(address, left);

	memcpy(to, &half, sizeof(half));
}

static void store_bytes(size_t type, uint64_t address, const unsigned char *from, uint64_t bytes,
			bool half)
{
	union pack_odd_move move;
	union pack_odd_bf16 bf16;

	memcpy(&move, from, PIECE);
	memcpy(&bf16, from, PIECE);
	if (type)
		store_bytes_odd_bf16(address, &bf16, bytes, half ? PIECE / 2 : PIECE);
	else
		store_bytes_odd_move(address, &move, bytes, half ? PIECE / 2 : PIECE);
}

static uint64_t address_of(const unsigned char *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* A block of `bytes` from `from` on, of which a thread loads what it can, and stores it at `to`. */
static int move_once(size_t type, bool half, unsigned from, unsigned to, uint64_t bytes,
		     struct fb_rng *rng)
{
	_Alignas(ALIGNMENTS) unsigned char source[ROOM], target[ROOM], before[ROOM];
	unsigned char piece[PIECE] = {0};
	uint64_t most = half ? PIECE / 2 : PIECE, moved = bytes < most ? bytes : most;

	for (int i = 0; i < ROOM; i++) {
		source[i] = (unsigned char)fb_rng_u64(rng);
		target[i] = before[i] = (unsigned char)fb_rng_u64(rng);
	}
	watch.begin = address_of(source + from);
	watch.end = watch.begin + bytes;
	if (half || !bytes)
		load_half(type, address_of(source + from), bytes, piece);
	else
		load_piece(type, address_of(source + from), bytes, piece);
	store_bytes(type, address_of(target + to), piece, bytes, half);
	memcpy(before + to, source + from, moved);
	return memcmp(target, before, ROOM) != 0;
}

static void test_moves(size_t type, bool half)
{
	unsigned step = types[type].element;
	struct fb_rng rng;
	int wrong = 0;

	fb_rng_seed(&rng, 3);
	watch.outside = watch.misaligned = 0;
	for (unsigned from = ALIGNMENTS; from < 2 * ALIGNMENTS; from += step)
		for (unsigned to = ALIGNMENTS; to < 2 * ALIGNMENTS; to += step)
			for (uint64_t bytes = 0; bytes <= 2 * PIECE; bytes += step)
				wrong += move_once(type, half, from, to, bytes, &rng);
	/* Pairs have no single bytes. */
	if (!CHECK_INT(wrong != 0, watch.mutation && (type == 0 || watch.mutation != NO_BYTES)) ||
	    !CHECK_INT(watch.outside, 0) || !CHECK_INT(watch.misaligned, 0))
		printf("\t%s by %d bytes, mutation %d\n", types[type].name,
		       half ? PIECE / 2 : PIECE, watch.mutation);
}

/* By a thread of the emulator, since accesses may let others run. */
static void test_all(const void *args, unsigned char *shared)
{
	(void)args;
	(void)shared;
	for (int mutation = 0; mutation < MUTATIONS; mutation++)
		for (size_t type = 0; type < sizeof(types) / sizeof(types[0]); type++)
			for (int half = 0; half < 2; half++) {
				watch.mutation = (enum mutation)mutation;
				test_moves(type, half);
			}
}

int main(void)
{
	static const struct emu_launch launch = {.kernel = test_all, .blocks = 1, .threads = 1};

	emu.nranks = 1;
	emu.ranks[0].stream = &launch;
	emu.ranks[0].launches = 1;
	CHECK(emu_run(1));
	return check_done("gpu_unaligned");
}
