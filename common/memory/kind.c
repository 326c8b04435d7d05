/* SPDX-License-Identifier: BSD-3-Clause */
/* See kind.h. */
#include "common/memory/kind.h"

#include <string.h>

#include "common/base/error.h"
#include "common/option/option.h"

const struct fb_memory_record fb_memory_kinds[FB_MEMORY_KINDS] = {
	[FB_MEMORY_HOST] = {.name = "host", .pages = FB_PAGES_NORMAL},
	[FB_MEMORY_HUGE] = {.name = "hugepage", .pages = FB_PAGES_TRANSPARENT},
	[FB_MEMORY_HUGETLB] = {.name = "hugetlb", .pages = FB_PAGES_HUGETLB},
	[FB_MEMORY_HUGETLB_1G] = {.name = "hugetlb_1g", .pages = FB_PAGES_HUGETLB_1G},
	[FB_MEMORY_PAGEABLE] = {.name = "pageable", .pages = FB_PAGES_NORMAL},
	[FB_MEMORY_REGISTERED] = {.name = "registered", .pages = FB_PAGES_NORMAL},
	[FB_MEMORY_FILE] = {.name = "file", .pages = FB_PAGES_FILE},
	[FB_MEMORY_DEVICE] = {.name = "device", .on_gpu = true},
	[FB_MEMORY_VMM] = {.name = "vmm", .on_gpu = true},
	[FB_MEMORY_FABRIC] = {.name = "fabric", .on_gpu = true},
	[FB_MEMORY_PINNED] = {.name = "pinned"},
	[FB_MEMORY_MANAGED] = {.name = "managed", .on_gpu = true, .most = FB_GPU_MANAGED_MOST},
	[FB_MEMORY_NCCL] = {.name = "nccl", .on_gpu = true},
	[FB_MEMORY_SYMMETRIC] = {.name = "symmetric", .on_gpu = true},
};

enum fb_memory_kind fb_memory_kind_of(const char *name)
{
	int kind = 0;

	while (kind < FB_MEMORY_KINDS && strcmp(fb_memory_kinds[kind].name, name))
		kind++;
	return kind < FB_MEMORY_KINDS ? (enum fb_memory_kind)kind : FB_MEMORY_HOST;
}

enum fb_memory_kind fb_memory_asked(const char *list, bool by_gpu)
{
	int first = by_gpu ? FB_MEMORY_DEVICE : FB_MEMORY_HOST;

	for (int kind = first; kind < FB_MEMORY_NCCL; kind++)
		if (fb_memory_by_gpu((enum fb_memory_kind)kind) == by_gpu && list &&
		    fb_option_names(list, fb_memory_kinds[kind].name))
			return (enum fb_memory_kind)kind;
	return (enum fb_memory_kind)first;
}

int fb_memory_one_each(const char *list, bool say)
{
	int named[2] = {0, 0};

	for (int kind = 0; kind < FB_MEMORY_NCCL; kind++)
		named[fb_memory_by_gpu((enum fb_memory_kind)kind)] +=
			fb_option_names(list, fb_memory_kinds[kind].name);
	if ((named[0] < 2 && named[1] < 2) || !strcmp(list, "all"))
		return FB_OK;
	if (say)
		fb_error(FB_EINPUT, "--memory '%s': expected one kind of host memory and one of a "
			 "GPU's at most", list);
	return FB_EINPUT;
}
