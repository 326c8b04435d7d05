/* SPDX-License-Identifier: BSD-3-Clause */
/* Optional libraries, opened at run time: one binary runs with any version and without them. */
#ifndef FB_COMMON_LIBRARY_LIBRARY_H
#define FB_COMMON_LIBRARY_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* A function of a library, and where its address goes. */
struct fb_library_symbol {
	const char *name;
	size_t offset; /* of the pointer in the structure that is filled */
	bool optional; /* NULL where this version lacks it */
};

/*
 * Loads `file`: a path, or a name that is looked for where the linker looks, then in the n folders
 * (NULL: none). Returns dlopen's handle, or NULL with the linker's reason (not printed), which
 * says which file or which dependency is missing.
 */
void *fb_library_open(const char *file, const char *const folders[], size_t n, char *reason,
		      size_t reason_chars);

/*
 * The same for the first of n files (paths or names) that is there, also in the folders of CUDA's
 * installation ($CUDA_HOME, /usr/local/cuda). The reason is that of the last one.
 */
void *fb_library_open_cuda(const char *const files[], size_t n, char *reason,
			   size_t reason_chars);

/*
 * A library of this project: the file that the environment variable names, else `name`, which lies
 * beside the folder of the running program. As fb_library_open().
 */
void *fb_library_open_beside(const char *variable, const char *name, char *reason,
			     size_t reason_chars);

/* Fills *functions with the table[n]. NULL, or the name of a required function that is missing. */
const char *fb_library_functions(void *handle, const struct fb_library_symbol *table, size_t n,
				 void *functions);

/* NULL is fine. A library that has threads is not closed. */
void fb_library_close(void *handle);

/* The file that it was loaded from, in the linker's memory; NULL where the linker does not say. */
const char *fb_library_file(void *handle);

/*
 * A handle, to be closed, of a library that the process has loaded already, by the begin of its
 * file's name; NULL: there is none. Symbols of its dependencies are found by this handle as well.
 */
void *fb_library_find(const char *prefix);

/*
 * Names the loaded libraries whose file names begin with `prefix`, without the prefix and from
 * ".so" on, with '+' between: for "nvshmem_transport_" "ibgda+ibrc". "" where none is loaded.
 * Returns text.
 */
const char *fb_library_loaded(const char *prefix, char *text, size_t n);

#endif
