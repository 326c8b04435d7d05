/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The row of the case under way, in a file beside the results: DIR/PROGRAM.LAUNCH.under_way.
 *
 * Rank 0 writes the rows, so if its process or its whole host dies, nobody who knows the case may
 * be left. Therefore it writes the row beforehand, as the fault that it will be if its writer dies.
 * Whoever comes to know of the death puts this row into the result file: another rank, which can
 * say why (the watchdog), or scripts/launch, or the next start of the launch (--resume). The file
 * is empty between two cases, and it is removed when the launch ends in order.
 */
#ifndef FB_COMMON_RECORD_UNDER_WAY_H
#define FB_COMMON_RECORD_UNDER_WAY_H

#include "common/record/csv.h"

struct fb_under_way {
	int fd;
	char *path; /* NULL: not open */
	bool sync;
};

/*
 * With `sync` a row reaches the disk at once, so that other hosts can read it. Returns 0,
 * FB_ENOMEM or FB_EIO (printed).
 */
int fb_under_way_open(struct fb_under_way *file, const char *dir, const char *program,
		      uint64_t launch, bool sync);

/*
 * Writes the row, whose status and reason are replaced. NULL: no case is under way. A file system
 * that refuses it costs only this row. Does nothing where the file is not open.
 */
void fb_under_way_set(struct fb_under_way *file, const struct fb_csv *csv,
		      const struct fb_row *row);

/*
 * This process was asked to end, which is no fault unless the launcher asked it because another
 * rank or its host was lost. Only scripts/launch knows that, and either moves the row that this
 * leaves or drops it. `asked`: by whom.
 */
void fb_under_way_leave(struct fb_under_way *file, const struct fb_csv *csv,
			const struct fb_row *row, const char *asked);

/* Removes the file. Safe on a zeroed structure. */
void fb_under_way_close(struct fb_under_way *file);

/*
 * Moves a row that was left behind into DIR/PROGRAM.csv, whose columns are as for fb_csv_open();
 * with `reason` as its reason if rank 0 could not say one. reason NULL: the next start of the
 * launch, which drops a row that fb_under_way_leave() left, and one whose result file is gone.
 * `asked`: this rank was asked to end as rank 0 was, and leaves such a row to scripts/launch.
 * *moved: this call moved it; of several processes that try, on any hosts, one does, because it
 * renames the file first. While the writer lives there is no such row: the writer holds a lock. A
 * file system whose locks do not hold between hosts does not show that to another host. Returns 0,
 * or an error of fb_csv_open() or fb_append_write() (printed; the row stays where it was).
 */
int fb_under_way_move(const char *dir, const char *program, uint64_t launch,
		      const struct fb_column *extra, size_t nextra, const char *reason,
		      bool asked, bool *moved);

#endif
