/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes rows: with --csv to its folder, and a table for people to stdout at the end; without --csv
 * to stdout, as that table on a terminal and as CSV elsewhere. Rank 0 writes. If it dies within a
 * case, other processes find the row in the file of under_way.h.
 *
 * The watchdog's thread may write the last row at any time, so there is a lock, and the recorder
 * knows which case is under way.
 */
#ifndef FB_COMMON_RUN_RECORD_H
#define FB_COMMON_RUN_RECORD_H

#include "common/measure/rank_times.h"
#include "common/record/csv.h"
#include "common/record/samples.h"
#include "common/record/under_way.h"
#include "common/run/program.h"
#include "common/run/screen.h"

#include <pthread.h>
#include <stdatomic.h>

enum { FB_RUN_CHARS = 192 };

struct fb_recorder {
	_Atomic bool open;	      /* also read by the watchdog's thread */
	bool writes;		      /* rank 0 */
	struct fb_csv csv;	      /* without --csv only its columns */
	struct fb_under_way under_way; /* the row of `current` */
	struct fb_samples samples;    /* used with --raw */
	struct fb_samples ranks_file; /* used with --raw-ranks */
	bool to_files, raw, raw_ranks, table;
	struct fb_screen screen; /* used with table */
	char run[FB_RUN_CHARS];
	const struct fb_settings *settings;
	const struct fb_program *program;
	const struct fb_case *current; /* under way, has no row yet; NULL: none */
	uint64_t ranks, nodes;
	uint64_t rows; /* of this launch so far, with those of earlier starts */
	uint64_t skipped; /* rows that this start has skipped */
	char why[FB_REASON_CHARS]; /* the first of these was skipped */
	pthread_mutex_t lock;
};

/*
 * Rank 0 opens the files (or, without --csv, prints the CSV header). rows: how many the launch has
 * in the file already. Returns 0, or FB_EINPUT, FB_ENOMEM, FB_EIO (printed).
 */
int fb_recorder_open(struct fb_recorder *recorder, const struct fb_program *program,
		     const struct fb_settings *settings, const struct fb_group *world,
		     uint64_t rows);

/* A row with the case, the run's name and the world filled in. Pure. */
struct fb_row fb_recorder_row(const struct fb_recorder *recorder, const struct fb_case *c);

/* The case that is under way from now on. */
void fb_recorder_begin(struct fb_recorder *recorder, const struct fb_case *c);

/* Writes the row of the case under way, and its samples (NULL: none). Returns 0 or FB_EIO. */
int fb_recorder_put(struct fb_recorder *recorder, const struct fb_row *row,
		    const double *samples_us, size_t count);

/*
 * Writes the times of single ranks of the row that was put last: the last `count` repetitions of
 * `times`; see samples.h. Without --raw-ranks nothing is done. Returns 0, FB_ENOMEM or FB_EIO.
 */
int fb_recorder_put_ranks(struct fb_recorder *recorder, const struct fb_rank_times *times,
			  size_t count, bool one_clock);

/*
 * From the watchdog's thread, before the process ends: a row `fault` for the case under way
 * (none if the end was asked for), all rows to the disk, and a line that says what is safe. On
 * another rank than 0 that row only, if rank 0 has died and left one behind.
 */
void fb_recorder_emergency(struct fb_recorder *recorder, const char *reason, bool asked);

/* Returns 0 or FB_EIO (printed). Safe on a zeroed structure. */
int fb_recorder_close(struct fb_recorder *recorder);

#endif
