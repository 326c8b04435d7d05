/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Version and build texts; see version.h.
 *
 * The Makefile writes build_info.h into the build folder: FB_GIT_REVISION, FB_BUILD_COMPILER and
 * FB_BUILD_CFLAGS. No other file may include it, as it changes with every commit.
 */
#include "common/base/version.h"

#include "build_info.h"

#define TEXT_OF(x) #x
#define TEXT(x)	   TEXT_OF(x)

#if defined(__clang__)
#define COMPILER                                                                                   \
	"clang " TEXT(__clang_major__) "." TEXT(__clang_minor__) "." TEXT(__clang_patchlevel__)
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown compiler"
#endif

const char *fb_version_text(void)
{
	return "0.1.0";
}

const char *fb_version_revision(void)
{
	return FB_GIT_REVISION;
}

const char *fb_version_compiler(void)
{
	return COMPILER " (" FB_BUILD_COMPILER ")";
}

const char *fb_version_flags(void)
{
	return FB_BUILD_CFLAGS;
}
