/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bulk copies on the processor: what common/cuda/device_tma.h is on a GPU.
 *
 * A copy that was asked for happens later, whenever its thread comes here again: at random, or when
 * it waits for the copy. So what does not wait uses memory too soon. A store reads shared memory at
 * one time and writes at another. Fences are remembered: a load by a thread that has met others
 * since its last one, and a store of what some thread of the warp has written since, move rubbish.
 */
#ifndef FB_TESTS_CUDA_EMULATOR_TMA_H
#define FB_TESTS_CUDA_EMULATOR_TMA_H

#include "tests/cuda/emulator.h"

#define FB_HAS_TMA 1

/* Small, so that moves have many tiles. */
enum { FB_TMA_ALIGN = 16, FB_TMA_LEAST = 16, FB_TMA_USUAL = 32, EMU_POOL = 2048 };

enum emu_tma_blindness {
	EMU_BLIND_LOADS = 8,   /* tiles are used before they are there */
	EMU_BLIND_READS = 16,  /* stages are loaded again before they are stored */
	EMU_BLIND_ENDS = 32,   /* stores are announced before they are made */
	EMU_BLIND_FENCES = 64,
};

/* A barrier of loads, in eight bytes. */
struct emu_full {
	int32_t left; /* bytes */
	uint16_t armed, phase;
};

struct emu_copy {
	struct emu_copy *next;
	const struct emu_thread *owner;
	struct emu_full *full; /* of a load */
	unsigned char *shared;
	void *global;
	uint32_t bytes;
	bool spoilt, read;  /* read: of a store, `data` has what it stores */
	unsigned group;     /* of a store */
	unsigned char data[EMU_POOL];
};

static struct {
	struct emu_copy *first;
	unsigned group; /* of the next store; unique, so of all threads */
} emu_copies;

static inline void emu_copy_forget(struct emu_copy **at)
{
	struct emu_copy *copy = *at;

	*at = copy->next;
	free(copy);
}

static inline void emu_copy_read(struct emu_copy *copy)
{
	if (copy->read)
		return;
	memcpy(copy->data, copy->full ? copy->global : copy->shared, copy->bytes);
	if (copy->spoilt)
		memset(copy->data, 0xee, copy->bytes);
	copy->read = true;
}

static inline void emu_copy_do(struct emu_copy **at)
{
	struct emu_copy *copy = *at;

	emu_copy_read(copy);
	memcpy(copy->full ? copy->shared : copy->global, copy->data, copy->bytes);
	if (copy->full)
		copy->full->left -= (int32_t)copy->bytes;
	emu_copy_forget(at);
	emu.changes++;
}

/* Some of the thread's copies happen. */
static inline void emu_copy_some(void)
{
	for (struct emu_copy **at = &emu_copies.first; *at;) {
		if ((*at)->owner != emu.now || emu_random() % 4)
			at = &(*at)->next;
		else if (!(*at)->full && !(*at)->read)
			emu_copy_read(*at);
		else
			emu_copy_do(at);
	}
	emu_maybe_switch();
}

static inline struct emu_copy *emu_copy_new(const struct emu_copy *given)
{
	struct emu_copy *copy = malloc(sizeof(*copy));

	if (!copy || given->bytes > EMU_POOL || given->bytes % 16 ||
	    (uintptr_t)given->global % 16)
		abort();
	*copy = *given;
	copy->owner = emu.now;
	copy->next = emu_copies.first;
	emu_copies.first = copy;
	emu_copy_some();
	return copy;
}

FB_DEVICE void fb_tma_begin(uint64_t *barrier)
{
	/* Forgets copies of an earlier launch, which did not wait for them. */
	for (struct emu_copy **at = &emu_copies.first; *at;)
		if ((*at)->owner == emu.now)
			emu_copy_forget(at);
		else
			at = &(*at)->next;
	memset(barrier, 0, sizeof(*barrier));
}

FB_DEVICE void fb_tma_fence(void)
{
	if (!(emu.blind & EMU_BLIND_FENCES))
		emu.now->stale = emu.now->dirty = false;
}

FB_DEVICE void fb_tma_fence_shared(void)
{
	if (!(emu.blind & EMU_BLIND_FENCES))
		emu.now->dirty = false;
}

FB_DEVICE void fb_tma_expect(uint64_t *barrier, uint32_t bytes)
{
	struct emu_full *full = (struct emu_full *)(void *)barrier;

	full->left += (int32_t)bytes;
	full->armed = 1;
}

FB_DEVICE void fb_tma_load(unsigned char *to, uint64_t from, uint32_t bytes, uint64_t *barrier)
{
	emu_copy_new(&(const struct emu_copy){
		.full = (struct emu_full *)(void *)barrier, .shared = to, .global = emu_at(from),
		.bytes = bytes, .spoilt = emu.now->stale});
}

FB_DEVICE void fb_tma_await(uint64_t *barrier, uint32_t parity)
{
	struct emu_full *full = (struct emu_full *)(void *)barrier;

	while (!(emu.blind & EMU_BLIND_LOADS)) {
		if (full->armed && !full->left) {
			full->armed = 0;
			full->phase++;
		}
		if ((full->phase & 1) != parity)
			break;
		emu_copy_some();
		emu_yield();
	}
}

FB_DEVICE void fb_tma_store(uint64_t to, const unsigned char *from, uint32_t bytes)
{
	const struct emu_thread *first = emu.now - emu.now->thread % FB_WARP;
	struct emu_copy copy = {.shared = (unsigned char *)(uintptr_t)from, .global = emu_at(to),
				.bytes = bytes, .group = emu_copies.group};

	for (int i = 0; i < FB_WARP; i++)
		copy.spoilt |= first[i].dirty;
	emu_copy_new(&copy);
}

FB_DEVICE void fb_tma_commit(void)
{
	emu.now->last_group = emu_copies.group++;
}

FB_DEVICE void fb_tma_await_read(void)
{
	for (struct emu_copy *c = emu_copies.first; c; c = c->next)
		if (c->owner == emu.now && !c->full && c->group != emu.now->last_group &&
		    !(emu.blind & EMU_BLIND_READS))
			emu_copy_read(c);
	emu_copy_some();
}

FB_DEVICE void fb_tma_end(void)
{
	for (struct emu_copy **at = &emu_copies.first; *at && !(emu.blind & EMU_BLIND_ENDS);)
		if ((*at)->owner == emu.now && !(*at)->full)
			emu_copy_do(at);
		else
			at = &(*at)->next;
}

FB_DEVICE struct fb_words4 fb_load_shared(const unsigned char *shared)
{
	struct fb_words4 v;

	emu_seldom_switch();
	memcpy(&v, shared, sizeof(v));
	return v;
}

FB_DEVICE void fb_store_shared(unsigned char *shared, struct fb_words4 v)
{
	memcpy(shared, &v, sizeof(v));
	emu.now->dirty = true;
	emu_seldom_switch();
}

#endif
