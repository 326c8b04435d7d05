/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The watchdog's state, what the main thread tells it, and its thread; see watchdog.h. What a
 * report says is in watchdog_report.c.
 */
#include "common/base/error.h"
#include "common/measure/clock.h"
#include "common/measure/watchdog_report.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Time for rank 0 to save its rows before another rank ends the job. */
enum { GRACE_S = 2 };

static struct timespec duration(double seconds)
{
	struct timespec t = {.tv_sec = (time_t)seconds};

	t.tv_nsec = (long)((seconds - floor(seconds)) * 1e9);
	return t;
}

static void pause_for(double seconds)
{
	struct timespec t = duration(seconds);

	nanosleep(&t, NULL);
}

/*
 * The first to claim the end writes the reason; release, so that whoever sees FB_ENDING_SAID
 * sees the whole text.
 */
static bool claim(struct fb_watchdog *w)
{
	int running = FB_ENDING_NONE;

	return atomic_compare_exchange_strong(&w->host->ending, &running, FB_ENDING_CLAIMED);
}

static void say(struct fb_watchdog *w, const char *reason, bool asked)
{
	w->host->asked = asked;
	snprintf(w->host->reason, sizeof(w->host->reason), "%s", reason);
	atomic_store_explicit(&w->host->ending, FB_ENDING_SAID, memory_order_release);
}

/* The first rank of this host that lives. */
static const struct fb_watchdog_slot *first_alive(const struct fb_watchdog *w)
{
	int i = 0;

	while (i + 1 < w->nlocal && fb_watchdog_state(&w->host->slot[i]) == 'Z')
		i++;
	return &w->host->slot[i];
}

/*
 * Ends the job, in the watchdog's thread. Before that the first rank of each host that lives calls
 * config.ending: on rank 0's host that is rank 0 unless it has died, and other hosts do it in case
 * that rank 0's host is gone. The other ranks wait for it, up to GRACE_S.
 */
static _Noreturn void end_job(struct fb_watchdog *w)
{
	bool with_rank_0 = w->host->slot[0].rank == 0;
	char reason[FB_REPORT_CHARS];

	for (int i = 0; i < 100 && atomic_load_explicit(&w->host->ending, memory_order_acquire) <
					   FB_ENDING_SAID;
	     i++)
		pause_for(0.01);
	snprintf(reason, sizeof(reason), "%s", w->host->reason);
	for (int i = 0; i < GRACE_S * 50 && first_alive(w) != w->slot; i++)
		pause_for(0.02);
	if (w->config.ending && first_alive(w) == w->slot)
		w->config.ending(w->config.arg, reason, w->host->asked);
	/* Rank 0 on another host may be about to end the job, and save its rows before that. */
	if (!with_rank_0 && first_alive(w) == w->slot)
		pause_for(GRACE_S);
	if (atomic_load(&w->slot->phase) == FB_PHASE_FINALIZE)
		_exit(FB_EXIT_FAULT);
	fb_group_abort(w->world, FB_EXIT_FAULT);
}

static void end_with(struct fb_watchdog *w, const char *reason, bool asked)
{
	if (claim(w)) {
		fb_error(FB_EPEER, "%s", reason);
		say(w, reason, asked);
	}
	end_job(w);
}

/*
 * Ends the job if one of the next `many` ranks of the host has died: its process is gone or a
 * zombie. A rank that has left in order has no process to look for.
 */
static void check_neighbours(struct fb_watchdog *w, int many)
{
	char reason[FB_REPORT_CHARS];

	for (int i = 1; i <= many && i < w->nlocal; i++) {
		struct fb_watchdog_slot *next = &w->host->slot[(w->local + i) % w->nlocal];

		if (fb_watchdog_state(next) != 'Z')
			continue;
		snprintf(reason, sizeof(reason), "rank %d on %s (process %d) has died", next->rank,
			 w->world->host, atomic_load(&next->pid));
		fb_watchdog_where(w, next, reason, sizeof(reason));
		end_with(w, reason, false);
	}
}

static void told_to_end(struct fb_watchdog *w, int signal)
{
	char reason[FB_REPORT_CHARS];

	/* When one rank has ended with an error, launchers send a signal to the rest. */
	if (atomic_load(&w->slot->phase) == FB_PHASE_FINALIZE)
		return;
	/* They also send one when a rank has died, which is then the cause, and a fault. */
	check_neighbours(w, w->nlocal);
	snprintf(reason, sizeof(reason), "rank %d on %s was told to end by %s", w->rank,
		 w->world->host, signal == SIGINT ? "SIGINT" : "SIGTERM");
	end_with(w, reason, true);
}

static void *watch(void *arg)
{
	struct fb_watchdog *w = arg;
	double wait = fmin(fmax(w->config.timeout_s / 10, 0.01), 0.5);
	double since = fb_monotonic_s(), last = since;
	struct timespec sleep = duration(wait);
	uint64_t step = UINT64_MAX;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	for (;;) {
		int signal = sigtimedwait(&set, NULL, &sleep);
		double now = fb_monotonic_s();
		uint64_t seen = atomic_load_explicit(&w->slot->step, memory_order_relaxed);

		if (atomic_load(&w->closing))
			return NULL;
		atomic_store_explicit(&w->slot->beat_ms, (uint64_t)(now * 1e3),
				      memory_order_relaxed);
		if (atomic_load(&w->host->ending) != FB_ENDING_NONE)
			end_job(w);
		if (signal > 0)
			told_to_end(w, signal);
		/* A thread that was asleep itself (a suspended job) cannot blame the others. */
		if (seen != step || now - last > 5 * wait + 1) {
			step = seen;
			since = now;
		}
		last = now;
		check_neighbours(w, 1);
		if (now - since > w->config.timeout_s) {
			char reason[FB_REPORT_CHARS];

			fb_watchdog_report(w, now, reason, sizeof(reason));
			end_with(w, reason, false);
		}
	}
}

static int start(struct fb_watchdog *w, const struct fb_group *world)
{
	int err;

	w->slot = &w->host->slot[w->local];
	w->slot->rank = world->rank;
	atomic_store(&w->slot->case_index, -1);
	atomic_store(&w->slot->beat_ms, (uint64_t)(fb_monotonic_s() * 1e3));
	w->slot->pid_space = fb_watchdog_pid_space();
	atomic_store(&w->slot->pid, (int)getpid());
	err = pthread_create(&w->thread, NULL, watch, w);
	if (!err)
		return FB_OK;
	atomic_store(&w->slot->pid, 0);
	return fb_error(FB_ESYS, "rank %d: the watchdog's thread cannot start: %s", world->rank,
			strerror(err));
}

int fb_watchdog_open(struct fb_watchdog **watchdog, const struct fb_group *world,
		     const struct fb_watchdog_config *config)
{
	struct fb_watchdog *w = calloc(1, sizeof(*w));
	int err = fb_group_agree(world, w ? FB_OK : FB_ENOMEM), mine;

	if (err || !w) {
		free(w);
		return world->rank ? err : fb_error(err, "out of memory for the watchdog");
	}
	w->world = world;
	w->rank = world->rank;
	w->config = *config;
	pthread_mutex_init(&w->lock, NULL);
	MPI_Comm_rank(world->node_comm, &w->local);
	MPI_Comm_size(world->node_comm, &w->nlocal);
	err = fb_node_memory_open(&w->memory, world,
				  sizeof(*w->host) + (size_t)w->nlocal * sizeof(w->host->slot[0]));
	if (err)
		goto free_watchdog;
	w->host = w->memory.base;
	mine = start(w, world);
	/* Also the barrier after which every slot of the host is filled. */
	err = fb_group_agree(world, mine);
	if (!err) {
		*watchdog = w;
		return FB_OK;
	}
	if (!mine) {
		fb_watchdog_close(w);
		return err;
	}
	fb_node_memory_close(&w->memory);
free_watchdog:
	pthread_mutex_destroy(&w->lock);
	free(w);
	return err;
}

void fb_watchdog_step(struct fb_watchdog *watchdog, enum fb_phase phase)
{
	struct fb_watchdog_slot *slot = watchdog->slot;
	uint64_t step = atomic_load_explicit(&slot->step, memory_order_relaxed);

	/* Only this thread writes the slot: no read-modify-write is needed. */
	atomic_store_explicit(&slot->phase, (int)phase, memory_order_relaxed);
	atomic_store_explicit(&slot->doing[0], 0, memory_order_relaxed);
	atomic_store_explicit(&slot->step, step + 1, memory_order_relaxed);
}

void fb_watchdog_case(struct fb_watchdog *watchdog, int index, const char *text)
{
	pthread_mutex_lock(&watchdog->lock);
	snprintf(watchdog->case_text, sizeof(watchdog->case_text), "%s", text);
	pthread_mutex_unlock(&watchdog->lock);
	atomic_store_explicit(&watchdog->slot->case_index, index, memory_order_relaxed);
}

int fb_watchdog_alive(struct fb_watchdog *watchdog, const char *doing)
{
	uint64_t word[FB_DOING_CHARS / 8] = {0};

	strncpy((char *)word, doing, sizeof(word) - 1);
	/* By words, because other processes may read at any moment: no word is half written. */
	for (size_t i = sizeof(word) / sizeof(word[0]); i-- > 0;)
		atomic_store_explicit(&watchdog->slot->doing[i], word[i], memory_order_relaxed);
	return atomic_load(&watchdog->host->ending) == FB_ENDING_NONE ? FB_OK : FB_ETIMEOUT;
}

/*
 * Wakes the thread by a signal that only this thread waits for. The thread first looks whether it
 * is to close or the job is ending, so that it does not take the signal for a request to end.
 */
static void wake(struct fb_watchdog *w)
{
	const union sigval none = {.sival_int = 0};

	pthread_sigqueue(w->thread, SIGTERM, none);
}

_Noreturn void fb_watchdog_fail(struct fb_watchdog *watchdog, const char *reason)
{
	if (claim(watchdog))
		say(watchdog, reason, false);
	wake(watchdog);
	for (;;)
		pause_for(1);
}

void fb_watchdog_close(struct fb_watchdog *watchdog)
{
	if (!watchdog)
		return;
	atomic_store(&watchdog->slot->pid, 0);
	atomic_store(&watchdog->closing, true);
	wake(watchdog);
	pthread_join(watchdog->thread, NULL);
	fb_node_memory_close(&watchdog->memory);
	pthread_mutex_destroy(&watchdog->lock);
	free(watchdog);
}
