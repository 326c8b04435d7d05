/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocols simple, ll and ll128 between two ranks of one host; memory order in shm.h. */
#include <string.h>

#include "common/transport/shm.h"

enum {
	LL_DATA = 4,   /* bytes of data in a word of 8 */
	LL128_DATA = 120,
};

/* Sender: whether the receiver has freed the slot of the next message. */
static bool slot_free(struct fb_shm_port *p)
{
	if (p->messages - p->seen < p->nslots)
		return true;
	p->seen = atomic_load_explicit(&p->sender->freed, memory_order_acquire);
	return p->messages - p->seen < p->nslots;
}

static void next_slot(struct fb_shm_port *p)
{
	p->slot = p->slot + 1 == p->nslots ? 0 : p->slot + 1;
	p->messages++;
}

static char *slot_memory(const struct fb_shm_port *p)
{
	return p->slots + (size_t)p->slot * p->slot_stride;
}

static void free_slot(struct fb_shm_port *p)
{
	next_slot(p);
	atomic_store_explicit(&p->sender->freed, p->messages, memory_order_release);
}

static void *simple_acquire(struct fb_port *port, size_t bytes)
{
	struct fb_shm_port *p = fb_shm_port(port);

	(void)bytes;
	return slot_free(p) ? slot_memory(p) : NULL;
}

static void simple_commit(struct fb_port *port, size_t bytes)
{
	struct fb_shm_port *p = fb_shm_port(port);

	(void)bytes;
	next_slot(p);
	atomic_store_explicit(&p->receiver->available, p->messages, memory_order_release);
}

static const void *simple_peek(struct fb_port *port, size_t bytes)
{
	struct fb_shm_port *p = fb_shm_port(port);

	(void)bytes;
	if (p->seen == p->messages) {
		p->seen = atomic_load_explicit(&p->receiver->available, memory_order_acquire);
		if (p->seen == p->messages)
			return NULL;
	}
	return slot_memory(p);
}

static void simple_release(struct fb_port *port)
{
	free_slot(fb_shm_port(port));
}

const struct fb_port_ops fb_shm_simple_ops = {
	.acquire = simple_acquire,
	.commit = simple_commit,
	.peek = simple_peek,
	.release = simple_release,
};

size_t fb_shm_ll_stride(size_t bytes)
{
	size_t words = (bytes + LL_DATA - 1) / LL_DATA;

	return ((words ? words : 1) * 8 + FB_LINE - 1) / FB_LINE * FB_LINE;
}

static uint32_t next_flag(uint32_t flag)
{
	return flag == UINT32_MAX ? 1 : flag + 1;
}

static void *stage_acquire(struct fb_port *port, size_t bytes)
{
	struct fb_shm_port *p = fb_shm_port(port);

	(void)bytes;
	return slot_free(p) ? p->stage : NULL;
}

/*
 * After the flags wrapped, words that no recent (shorter) message overwrote could hold a flag of
 * the last cycle that equals a new one. The first message of the cycle in each slot therefore
 * clears the slot first. The fence keeps the clearing before the words; the receiver, which
 * always looks at word 0 first, pairs with it by a fence after having seen word 0.
 */
static void ll_commit(struct fb_port *port, size_t bytes)
{
	struct fb_shm_port *p = fb_shm_port(port);
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)slot_memory(p);
	uint64_t flag = (uint64_t)p->flag << 32;
	const char *from = p->stage;
	uint32_t data = 0;

	if (p->flag <= p->nslots) {
		/* Atomic words, and not word 0, which the receiver polls all the time. */
		for (size_t i = 1; i < p->slot_stride / sizeof(*word); i++)
			atomic_store_explicit(word + i, 0, memory_order_relaxed);
		atomic_thread_fence(memory_order_release);
	}
	for (; bytes >= LL_DATA; bytes -= LL_DATA, from += LL_DATA) {
		memcpy(&data, from, LL_DATA);
		atomic_store_explicit(word++, flag | data, memory_order_relaxed);
	}
	data = 0;
	memcpy(&data, from, bytes);
	if (bytes || from == p->stage)
		atomic_store_explicit(word, flag | data, memory_order_relaxed);
	p->flag = next_flag(p->flag);
	next_slot(p);
}

static const void *ll_peek(struct fb_port *port, size_t bytes)
{
	struct fb_shm_port *p = fb_shm_port(port);
	size_t total = bytes ? bytes : 1;
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)slot_memory(p);
	size_t at = p->unpacked;

	while (at < total) {
		uint64_t value = atomic_load_explicit(word + at / LL_DATA, memory_order_relaxed);
		uint32_t data = (uint32_t)value;
		size_t n = total - at < LL_DATA ? total - at : LL_DATA;

		if ((uint32_t)(value >> 32) != p->flag) {
			p->unpacked = at;
			return NULL;
		}
		if (!at && p->flag <= p->nslots)
			atomic_thread_fence(memory_order_acquire);
		memcpy(p->stage + at, &data, n);
		at += n;
	}
	p->unpacked = at;
	return p->stage;
}

static void ll_release(struct fb_port *port)
{
	struct fb_shm_port *p = fb_shm_port(port);

	p->flag = next_flag(p->flag);
	p->unpacked = 0;
	free_slot(p);
}

const struct fb_port_ops fb_shm_ll_ops = {
	.acquire = stage_acquire,
	.commit = ll_commit,
	.peek = ll_peek,
	.release = ll_release,
};

struct ll128_line {
	char data[LL128_DATA];
	_Atomic uint64_t flag;
};

size_t fb_shm_ll128_stride(size_t bytes)
{
	size_t lines = (bytes + LL128_DATA - 1) / LL128_DATA;

	return (lines ? lines : 1) * sizeof(struct ll128_line);
}

static void ll128_commit(struct fb_port *port, size_t bytes)
{
	struct fb_shm_port *p = fb_shm_port(port);
	struct ll128_line *line = (struct ll128_line *)(void *)slot_memory(p);
	const char *from = p->stage;
	uint64_t flag = p->messages + 1;

	for (; bytes > LL128_DATA; bytes -= LL128_DATA, from += LL128_DATA, line++) {
		memcpy(line->data, from, LL128_DATA);
		atomic_store_explicit(&line->flag, flag, memory_order_release);
	}
	memcpy(line->data, from, bytes);
	atomic_store_explicit(&line->flag, flag, memory_order_release);
	next_slot(p);
}

static const void *ll128_peek(struct fb_port *port, size_t bytes)
{
	struct fb_shm_port *p = fb_shm_port(port);
	size_t total = bytes ? bytes : 1, at = p->unpacked;
	struct ll128_line *line = (struct ll128_line *)(void *)slot_memory(p);
	uint64_t flag = p->messages + 1;

	while (at < total) {
		struct ll128_line *l = line + at / LL128_DATA;
		size_t n = total - at < LL128_DATA ? total - at : LL128_DATA;

		if (atomic_load_explicit(&l->flag, memory_order_acquire) != flag) {
			p->unpacked = at;
			return NULL;
		}
		memcpy(p->stage + at, l->data, n);
		at += n;
	}
	p->unpacked = at;
	return p->stage;
}

static void ll128_release(struct fb_port *port)
{
	struct fb_shm_port *p = fb_shm_port(port);

	p->unpacked = 0;
	free_slot(p);
}

const struct fb_port_ops fb_shm_ll128_ops = {
	.acquire = stage_acquire,
	.commit = ll128_commit,
	.peek = ll128_peek,
	.release = ll128_release,
};
