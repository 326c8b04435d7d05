/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading small files of /proc and /sys. Private to the environment files.
 *
 * Paths are looked up below `root`, which is "" for the machine itself; tests give a folder
 * with copies of such files, so that no test needs the hardware that it is about.
 */
#ifndef FB_COMMON_SYSTEM_ENVIRONMENT_FILE_H
#define FB_COMMON_SYSTEM_ENVIRONMENT_FILE_H

#include "common/system/environment.h"

#include <stdbool.h>
#include <stddef.h>

enum { FB_LINE_CHARS = 1024 };

/* Reads up to n - 1 bytes of root/path and ends them with NUL. False where it cannot be read. */
bool fb_read_text(const char *root, const char *path, char *buf, size_t n);

/* The first line without its newline. False where it is empty or cannot be read. */
bool fb_read_line(const char *root, const char *path, char *buf, size_t n);

/*
 * The value of the first line "tag<blanks>[:=]<blanks>value" of a file, without quotes around
 * it. False where there is none.
 */
bool fb_read_tagged(const char *root, const char *path, const char *tag, char *buf, size_t n);

/* Whether root/path exists. */
bool fb_path_exists(const char *root, const char *path);

/* Adds the first line of the file as a fact, where it can be read. */
void fb_facts_add_file(struct fb_facts *facts, const char *key, const char *root, const char *fmt,
		       ...) __attribute__((format(printf, 4, 5)));

/* Calls visit for each entry of root/path (no dot files), sorted by name. */
typedef void (*fb_visit_fn)(struct fb_facts *facts, const char *root, const char *path,
			    const char *name);
void fb_visit_folder(struct fb_facts *facts, const char *root, const char *path, fb_visit_fn visit);

/*
 * Adds "PREFIX.interrupts_near" of a PCI device's folder: "12 of 16" interrupts go to processors of
 * its NUMA node only. Nothing where either is not known.
 */
void fb_facts_add_interrupts(struct fb_facts *facts, const char *prefix, const char *root,
			     const char *device);

#endif
