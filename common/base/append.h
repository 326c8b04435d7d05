/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A text file that grows by whole blocks of lines: appended whole or not at all.
 *
 * A run may be killed at any moment and the disk may fill up: every block is one write(2) to a
 * file opened for appending, a block that was not written whole is taken back, and a torn last
 * line that a crash left behind is cut off when the file is next opened. The file is locked
 * while it is open, so that two jobs cannot be pointed at the same one.
 */
#ifndef FB_COMMON_BASE_APPEND_H
#define FB_COMMON_BASE_APPEND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct fb_append {
	int fd;
	char *path; /* NULL: not open */
	off_t size; /* what was written so far */
	bool sync;
	bool broken; /* a failed block could not be taken back: nothing may follow it */
};

/*
 * Opens DIR/NAME, creating the folder (with parents) and the file, beginning with `header` (one
 * line with its newline), where missing. With `sync` each block reaches the disk before
 * fb_append_write returns; else only closing does that, which survives every crash but the
 * machine's own. An existing file must begin with the very same header and must not be open in
 * another job, else FB_EINPUT and the file is untouched. Others: FB_ENOMEM, FB_EIO. All printed.
 */
int fb_append_open(struct fb_append *file, const char *dir, const char *name, const char *header,
		   bool sync);

/*
 * Appends text[0..bytes), which ends in a newline. Returns 0, or FB_EIO (printed) when it did
 * not fit: it is then taken back, and the file holds whole lines only. FB_EIO too where somebody
 * has deleted, replaced, shortened or lengthened the file since the last block: nothing is written.
 */
int fb_append_write(struct fb_append *file, const char *text, size_t bytes);

/* Flushes to disk and closes. Returns 0 or FB_EIO (printed). Safe on a zeroed structure. */
int fb_append_close(struct fb_append *file);

/*
 * Creates a folder and its parents where missing. Returns 0 or FB_EINPUT (printed: the path can
 * not be made, or is no folder; with the option's name where `option` is not NULL). An existing
 * folder is fine.
 */
int fb_make_folder(const char *path, const char *option);

#endif
