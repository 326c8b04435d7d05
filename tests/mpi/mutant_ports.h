/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports of the shared-memory transport with one thing wrong in each: a flag not waited for, a
 * flag raised too early, a slot overwritten before it was read. Private copies of what is in
 * common/transport/shm_ports.c, for tests/mpi/mutant_engine.c alone.
 *
 * A race that is lost once in a million runs proves nothing, so the one side sleeps where the
 * missing step would have made the other one wait. Only rank 0 of two sleeps: two that do would
 * meet again afterwards as if nothing had been.
 */
#ifndef TESTS_MPI_MUTANT_PORTS_H
#define TESTS_MPI_MUTANT_PORTS_H

#include <string.h>
#include <time.h>

#include "common/transport/shm.h"

enum { LL_WORD_BYTES = 4, LL128_LINE_BYTES = 120, NAP_US = 2000 };

/* Sleeps on the rank that has this peer if that is the late one. */
static inline void nap(const struct fb_port *port)
{
	const struct timespec t = {.tv_nsec = NAP_US * 1000L};

	if (port->peer % 2)
		nanosleep(&t, NULL);
}

static inline char *mutant_slot(const struct fb_shm_port *p)
{
	return p->slots + (size_t)p->slot * p->slot_stride;
}

/*
 * --- a receiver that takes what lies in the slot, beside a sender that is late --------------
 *
 * As such a receiver may be ahead, the sender must not count free slots.
 */

static inline void *simple_late_acquire(struct fb_port *port, size_t bytes)
{
	(void)bytes;
	nap(port);
	return mutant_slot(fb_shm_port(port));
}

static inline void *staged_late_acquire(struct fb_port *port, size_t bytes)
{
	(void)bytes;
	nap(port);
	return fb_shm_port(port)->stage;
}

static inline const void *simple_blind_peek(struct fb_port *port, size_t bytes)
{
	(void)bytes;
	return mutant_slot(fb_shm_port(port));
}

static inline const void *ll_blind_peek(struct fb_port *port, size_t bytes)
{
	struct fb_shm_port *p = fb_shm_port(port);
	const char *word = mutant_slot(p);

	for (size_t at = 0; at < bytes; at += LL_WORD_BYTES, word += 8)
		memcpy(p->stage + at, word,
		       bytes - at < LL_WORD_BYTES ? bytes - at : LL_WORD_BYTES);
	return p->stage;
}

static inline const void *ll128_blind_peek(struct fb_port *port, size_t bytes)
{
	struct fb_shm_port *p = fb_shm_port(port);
	const char *line = mutant_slot(p);

	for (size_t at = 0; at < bytes; at += LL128_LINE_BYTES, line += FB_LINE)
		memcpy(p->stage + at, line,
		       bytes - at < LL128_LINE_BYTES ? bytes - at : LL128_LINE_BYTES);
	return p->stage;
}

/* --- a sender that raises the flag before the data is there -------------------------------- */

static inline void *simple_early_acquire(struct fb_port *port, size_t bytes)
{
	struct fb_shm_port *p = fb_shm_port(port);
	void *slot = fb_shm_simple_ops.acquire(port, bytes);

	if (slot) {
		atomic_store_explicit(&p->receiver->available, p->messages + 1,
				      memory_order_release);
		nap(port);
	}
	return slot;
}

static inline void ll_early_commit(struct fb_port *port, size_t bytes)
{
	struct fb_shm_port *p = fb_shm_port(port);
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)mutant_slot(p);
	size_t words = (bytes + LL_WORD_BYTES - 1) / LL_WORD_BYTES;

	for (size_t i = 0; i < words; i++)
		atomic_store_explicit(word + i, (uint64_t)p->flag << 32, memory_order_relaxed);
	nap(port);
	fb_shm_ll_ops.commit(port, bytes);
}

static inline void ll128_early_commit(struct fb_port *port, size_t bytes)
{
	struct fb_shm_port *p = fb_shm_port(port);
	char *line = mutant_slot(p);

	for (size_t at = 0; at < bytes; at += LL128_LINE_BYTES, line += FB_LINE)
		atomic_store_explicit((_Atomic uint64_t *)(void *)(line + LL128_LINE_BYTES),
				      p->messages + 1, memory_order_release);
	nap(port);
	fb_shm_ll128_ops.commit(port, bytes);
}

/* --- a sender that does not wait for a free slot, beside a receiver that is late ----------- */

static inline void *simple_greedy_acquire(struct fb_port *port, size_t bytes)
{
	(void)bytes;
	return mutant_slot(fb_shm_port(port));
}

static inline const void *simple_late_peek(struct fb_port *port, size_t bytes)
{
	const void *slot = fb_shm_simple_ops.peek(port, bytes);

	if (slot)
		nap(port);
	return slot;
}

/*
 * --- a sender that stores no payload from its 13th message on -------------------------------
 *
 * The flag is raised as it should be, so the receiver takes what the slot held before: with one
 * slot and one message in a call, the right answer of the call before.
 */

enum { LATE_MESSAGES = 12, SCRATCH_BYTES = 64 << 10 };

static inline void *simple_tired_acquire(struct fb_port *port, size_t bytes)
{
	static char nowhere[SCRATCH_BYTES];
	void *slot = fb_shm_simple_ops.acquire(port, bytes);

	return slot && fb_shm_port(port)->messages >= LATE_MESSAGES ? nowhere : slot;
}

static inline void ll_tired_commit(struct fb_port *port, size_t bytes)
{
	struct fb_shm_port *p = fb_shm_port(port);

	if (p->messages >= LATE_MESSAGES)
		ll_blind_peek(port, bytes); /* what the slot has, into the stage */
	fb_shm_ll_ops.commit(port, bytes);
}

static inline void ll128_tired_commit(struct fb_port *port, size_t bytes)
{
	struct fb_shm_port *p = fb_shm_port(port);

	if (p->messages >= LATE_MESSAGES)
		ll128_blind_peek(port, bytes);
	fb_shm_ll128_ops.commit(port, bytes);
}

/* --- which is which ------------------------------------------------------------------------ */

struct mutant_port {
	const char *kind, *protocol;
	struct fb_port_ops sender, receiver; /* NULL: as it should be */
};

static const struct mutant_port mutant_ports[] = {
	{"blind", "simple", {.acquire = simple_late_acquire}, {.peek = simple_blind_peek}},
	{"blind", "ll", {.acquire = staged_late_acquire}, {.peek = ll_blind_peek}},
	{"blind", "ll128", {.acquire = staged_late_acquire}, {.peek = ll128_blind_peek}},
	{"early", "simple", {.acquire = simple_early_acquire}, {.peek = NULL}},
	{"early", "ll", {.commit = ll_early_commit}, {.peek = NULL}},
	{"early", "ll128", {.commit = ll128_early_commit}, {.peek = NULL}},
	{"tired", "simple", {.acquire = simple_tired_acquire}, {.peek = NULL}},
	{"tired", "ll", {.commit = ll_tired_commit}, {.peek = NULL}},
	{"tired", "ll128", {.commit = ll128_tired_commit}, {.peek = NULL}},
	{"greedy", "simple", {.acquire = simple_greedy_acquire}, {.peek = simple_late_peek}},
};

#endif
