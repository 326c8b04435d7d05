/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol ll over rdma: the flag travels in every word, so one WRITE is the whole message; why
 * a word is never seen with the flag and without the data is in rdma.h.
 *
 * Flags are those of shared memory (shm_ports.c): 32 bits, never 0, used once in 2^32 - 1
 * messages. When they begin again, the first message in each slot is preceded by a WRITE of
 * zeroes over the whole slot, through the same queue pair and hence before it.
 */
#include "common/transport/rdma_internal.h"

#if FB_HAVE_VERBS

#include <string.h>

enum { LL_DATA = 4 }; /* bytes of data in a word of 8 */

size_t fb_rdma_ll_stride(size_t bytes)
{
	size_t words = (bytes + LL_DATA - 1) / LL_DATA;

	return ((words ? words : 1) * 8 + FB_RDMA_LINE - 1) / FB_RDMA_LINE * FB_RDMA_LINE;
}

static void next_flag(struct fb_rdma_port *p)
{
	p->wrapped |= p->flag == UINT32_MAX;
	p->flag = p->flag == UINT32_MAX ? 1 : p->flag + 1;
}

static void *ll_acquire(struct fb_port *port, size_t bytes)
{
	struct fb_rdma_port *p = fb_rdma_port(port);

	(void)bytes;
	/* Messages of ll are never striped over rails: 0 bytes ask for the home rail only. */
	return fb_rdma_slot_free(p, 0) ? p->stage : NULL;
}

static void ll_commit(struct fb_port *port, size_t bytes)
{
	struct fb_rdma_port *p = fb_rdma_port(port);
	size_t at = (size_t)p->slot * p->stride, left = bytes;
	uint64_t *word = (uint64_t *)(void *)(p->ring + at), flag = (uint64_t)p->flag << 32;
	bool signal = p->slot % (p->nslots / 2 ? p->nslots / 2 : 1) == 0;
	const char *from = p->stage;
	uint32_t data = 0;

	if (p->wrapped && p->flag <= p->nslots)
		fb_rdma_send(p, p->home, p->zeroes, p->far_ring + at, p->stride, false, false);
	for (; left >= LL_DATA; left -= LL_DATA, from += LL_DATA) {
		memcpy(&data, from, LL_DATA);
		*word++ = flag | data;
	}
	data = 0;
	memcpy(&data, from, left);
	if (left || !bytes)
		*word++ = flag | data;
	fb_rdma_send(p, p->home, p->ring + at, p->far_ring + at,
		     (size_t)((char *)word - (p->ring + at)), false, signal);
	next_flag(p);
	fb_rdma_slot_sent(p, 0);
}

static const void *ll_peek(struct fb_port *port, size_t bytes)
{
	struct fb_rdma_port *p = fb_rdma_port(port);
	size_t total = bytes ? bytes : 1, at = p->unpacked;
	_Atomic uint64_t *word =
		(_Atomic uint64_t *)(void *)(p->ring + (size_t)p->slot * p->stride);

	while (at < total) {
		uint64_t value = atomic_load_explicit(word + at / LL_DATA, memory_order_relaxed);
		uint32_t data = (uint32_t)value;
		size_t n = total - at < LL_DATA ? total - at : LL_DATA;

		if ((uint32_t)(value >> 32) != p->flag) {
			p->unpacked = at;
			return NULL;
		}
		/* After word 0 was seen, the zeroes written before it are seen in all words. */
		if (!at)
			fb_rdma_from_device();
		memcpy(p->stage + at, &data, n);
		at += n;
	}
	p->unpacked = at;
	return p->stage;
}

static void ll_release(struct fb_port *port)
{
	struct fb_rdma_port *p = fb_rdma_port(port);

	next_flag(p);
	p->unpacked = 0;
	fb_rdma_slot_read(p);
}

const struct fb_port_ops fb_rdma_ll_ops = {
	.acquire = ll_acquire,
	.commit = ll_commit,
	.peek = ll_peek,
	.release = ll_release,
	.settled = fb_rdma_settled,
};

#endif
