/* SPDX-License-Identifier: BSD-3-Clause */
/* See private.h. */
#include "common/memory/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/system/numa.h"
#include "common/system/temporary.h"

enum { PAGE = 4096 };

/* The kernel's flags for explicit huge pages: those of a size have its logarithm in them. */
static const int huge_flags[FB_PAGE_KINDS] = {
	[FB_PAGES_HUGETLB] = MAP_HUGETLB, [FB_PAGES_HUGETLB_1G] = MAP_HUGETLB | 30 << 26};

void fb_private_touch(char *memory, size_t bytes, size_t page)
{
	volatile char *at = memory;

	for (size_t i = 0; i < bytes; i += page)
		at[i] = 0;
}

/*
 * Maps this many bytes, of a file without a name if the kind is a file. MAP_FAILED: errno has the
 * reason.
 */
static char *map(enum fb_pages kind, size_t bytes)
{
	int file = kind == FB_PAGES_FILE ? fb_temporary_file(NULL) : -1, flags, err;
	char *mapping = MAP_FAILED;

	if (kind == FB_PAGES_FILE && file < 0)
		return MAP_FAILED;
	flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | huge_flags[kind] : MAP_SHARED;
	/* posix_fallocate() returns its error and does not set errno. */
	err = file < 0 ? 0 : posix_fallocate(file, 0, (off_t)bytes);
	if (!err)
		mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
	if (mapping == MAP_FAILED && !err)
		err = errno;
	if (file >= 0)
		close(file);
	errno = err;
	return mapping;
}

int fb_private_get(struct fb_private *p, enum fb_pages kind, size_t asked, int node)
{
	size_t page = fb_pages_bytes(kind), bytes = (asked + page - 1) / page * page;
	bool thp = kind == FB_PAGES_TRANSPARENT;
	int err = 0;
	char *mapping = map(kind, bytes + (thp ? page : 0));

	if (mapping == MAP_FAILED)
		return fb_error(FB_ENOMEM, "memory of %zu bytes: %s", bytes, strerror(errno));
	*p = (struct fb_private){mapping, mapping, bytes + (thp ? page : 0)};
	if (thp) {
		p->memory += page - (uintptr_t)mapping % page;
		(void)madvise(p->memory, bytes, MADV_HUGEPAGE); /* fb_pages_text() tells */
	}
	if (node >= 0)
		err = fb_numa_bind(p->memory, bytes, node);
	if (err) {
		fb_private_put(p);
		return fb_error(FB_ESYS, "mbind of %zu bytes to NUMA node %d: %s", bytes, node,
				strerror(err));
	}
	fb_private_touch(p->memory, asked, thp ? PAGE : page);
	return FB_OK;
}

void fb_private_put(struct fb_private *p)
{
	if (p->mapping)
		munmap(p->mapping, p->mapped);
	*p = (struct fb_private){NULL, NULL, 0};
}
