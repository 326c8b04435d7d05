/* SPDX-License-Identifier: BSD-3-Clause */
/* GDRCopy; see gdrcopy.h. */
#include "common/library/gdrcopy.h"

#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/library/library.h"

enum { GPU_PAGE = 64 << 10 };

#define NEEDED(member) { "gdr_" #member, offsetof(struct fb_gdr, member), false }

static const struct fb_library_symbol symbols[] = {
	NEEDED(open), NEEDED(close), NEEDED(pin_buffer), NEEDED(unpin_buffer),
	NEEDED(map), NEEDED(unmap), NEEDED(copy_to_mapping), NEEDED(copy_from_mapping),
	NEEDED(runtime_get_version),
};

int fb_gdr_open(struct fb_gdr *gdr, const char *file, char *reason, size_t n)
{
	struct fb_gdr found = {.library = NULL};
	const char *lacks;

	*gdr = found;
	found.library = fb_library_open(file, NULL, 0, reason, n);
	if (!found.library)
		return FB_EUNSUPPORTED;
	lacks = fb_library_functions(found.library, symbols, sizeof(symbols) / sizeof(symbols[0]),
				     &found);
	if (lacks) {
		snprintf(reason, n, "%s is no GDRCopy of version 2: it has no %s", file, lacks);
		return FB_EUNSUPPORTED;
	}
	found.runtime_get_version(&found.major, &found.minor);
	found.gdr = found.open();
	if (!found.gdr) {
		snprintf(reason, n, "GDRCopy %d.%d does not open its driver, gdrdrv: is it loaded?",
			 found.major, found.minor);
		return FB_EUNSUPPORTED;
	}
	*gdr = found;
	return FB_OK;
}

void fb_gdr_close(struct fb_gdr *gdr)
{
	if (gdr->gdr)
		(void)gdr->close(gdr->gdr);
	*gdr = (struct fb_gdr){.library = NULL};
}

int fb_gdr_map(struct fb_gdr_map *map, const struct fb_gdr *gdr, const void *device, size_t bytes)
{
	size_t before = (uintptr_t)device % GPU_PAGE;
	struct fb_gdr_map m = {.gdr = gdr, .device = device};
	int code;

	*map = (struct fb_gdr_map){.gdr = NULL};
	m.bytes = (before + bytes + GPU_PAGE - 1) / GPU_PAGE * GPU_PAGE;
	code = gdr->pin_buffer(gdr->gdr, (uintptr_t)device - before, m.bytes, 0, 0, &m.handle);
	if (code)
		return fb_error(FB_EUNSUPPORTED, "gdr_pin_buffer of %zu bytes: %s", m.bytes,
				strerror(code < 0 ? -code : code));
	code = gdr->map(gdr->gdr, m.handle, &m.pages, m.bytes);
	if (code) {
		(void)gdr->unpin_buffer(gdr->gdr, m.handle);
		return fb_error(FB_EUNSUPPORTED, "gdr_map of %zu bytes: %s", m.bytes,
				strerror(code < 0 ? -code : code));
	}
	m.at = (char *)m.pages + before;
	*map = m;
	return FB_OK;
}

void fb_gdr_unmap(struct fb_gdr_map *map)
{
	if (!map->gdr)
		return;
	(void)map->gdr->unmap(map->gdr->gdr, map->handle, map->pages, map->bytes);
	(void)map->gdr->unpin_buffer(map->gdr->gdr, map->handle);
	*map = (struct fb_gdr_map){.gdr = NULL};
}

int fb_gdr_write(const struct fb_gdr_map *map, char *device, const void *from, size_t bytes)
{
	int code = map->gdr->copy_to_mapping(map->handle, map->at + (device - map->device), from,
					     bytes);

	return code ? fb_error(FB_ESYS, "gdr_copy_to_mapping: error %d", code) : FB_OK;
}

int fb_gdr_read(const struct fb_gdr_map *map, void *to, const char *device, size_t bytes)
{
	int code = map->gdr->copy_from_mapping(map->handle, to, map->at + (device - map->device),
					       bytes);

	return code ? fb_error(FB_ESYS, "gdr_copy_from_mapping: error %d", code) : FB_OK;
}
