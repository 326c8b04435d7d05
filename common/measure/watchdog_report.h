/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of the watchdog, shared by its two files only: the memory that the ranks of a host
 * have in common, and the sentences made from it.
 */
#ifndef FB_COMMON_MEASURE_WATCHDOG_REPORT_H
#define FB_COMMON_MEASURE_WATCHDOG_REPORT_H

#include "common/measure/watchdog.h"
#include "common/system/node_memory.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { FB_REPORT_CHARS = 1024, FB_CASE_TEXT_CHARS = 256 };

enum { FB_ENDING_NONE, FB_ENDING_CLAIMED, FB_ENDING_SAID };

/* One rank: it alone writes this, and all ranks of its host may read it at any time. */
struct fb_watchdog_slot {
	alignas(128) _Atomic uint64_t step; /* grows with every step, equal paths, equal counts */
	_Atomic int phase, case_index;
	_Atomic uint64_t doing[FB_DOING_CHARS / 8];
	alignas(128) _Atomic uint64_t beat_ms; /* the thread's last sign of life */
	_Atomic int pid;		       /* 0: not here yet, or left in order */
	uint64_t pid_space; /* that pid is a number in; written before it */
	int rank;
};

struct fb_watchdog_host {
	_Atomic int ending; /* FB_ENDING_* */
	bool asked;	    /* by a signal; written before FB_ENDING_SAID, like reason */
	char reason[FB_REPORT_CHARS];
	struct fb_watchdog_slot slot[]; /* by rank in node_comm */
};

struct fb_watchdog {
	const struct fb_group *world;
	struct fb_watchdog_config config;
	struct fb_node_memory memory;
	struct fb_watchdog_host *host;
	struct fb_watchdog_slot *slot; /* this rank's */
	int rank, local, nlocal;       /* local: in node_comm, pretended nodes or not */
	_Atomic bool closing;
	pthread_t thread;
	pthread_mutex_t lock; /* of case_text */
	char case_text[FB_CASE_TEXT_CHARS];
};

/* The name space that this process's number is in; 0 where that cannot be known. */
uint64_t fb_watchdog_pid_space(void);

/*
 * The process's state: 'R' for alive, 'T' for stopped, 'Z' for dead, '-' when it has left in
 * order. From /proc, else by signal 0. In another name space of process numbers, as in a container
 * of its own, it is taken to be alive.
 */
char fb_watchdog_state(const struct fb_watchdog_slot *slot);

/* Appends where a rank is (case, phase, doing) to text of n characters. */
void fb_watchdog_where(struct fb_watchdog *watchdog, const struct fb_watchdog_slot *slot,
		       char *text, size_t n);

/* The sentence for a step that took too long: who has arrived and who has not. */
void fb_watchdog_report(struct fb_watchdog *watchdog, double now, char *text, size_t n);

#endif
