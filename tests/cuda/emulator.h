/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device code on the processor: what common/cuda/device.h is on a GPU.
 *
 * Every thread of every block of every rank is a coroutine of one thread. A scheduler runs them
 * in random order, from a seed: it may switch wherever a GPU's threads could be seen to differ
 * (each access to what others access), and holds single ranks back for long, so that a wait that
 * is missing shows within few calls. Each rank has a stream of launches of its own, so ranks are
 * calls apart from each other. Nothing changing for long is a deadlock and is reported; where other
 * processes have a part (patience_s), long is by the clock.
 *
 * What it cannot show are reordered memory accesses: everything here happens in one order.
 */
#ifndef FB_TESTS_CUDA_EMULATOR_H
#define FB_TESTS_CUDA_EMULATOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/datatype.h"
#include "common/base/float8.h"
#include "tests/cuda/coroutine.h"

#define FB_DEVICE static inline __attribute__((unused))
#define FB_OUTLINE static __attribute__((noinline, unused))
#define FB_ROLLED
#define FB_UNROLL

/* Small, so that blocks have several. ll128 needs groups of 8. */
enum { FB_WARP = 8 };

enum { EMU_MOST_THREADS = 64, EMU_MOST_BLOCKS = 16, EMU_MOST_RANKS = 8 };

struct fb_words4 {
	uint32_t w[4];
};

typedef void (*emu_kernel)(const void *args, unsigned char *shared);

struct emu_launch {
	emu_kernel kernel;
	const void *args;
	uint32_t blocks, threads;
};

struct emu_barrier {
	uint32_t arrived, generation;
};

struct emu_block {
	struct emu_barrier all, warp[EMU_MOST_THREADS / FB_WARP];
	uint32_t votes[EMU_MOST_THREADS / FB_WARP];
	_Alignas(16) unsigned char shared[16384];
};

struct emu_thread {
	struct emu_coroutine *coroutine;
	int rank;
	uint32_t block, thread;
	bool alive;
	bool stale, dirty;   /* since its last fence: has met others; wrote shared memory */
	unsigned last_group; /* of bulk stores */
};

struct emu_rank {
	const struct emu_launch *stream; /* [launches] */
	int launches, next;
	uint32_t alive; /* threads of the launch under way */
	struct emu_block blocks[EMU_MOST_BLOCKS];
};

/* What can be broken on purpose. */
enum emu_blindness {
	EMU_SEES = 0,
	EMU_BLIND_FLAGS = 1,
	EMU_BLIND_COUNTERS = 2,
	EMU_TRUST_APART = 4, /* a line that was not loaded at once passes for one that was */
};

struct emu {
	struct emu_rank ranks[EMU_MOST_RANKS];
	struct emu_thread threads[EMU_MOST_RANKS * EMU_MOST_BLOCKS * EMU_MOST_THREADS];
	struct emu_thread *now;
	int nranks, nthreads, held; /* held: the rank held back */
	uint64_t hold;                /* picks until another one is */
	uint64_t random, changes, switches;
	unsigned blind;
	unsigned patience_s; /* 0: nobody else changes anything, so nothing does for long */
};

static struct emu emu;

static inline uint32_t emu_random(void)
{
	emu.random = emu.random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(emu.random >> 33);
}

static inline const struct emu_launch *emu_launch_now(void)
{
	const struct emu_rank *r = &emu.ranks[emu.now->rank];

	return &r->stream[r->next];
}

static inline struct emu_block *emu_block_now(void)
{
	return &emu.ranks[emu.now->rank].blocks[emu.now->block];
}

/* A place where another thread may come first. */
static inline void emu_maybe_switch(void)
{
	if (emu_random() % 8 == 0)
		emu_yield();
}

/* The same for plain data, of which there is much. */
static inline void emu_seldom_switch(void)
{
	if (emu_random() % 64 == 0)
		emu_yield();
}

/* Something that others may wait for has happened. */
static inline void emu_changed(void)
{
	emu.changes++;
	emu_maybe_switch();
}

FB_DEVICE uint32_t fb_thread(void)
{
	return emu.now->thread;
}

FB_DEVICE uint32_t fb_threads(void)
{
	return emu_launch_now()->threads;
}

FB_DEVICE uint32_t fb_block(void)
{
	return emu.now->block;
}

FB_DEVICE uint32_t fb_blocks(void)
{
	return emu_launch_now()->blocks;
}

/* Warps meet while they poll, too: that alone changes nothing. */
static inline void emu_barrier_wait(struct emu_barrier *b, uint32_t n)
{
	uint32_t generation = b->generation;

	if (++b->arrived == n) {
		b->arrived = 0;
		b->generation++;
		return;
	}
	while (b->generation == generation)
		emu_yield();
}

FB_DEVICE void fb_sync_block(void)
{
	emu_barrier_wait(&emu_block_now()->all, fb_threads());
	emu.now->stale = true;
}

static inline void emu_sync_warp(void)
{
	emu_barrier_wait(&emu_block_now()->warp[fb_thread() / FB_WARP], FB_WARP);
}

FB_DEVICE bool fb_any(bool vote)
{
	uint32_t *votes = &emu_block_now()->votes[fb_thread() / FB_WARP];
	bool any;

	emu_sync_warp();
	*votes = 0;
	emu_sync_warp();
	*votes |= vote;
	emu_sync_warp();
	any = *votes != 0;
	emu_sync_warp();
	return any;
}

FB_DEVICE void fb_again(void)
{
	emu_yield();
}

FB_DEVICE bool fb_is_flag(uint64_t seen, uint64_t wanted)
{
	return seen == wanted || (emu.blind & EMU_BLIND_FLAGS);
}

FB_DEVICE bool fb_is_reached(uint64_t seen, uint64_t wanted)
{
	return (int64_t)(seen - wanted) >= 0 || (emu.blind & EMU_BLIND_COUNTERS);
}

FB_DEVICE void fb_let_next(void)
{
}

FB_DEVICE void fb_await_last(void)
{
}

FB_DEVICE uint64_t fb_device_time(void)
{
	return emu.switches;
}

/* Addresses are numbers in device code; here they are pointers of this process. */
static inline void *emu_at(uint64_t address)
{
	return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

#define EMU_LOAD(name, type, switch_)                        \
	FB_DEVICE type name(uint64_t address)                \
	{                                                    \
		type value;                                  \
							     \
		switch_();                                   \
		memcpy(&value, emu_at(address), sizeof(value)); \
		return value;                                \
	}
#define EMU_STORE(name, type, switch_)                        \
	FB_DEVICE void name(uint64_t address, type value)     \
	{                                                     \
		memcpy(emu_at(address), &value, sizeof(value)); \
		emu.changes++;                                \
		switch_();                                    \
	}

EMU_LOAD(fb_load_private, uint64_t, emu_seldom_switch)
EMU_LOAD(fb_load16, struct fb_words4, emu_seldom_switch)
EMU_LOAD(fb_load8, uint64_t, emu_seldom_switch)
EMU_LOAD(fb_load_word, uint64_t, emu_seldom_switch)
EMU_LOAD(fb_load4, uint32_t, emu_seldom_switch)
EMU_LOAD(fb_load2, uint16_t, emu_seldom_switch)
EMU_LOAD(fb_load1, uint8_t, emu_seldom_switch)
EMU_STORE(fb_store_private, uint64_t, emu_seldom_switch)
EMU_STORE(fb_store16, struct fb_words4, emu_seldom_switch)
EMU_STORE(fb_store8, uint64_t, emu_seldom_switch)
EMU_STORE(fb_store4, uint32_t, emu_seldom_switch)
EMU_STORE(fb_store2, uint16_t, emu_seldom_switch)
EMU_STORE(fb_store1, uint8_t, emu_seldom_switch)

#undef EMU_LOAD
#undef EMU_STORE

FB_DEVICE uint32_t fb_funnel(uint32_t low, uint32_t high, uint32_t skipped)
{
	return (uint32_t)(((uint64_t)high << 32 | low) >> skipped);
}

/* A proxy's thread may be at the other end. */
FB_DEVICE uint64_t fb_load_counter(uint64_t address)
{
	emu_maybe_switch();
	return __atomic_load_n((const uint64_t *)emu_at(address), __ATOMIC_ACQUIRE);
}

FB_DEVICE void fb_post(uint64_t address, uint64_t value)
{
	__atomic_store_n((uint64_t *)emu_at(address), value, __ATOMIC_RELEASE);
	emu_changed();
}

/* A GPU promises 8 bytes at once, so here lines are never moved by more. */
FB_DEVICE struct fb_words4 fb_load_line(uint64_t address, bool by_word)
{
	struct fb_words4 v;

	(void)by_word;
	emu_maybe_switch();
	memcpy(v.w, emu_at(address), 8);
	emu_maybe_switch();
	memcpy(v.w + 2, emu_at(address + 8), 8);
	return v;
}

FB_DEVICE void fb_store_line(uint64_t address, struct fb_words4 v, bool by_word)
{
	(void)by_word;
	memcpy(emu_at(address), v.w, 8);
	emu_changed();
	memcpy(emu_at(address + 8), v.w + 2, 8);
	emu_changed();
}

FB_DEVICE void fb_hold(uint64_t *value)
{
	(void)value;
}

FB_DEVICE void fb_sync_warp(void)
{
	emu_sync_warp();
}

/*
 * Whether a warp that is about to load or store has come apart; all its threads get the same
 * answer.
 */
static inline bool emu_apart(void)
{
	uint32_t *word = &emu_block_now()->votes[fb_thread() / FB_WARP];
	bool apart;

	emu_sync_warp();
	*word = emu_random() % 4;
	emu_sync_warp();
	apart = *word == 0;
	emu_sync_warp();
	return apart;
}

/*
 * 8 threads' parts of a line are loaded, and stored, as one: the flag is first, and last. Threads
 * that are apart load when they come to it, the flag's last, which is the worst.
 */
FB_DEVICE bool fb_load_part(uint64_t address, uint32_t lane, bool active, struct fb_words4 *v)
{
	bool apart = emu_apart();
	bool early = (lane == FB_WARP - 1) != apart;

	*v = (struct fb_words4){{0, 0, 0, 0}};
	if (active && early)
		memcpy(v->w, emu_at(address), 16);
	emu_sync_warp();
	if (apart)
		emu_maybe_switch();
	if (active && !early)
		memcpy(v->w, emu_at(address), 16);
	return !apart || (emu.blind & EMU_TRUST_APART);
}

FB_DEVICE bool fb_store_part(uint64_t address, struct fb_words4 v, uint32_t lane, bool active)
{
	if (emu_apart())
		return false;
	if (active && lane != FB_WARP - 1)
		memcpy(emu_at(address), v.w, 16);
	emu_sync_warp();
	if (active && lane == FB_WARP - 1)
		memcpy(emu_at(address), v.w, 16);
	emu_changed();
	return true;
}

FB_DEVICE void fb_order_warp(void)
{
	emu_sync_warp();
}

#define FB_WIDEN_F16(e) fb_widen_f16(e)
#define FB_NARROW_F16(c) fb_narrow_f16(c)
#define FB_WIDEN_BF16(e) fb_widen_bf16(e)
#define FB_NARROW_BF16(c) fb_narrow_bf16(c)
#define FB_WIDEN_E4M3(e) fb_widen_e4m3(e)
#define FB_NARROW_E4M3(c) fb_narrow_e4m3(c)
#define FB_WIDEN_E5M2(e) fb_widen_e5m2(e)
#define FB_NARROW_E5M2(c) fb_narrow_e5m2(c)

#endif
