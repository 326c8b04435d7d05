/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bounds every blocking step, and says who is missing when one does not end.
 *
 * Each rank writes what it does into memory shared by its host's ranks; a thread in each rank
 * reads it a few times per timeout. MPI offers nothing of the kind: a rank that waits in it for
 * one that was stopped or killed waits for ever, so the observer has to be outside of MPI's
 * calls, and in every process, since any process may be the one that fails. The job is ended
 *   - when this rank's main thread stays in one step for longer than the timeout,
 *   - when a rank of this host is gone without having left in order,
 *   - when this rank is told to end by SIGINT or SIGTERM (blocked since fb_group_open, taken
 *     only by the thread, hence no signal handler and no state in globals),
 *   - when a rank's main thread asks for it (fb_watchdog_fail).
 * One rank of a host reports; rank 0 then saves what it has (the `ending` call) and ends the
 * job with FB_EXIT_FAULT; hosts without rank 0 give it two seconds and end the job themselves.
 * Where rank 0 has died, the first rank of its host that lives does so in its place, or, if that
 * host is gone, those of the others, as far as they reach its files.
 */
#ifndef FB_COMMON_MEASURE_WATCHDOG_H
#define FB_COMMON_MEASURE_WATCHDOG_H

#include "common/system/group.h"

enum { FB_DOING_CHARS = 64 };

/* The current step of a rank. Equal on all ranks at the same step, so a report can compare them. */
enum fb_phase {
	FB_PHASE_START,
	FB_PHASE_OPEN,
	FB_PHASE_EXPAND,
	FB_PHASE_SELF_TEST,
	FB_PHASE_ENVIRONMENT,
	FB_PHASE_SETUP,
	FB_PHASE_FIRST,
	FB_PHASE_VERIFY,
	FB_PHASE_WARM_UP,
	FB_PHASE_REPEAT,
	FB_PHASE_RECORD,
	FB_PHASE_TEARDOWN,
	FB_PHASE_CLOSE,
	FB_PHASE_FINALIZE, /* in MPI_Finalize: MPI can no longer end the job */
	FB_PHASES,
};

struct fb_watchdog;

struct fb_watchdog_config {
	double timeout_s; /* of one step */
	/*
	 * Called once, in the watchdog's thread of rank 0, before the job ends, or of those that do
	 * so in its place, one of each host. NULL: nothing.
	 * The main thread may be anywhere, so what they share needs locks with a bounded wait.
	 * `asked`: the job was told to end by a signal, it is no fault of the case's.
	 */
	void (*ending)(void *arg, const char *reason, bool asked);
	void *arg;
};

/*
 * Collective over the world, which must outlive the watchdog. Starts the thread. Returns the
 * same value on all ranks: 0, FB_ESYS or FB_ENOMEM (printed).
 */
int fb_watchdog_open(struct fb_watchdog **watchdog, const struct fb_group *world,
		     const struct fb_watchdog_config *config);

/*
 * Main thread: the next step begins (the old one's time is over). Called by all ranks in the
 * same order, so that whoever has fewer steps than others is the one they wait for. Costs a few
 * nanoseconds; call it for every repetition.
 */
void fb_watchdog_step(struct fb_watchdog *watchdog, enum fb_phase phase);

/* Main thread: the case (its index in running order, -1 for none) that the next steps are of. */
void fb_watchdog_case(struct fb_watchdog *watchdog, int index, const char *text);

/*
 * Main thread, from slow paths of long waits: what it does (cut at FB_DOING_CHARS - 1). It is
 * part of a report and does not prolong the step. Returns 0, or FB_ETIMEOUT when the job is
 * being ended, whereupon the caller gives up waiting.
 */
int fb_watchdog_alive(struct fb_watchdog *watchdog, const char *doing);

/*
 * Main thread: this rank cannot go on while others may be waiting for it. `reason` (printed by
 * the finder before) goes into rank 0's last row. Ends the job; does not return.
 */
_Noreturn void fb_watchdog_fail(struct fb_watchdog *watchdog, const char *reason);

/*
 * Local, after MPI_Finalize or before it: stops the thread and frees. Other ranks no longer miss
 * this one from the step FB_PHASE_FINALIZE on. NULL is fine.
 */
void fb_watchdog_close(struct fb_watchdog *watchdog);

#endif
