/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bounds the start of a job: from main() until the watchdog, which needs MPI, has begun. A rank
 * that stops, hangs or ends there leaves the others in MPI_Init for ever. So a thread in each rank
 * ends the process after a while, and the rank with the lowest number says which ranks are missing
 * (launcher.h). It waits for the timeout, 10 s at least, because a busy machine starts MPI slowly,
 * and a second more for each 100 ranks. It also takes SIGINT and SIGTERM meanwhile, which are
 * blocked in all other threads.
 */
#ifndef FB_COMMON_MEASURE_START_H
#define FB_COMMON_MEASURE_START_H

struct fb_start;

/*
 * Local, before MPI. Blocks SIGINT and SIGTERM for this thread and those to come. Returns 0,
 * FB_ENOMEM or FB_ESYS (printed).
 */
int fb_start_begin(struct fb_start **start, double timeout_s);

/* The job has begun: ends the thread and frees. NULL is fine. */
void fb_start_end(struct fb_start *start);

#endif
