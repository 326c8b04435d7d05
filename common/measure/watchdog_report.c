/* SPDX-License-Identifier: BSD-3-Clause */
/* The watchdog's report on the ranks of its host; see watchdog_report.h. */
#include "common/measure/watchdog_report.h"
#include "common/system/launcher.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { NAMED = 4 }; /* ranks of which a report says more, at most */

static const char *const phase_names[FB_PHASES] = {
	[FB_PHASE_START] = "start",
	[FB_PHASE_OPEN] = "open",
	[FB_PHASE_EXPAND] = "expand",
	[FB_PHASE_SELF_TEST] = "self test",
	[FB_PHASE_ENVIRONMENT] = "environment",
	[FB_PHASE_SETUP] = "setup",
	[FB_PHASE_FIRST] = "first call",
	[FB_PHASE_VERIFY] = "verification",
	[FB_PHASE_WARM_UP] = "warm-up",
	[FB_PHASE_REPEAT] = "repetition",
	[FB_PHASE_RECORD] = "record",
	[FB_PHASE_TEARDOWN] = "teardown",
	[FB_PHASE_CLOSE] = "close",
	[FB_PHASE_FINALIZE] = "MPI_Finalize",
};

static const char *phase_name(enum fb_phase phase)
{
	return (unsigned)phase < FB_PHASES ? phase_names[phase] : "unknown";
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t n, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list args;

	if (used + 1 >= n)
		return;
	va_start(args, fmt);
	vsnprintf(text + used, n - used, fmt, args);
	va_end(args);
}

uint64_t fb_watchdog_pid_space(void)
{
	struct stat space;

	return stat("/proc/self/ns/pid", &space) ? 0 : space.st_ino;
}

char fb_watchdog_state(const struct fb_watchdog_slot *slot)
{
	int pid = atomic_load(&slot->pid);
	char gone = atomic_load(&slot->phase) == FB_PHASE_FINALIZE ? '-' : 'Z';
	char name[FB_PROCESS_CHARS], state;
	int parent;

	if (pid == 0)
		return '-';
	if (slot->pid_space != fb_watchdog_pid_space())
		return 'R';
	if (kill(pid, 0) && errno == ESRCH)
		return gone;
	state = fb_process_state(pid, &parent, name);
	if (state == 'Z' || state == 'X')
		return gone;
	return state == 'T' || state == 't' ? 'T' : 'R';
}

/* The activity of a rank in a wait that takes long, or ""; the text is in `word`. */
static const char *doing_of(const struct fb_watchdog_slot *slot, uint64_t word[FB_DOING_CHARS / 8])
{
	for (size_t i = 0; i < FB_DOING_CHARS / 8; i++)
		word[i] = atomic_load_explicit(&slot->doing[i], memory_order_relaxed);
	((char *)word)[FB_DOING_CHARS - 1] = '\0';
	return (const char *)word;
}

void fb_watchdog_where(struct fb_watchdog *watchdog, const struct fb_watchdog_slot *slot,
		       char *text, size_t n)
{
	int index = atomic_load_explicit(&slot->case_index, memory_order_relaxed);
	int mine = atomic_load_explicit(&watchdog->slot->case_index, memory_order_relaxed);
	int phase = atomic_load_explicit(&slot->phase, memory_order_relaxed);
	uint64_t word[FB_DOING_CHARS / 8];

	append(text, n, ", %s", phase_name((enum fb_phase)phase));
	if (*doing_of(slot, word))
		append(text, n, " (%s)", (const char *)word);
	if (index < 0)
		return;
	append(text, n, " of case %d", index);
	if (index == mine && !pthread_mutex_trylock(&watchdog->lock)) {
		append(text, n, " (%s)", watchdog->case_text);
		pthread_mutex_unlock(&watchdog->lock);
	}
}

/* Appends "0-3,7": the ranks of the host whose step is `step`. */
static void append_ranks(struct fb_watchdog *w, uint64_t step, char *text, size_t n)
{
	const char *separator = "";

	for (int i = 0; i < w->nlocal; i++) {
		int last = i;

		if (atomic_load(&w->host->slot[i].step) != step)
			continue;
		while (last + 1 < w->nlocal && atomic_load(&w->host->slot[last + 1].step) == step &&
		       w->host->slot[last + 1].rank == w->host->slot[last].rank + 1)
			last++;
		append(text, n, "%s%d", separator, w->host->slot[i].rank);
		if (last > i)
			append(text, n, "-%d", w->host->slot[last].rank);
		separator = ",";
		i = last;
	}
}

/* A rank that is behind the others, or not running: where it is and what it is like. */
static void append_missing(struct fb_watchdog *w, const struct fb_watchdog_slot *slot, double now,
			   char *text, size_t n)
{
	double silent = now - (double)atomic_load(&slot->beat_ms) / 1e3;
	char state = fb_watchdog_state(slot);

	append(text, n, "; missing: rank %d on %s", slot->rank, w->world->host);
	fb_watchdog_where(w, slot, text, n);
	if (state == 'T')
		append(text, n, ", process %d is stopped", atomic_load(&slot->pid));
	else if (state == 'Z')
		append(text, n, ", process %d is dead", atomic_load(&slot->pid));
	else if (silent > 2)
		append(text, n, ", no sign of life for %.0f s", silent);
}

/* If no rank is behind the others: appends what each rank but `first` waits for. */
static void append_waits(struct fb_watchdog *w, const struct fb_watchdog_slot *first, char *text,
			 size_t n)
{
	uint64_t word[FB_DOING_CHARS / 8];
	int named = 0;

	for (int i = 0; i < w->nlocal && named < NAMED; i++) {
		const struct fb_watchdog_slot *slot = &w->host->slot[i];

		if (slot != first && *doing_of(slot, word)) {
			append(text, n, "; rank %d: %s", slot->rank, (const char *)word);
			named++;
		}
	}
}

void fb_watchdog_report(struct fb_watchdog *watchdog, double now, char *text, size_t n)
{
	struct fb_watchdog *w = watchdog;
	uint64_t furthest = 0;
	int missing = 0;
	struct fb_watchdog_slot *leader = w->slot;

	for (int i = 0; i < w->nlocal; i++) {
		uint64_t step = atomic_load(&w->host->slot[i].step);

		if (step > furthest) {
			furthest = step;
			leader = &w->host->slot[i];
		}
	}
	snprintf(text, n, "no progress for %g s on %s: ranks ", w->config.timeout_s,
		 w->world->host);
	append_ranks(w, furthest, text, n);
	append(text, n, " have arrived");
	fb_watchdog_where(w, leader, text, n);
	for (int i = 0; i < w->nlocal; i++) {
		struct fb_watchdog_slot *slot = &w->host->slot[i];

		if (atomic_load(&slot->step) == furthest && fb_watchdog_state(slot) != 'T')
			continue;
		/* The text is bounded; some names are enough to find the node. */
		if (++missing <= NAMED)
			append_missing(w, slot, now, text, n);
	}
	if (missing > NAMED)
		append(text, n, "; and %d more", missing - NAMED);
	if (missing)
		return;
	append(text, n,
	       w->nlocal < w->world->nranks
		       ? "; no rank of this host is missing: look at the other hosts"
		       : "; none is missing: the operation itself does not end");
	append_waits(w, leader, text, n);
}
