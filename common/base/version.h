/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The version of fabricbench and how it was built.
 *
 * The texts go into --version and environment.csv, so that a result can be traced to its
 * sources. They live in one object, so that a new commit recompiles one file. All strings are
 * static and never NULL.
 */
#ifndef FB_COMMON_BASE_VERSION_H
#define FB_COMMON_BASE_VERSION_H

/* The release, "0.1.0". */
const char *fb_version_text(void);

/* `git describe --always --dirty` at build time, or "unknown" outside a git checkout. */
const char *fb_version_revision(void);

/* Compiler, its version and the MPI wrapper, "gcc 12.2.0 (mpicc.openmpi)". */
const char *fb_version_compiler(void);

/* The flags that decide the speed of the code, "-O2 -g". */
const char *fb_version_flags(void);

#endif
