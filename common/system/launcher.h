/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads what the launcher's environment variables say about the job, and finds the job's other
 * processes on this host without MPI, which may fail to start.
 */
#ifndef FB_COMMON_SYSTEM_LAUNCHER_H
#define FB_COMMON_SYSTEM_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

/* This process's rank, or -1 where no launcher says one. */
int fb_launcher_rank(void);

/*
 * How many ranks the launcher has started, 0 where none says it. *variable (may be NULL): the name
 * of the variable that does. Slurm's step counts only where no launcher of an MPI library speaks:
 * one that uses Slurm to start its daemons leaves the number of these in it.
 */
int fb_launcher_size(const char **variable);

/*
 * The state of a process of this host as /proc has it ('R', 'T', 'Z', ...), its parent and its
 * name; '-' where there is no such process, or /proc does not show it.
 */
enum { FB_PROCESS_CHARS = 64 };
char fb_process_state(int pid, int *parent, char name[FB_PROCESS_CHARS]);

/* The name of the thread by which others see that a process has reached its main(). */
#define FB_LAUNCHER_STARTED "fb-start"

/*
 * Local: writes to text, n characters, which ranks of this job on this host have not come to where
 * this one waits, and what they are at: "rank 1 (process 4711) is stopped". Says that none is
 * missing where that is so. Returns the lowest rank of this host that runs and has a thread named
 * FB_LAUNCHER_STARTED, or -1 where there is none: the one that should speak.
 */
int fb_launcher_missing(char *text, size_t n);

/*
 * Local: whether this process has got SIGUSR1, by which batch systems announce the end of a job's
 * time. The signal is blocked since fb_group_open() and stays pending. Takes a system call.
 */
bool fb_launcher_ends(void);

#endif
