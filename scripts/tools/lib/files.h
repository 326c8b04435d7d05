/* SPDX-License-Identifier: BSD-3-Clause */
/* Folders and text files, in the memory of lib/memory.h. */
#ifndef FB_SCRIPTS_TOOLS_LIB_FILES_H
#define FB_SCRIPTS_TOOLS_LIB_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct fb_names {
	char **name; /* [count], sorted */
	size_t count;
};

/*
 * The names in a folder that end in `end` ("": all of them), without hidden ones. Returns 0 or
 * FB_EINPUT (printed).
 */
int fb_folder_names(const char *folder, const char *end, struct fb_names *names);

bool fb_is_folder(const char *path);

/* The path of the file `name` in a folder, or in the folder of a file. */
char *fb_beside(const char *path, const char *name);

/* The whole file, with two NUL behind it; NULL (printed): it cannot be read. */
char *fb_file_text(const char *path, size_t *length);

/* The next line without its end; NULL: there is none. */
char *fb_file_line(FILE *file);

#endif
