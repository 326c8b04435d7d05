/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kinds of pages that host memory is made of: what is asked for, what there is, what it became.
 *
 * Transparent huge pages are a request that the kernel may or may not grant, page by page. Explicit
 * ones (hugetlbfs) were reserved by the administrator, and memory is made of them or there is
 * none.
 */
#ifndef FB_COMMON_SYSTEM_PAGES_H
#define FB_COMMON_SYSTEM_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/system/group.h"

enum fb_pages {
	FB_PAGES_NORMAL,
	FB_PAGES_TRANSPARENT, /* huge where the kernel likes */
	FB_PAGES_HUGETLB,     /* explicit, of the system's default size: 2 MiB on x86 */
	FB_PAGES_HUGETLB_1G,  /* explicit, of 1 GiB */
	FB_PAGES_FILE,        /* usual pages of a file, in the cache of its file system */
	FB_PAGE_KINDS,
};

/* Whether pages of the kind have to be reserved beforehand. */
bool fb_pages_explicit(enum fb_pages kind);

/*
 * Pure: whether whole explicit pages for `needed` bytes are within `most`, what a rank may have of
 * them; 0 where there are none. Otherwise writes the reason, which speaks of `asked` bytes.
 */
bool fb_pages_fit(enum fb_pages kind, uint64_t asked, uint64_t needed, uint64_t most, char *reason,
		  size_t n);

/* The unit of sizes; 0 where the kernel has no such pages. */
size_t fb_pages_bytes(enum fb_pages kind);

/* Bytes of free pages of an explicit kind, below `root` ("" for the machine itself). */
uint64_t fb_pages_free(const char *root, enum fb_pages kind);

/* Collective: what each rank may have of an explicit kind, in the poorest host. */
uint64_t fb_pages_share(const struct fb_group *world, enum fb_pages kind);

/*
 * What the mapping that `at` lies in really is made of, of the pages that this process has
 * touched: "4K pages", "2M pages", "THP 87%"; empty where the kernel does not say. `maps` is
 * /proc/self/smaps, or a copy for tests. Returns buf.
 */
enum { FB_PAGES_CHARS = 24 };
const char *fb_pages_text(const char *maps, const void *at, char buf[FB_PAGES_CHARS]);

#endif
