/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Polite busy waiting.
 *
 * With a processor per rank, waiting spins: giving the processor away costs more than the wait.
 * Only after about 0.2 ms does it begin to yield, when something else must be running where the
 * peer should. With more ranks than processors the rank waited for may need this very processor, so
 * waiting gives it away after a few looks. Either way a wait looks up now and then, so that the
 * watchdog can end the wait.
 */
#ifndef FB_COMMON_BASE_SPIN_H
#define FB_COMMON_BASE_SPIN_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct fb_spin {
	unsigned looks;
	bool yields; /* more ranks than processors */
	bool calls;  /* a look is a system call: it needs no pause, which would be all loss */
};

enum {
	FB_SPIN_CROWDED = 16,         /* looks before yielding, about 0.3 us */
	FB_SPIN_ALONE = 8192,
	FB_SPIN_LOOKS_PER_CALL = 1 << 14,
};

static inline void fb_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
}

/* One more look was in vain. Returns true about every 16,000 looks: time to look up. */
static inline bool fb_spin_again(struct fb_spin *spin)
{
	spin->looks++;
	if (spin->looks > (spin->yields ? FB_SPIN_CROWDED : FB_SPIN_ALONE))
		sched_yield();
	else if (!spin->calls)
		fb_pause();
	return spin->looks % FB_SPIN_LOOKS_PER_CALL == 0;
}

#endif
