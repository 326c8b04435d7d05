/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks' memory for engine multimem, with stores that arrive as late as the memory model of PTX
 * allows. It is on top of emulator_multimem.h, and kernels that are included behind it use its
 * functions in the place of the emulator's.
 *
 * Each rank's memory is there twice: as loads by its own address see it, and as ld_reduce sees it.
 * A store waits in a list. It arrives in the memory that its own kind of address sees when the
 * thread that stored, or one that has met this thread since, executes a fence. For the other memory
 * fence.proxy.alias is needed as well, by such a thread or by any thread later. By chance a store
 * arrives in either earlier. Loads are never early: they see what has arrived.
 */
#ifndef FB_TESTS_CUDA_WEAK_H
#define FB_TESTS_CUDA_WEAK_H

#include "tests/cuda/emulator_multimem.h"

enum { WEAK_RANKS = 3, WEAK_BYTES = 4096, WEAK_STORES = 1024 };

/* What is broken on purpose. */
static enum mutation {
	NO_MUTATION,
	NO_FIRST,     /* the barrier at the beginning is left out */
	NO_LAST,      /* the barrier at the end is */
	OLD_NUMBER,   /* the number of the barrier before is waited for */
	SAME_NUMBER,  /* each call has the numbers of the first */
	EARLY_NUMBER, /* the next call's number is stored while threads still load this call's */
	RESET,        /* who has seen a peer's number sets it to 0, though the peer may be ahead */
	SILENT,       /* rank 0 posts nothing */
	EARLY_POST,   /* numbers are posted before the block's threads have met */
	EARLY_DATA,   /* threads that wait for no peer do not meet those that do */
	NO_FENCE,     /* numbers are posted without a fence before them */
	NO_ALIAS,     /* nobody executes fence.proxy.alias */
} weak_mutation;

enum weak_address { WEAK_OWN, WEAK_MULTIMEM, WEAK_ADDRESSES };

static struct weak {
	_Alignas(16) char memory[WEAK_ADDRESSES][WEAK_RANKS][WEAK_BYTES];
	_Alignas(16) char window[WEAK_BYTES]; /* gives multimem addresses; nothing is in it */
	struct weak_store {
		char *to[2]; /* by the address of the store, and by the other; NULL: it is there */
		uint32_t bytes;
		int rank; /* where the thread is that has stored */
		uint32_t block, thread;
		bool met, fenced, aliased;
		unsigned char value[16];
	} stores[WEAK_STORES];
	uint32_t nstores;
	uint64_t seen; /* the address of the number that was loaded last */
	bool behind[EMU_MOST_RANKS * EMU_MOST_BLOCKS * EMU_MOST_THREADS]; /* posts of a barrier */
} weak;

static void weak_reset(void)
{
	memset(&weak, 0, sizeof(weak));
}

static int emu_replicas(uint64_t address, char *replica[EMU_MOST_RANKS])
{
	uint64_t at = address - (uint64_t)(uintptr_t)weak.window;

	for (int r = 0; r < WEAK_RANKS && at < WEAK_BYTES; r++)
		replica[r] = weak.memory[WEAK_MULTIMEM][r] + at;
	return at < WEAK_BYTES ? WEAK_RANKS : 0;
}

static void weak_arrive(struct weak_store *s, int where)
{
	if (s->to[where])
		memcpy(s->to[where], s->value, s->bytes);
	s->to[where] = NULL;
	emu.changes++;
}

/* What fences ask for, in the order of the stores; those that are everywhere leave the list. */
static void weak_settle(void)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < weak.nstores; i++) {
		struct weak_store *s = &weak.stores[i];

		if (s->fenced)
			weak_arrive(s, 0);
		if (s->fenced && s->aliased)
			weak_arrive(s, 1);
		if (s->to[0] || s->to[1])
			weak.stores[left++] = *s;
	}
	weak.nstores = left;
}

static void weak_store(char *to, enum weak_address by, const void *value, uint32_t bytes)
{
	const ptrdiff_t apart = weak.memory[WEAK_MULTIMEM][0] - weak.memory[WEAK_OWN][0];
	struct weak_store *s;

	if (weak.nstores == WEAK_STORES)
		weak.stores[0].fenced = weak.stores[0].aliased = true;
	if (emu_random() % 8 == 0 && weak.nstores)
		weak_arrive(&weak.stores[emu_random() % weak.nstores], (int)(emu_random() % 2));
	weak_settle();
	s = &weak.stores[weak.nstores++];
	*s = (struct weak_store){.to = {to, by == WEAK_OWN ? to + apart : to - apart},
				 .bytes = bytes, .rank = emu.now->rank, .block = fb_block(),
				 .thread = fb_thread()};
	memcpy(s->value, value, bytes);
	emu_seldom_switch();
}

static bool weak_is_behind(const struct weak_store *s)
{
	return s->rank == emu.now->rank && s->block == fb_block() &&
	       (s->met || s->thread == fb_thread());
}

static void weak_fence(void)
{
	for (uint32_t i = 0; i < weak.nstores; i++)
		weak.stores[i].fenced |= weak_is_behind(&weak.stores[i]);
	weak_settle();
}

/* --- what kernels call ------------------------------------------------------------------------ */

FB_DEVICE void weak_sync_block(void)
{
	bool *behind = &weak.behind[emu.now - emu.threads];

	*behind = !*behind; /* a barrier meets before its posts and behind them */
	if (weak_mutation == (*behind ? EARLY_POST : EARLY_DATA))
		return;
	for (uint32_t i = 0; i < weak.nstores; i++)
		weak.stores[i].met |= weak_is_behind(&weak.stores[i]);
	fb_sync_block();
}

FB_DEVICE void weak_fence_alias(void)
{
	for (uint32_t i = 0; i < weak.nstores && weak_mutation != NO_ALIAS; i++)
		weak.stores[i].aliased |= weak.stores[i].fenced || weak_is_behind(&weak.stores[i]);
	weak_settle();
}

/* Of a call, the first barrier has an odd number. */
static bool weak_left_out(uint64_t number)
{
	return weak_mutation == (number % 2 ? NO_FIRST : NO_LAST);
}

FB_DEVICE void weak_post(uint64_t address, uint64_t number)
{
	if (weak_left_out(number) || (weak_mutation == SILENT && emu.now->rank == 0))
		return;
	if (weak_mutation != NO_FENCE)
		weak_fence();
	fb_post(address, number);
}

FB_DEVICE uint64_t weak_load_counter(uint64_t address)
{
	uint64_t number = fb_load_counter(address);

	weak.seen = address;
	return number;
}

FB_DEVICE bool weak_is_reached(uint64_t seen, uint64_t wanted)
{
	uint64_t at = weak.seen;

	if (weak_left_out(wanted))
		return true;
	if (!fb_is_reached(seen, wanted - (weak_mutation == OLD_NUMBER)))
		return false;
	if (weak_mutation == RESET) {
		emu_maybe_switch();
		fb_store_private(at, 0);
	}
	return true;
}

FB_DEVICE uint64_t weak_load_private(uint64_t address)
{
	uint64_t number = fb_load_private(address);

	if (weak_mutation == EARLY_NUMBER && !fb_thread())
		fb_store_private(address, number + 2);
	return number;
}

FB_DEVICE void weak_store_private(uint64_t address, uint64_t number)
{
	if (weak_mutation != SAME_NUMBER)
		fb_store_private(address, number);
}

#define WEAK_STORE(name, type)                                            \
	FB_DEVICE void weak_##name(uint64_t address, type value)          \
	{                                                                 \
		weak_store(emu_at(address), WEAK_OWN, &value, sizeof(value)); \
	}

WEAK_STORE(store16, struct fb_words4)
WEAK_STORE(store8, uint64_t)
WEAK_STORE(store4, uint32_t)
WEAK_STORE(store2, uint16_t)
WEAK_STORE(store1, uint8_t)

FB_DEVICE void weak_multimem_store16(uint64_t address, struct fb_words4 v)
{
	char *replica[EMU_MOST_RANKS] = {NULL};
	int n = emu_multimem(address, replica);

	for (int r = 0; r < n; r++)
		weak_store(replica[r], WEAK_MULTIMEM, &v, sizeof(v));
}

#define fb_sync_block weak_sync_block
#define fb_fence_alias weak_fence_alias
#define fb_post weak_post
#define fb_load_counter weak_load_counter
#define fb_is_reached weak_is_reached
#define fb_load_private weak_load_private
#define fb_store_private weak_store_private
#define fb_store16 weak_store16
#define fb_store8 weak_store8
#define fb_store4 weak_store4
#define fb_store2 weak_store2
#define fb_store1 weak_store1
#define fb_multimem_store16 weak_multimem_store16

#endif
