/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library with GDRCopy's interface for memory that the processor reaches anyway, as that of the
 * fake CUDA runtime is: a mapping is the memory itself. Nothing may be copied outside of what is
 * mapped, and FAKE_GDR_FAIL=open|pin|map has that call fail. Parameters are as in its manual,
 * declared once more, so that a mistake in the program's does not repeat itself here.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned long h; } mh_t;

enum { MOST = 16, PAGE = 65536 };

static struct {
	unsigned long address, bytes;
	int pinned, mapped;
} pins[MOST];

static int opened;

/* What is open, pinned or mapped: 0 when all was taken back. */
int fake_gdr_left(void);
int fake_gdr_left(void)
{
	int n = opened;

	for (int i = 0; i < MOST; i++)
		n += pins[i].pinned + pins[i].mapped;
	return n;
}

static int fails(const char *call)
{
	const char *which = getenv("FAKE_GDR_FAIL");

	return which && !strcmp(which, call);
}

void *gdr_open(void);
void *gdr_open(void)
{
	if (fails("open"))
		return NULL;
	opened++;
	return &opened;
}

#define API(name, ...)             \
	int gdr_##name(__VA_ARGS__); \
	int gdr_##name(__VA_ARGS__)

API(close, void *gdr)
{
	opened -= gdr == &opened;
	return gdr == &opened ? 0 : EINVAL;
}

API(pin_buffer, void *gdr, unsigned long address, size_t bytes, uint64_t token, uint32_t space,
    mh_t *handle)
{
	int i = 0;

	if (fails("pin"))
		return ENOMEM;
	while (i < MOST && pins[i].pinned)
		i++;
	if (gdr != &opened || address % PAGE || bytes % PAGE || !bytes || token || space ||
	    i == MOST)
		return EINVAL;
	pins[i].address = address;
	pins[i].bytes = bytes;
	pins[i].pinned = 1;
	handle->h = (unsigned long)i + 100;
	return 0;
}

static int known(void *gdr, mh_t handle)
{
	return gdr == &opened && handle.h >= 100 && handle.h < 100 + MOST &&
	       pins[handle.h - 100].pinned;
}

API(unpin_buffer, void *gdr, mh_t handle)
{
	if (!known(gdr, handle) || pins[handle.h - 100].mapped)
		return EINVAL;
	pins[handle.h - 100].pinned = 0;
	return 0;
}

API(map, void *gdr, mh_t handle, void **at, size_t bytes)
{
	if (fails("map"))
		return ENOMEM;
	if (!known(gdr, handle) || bytes != pins[handle.h - 100].bytes)
		return EINVAL;
	pins[handle.h - 100].mapped = 1;
	memcpy(at, &pins[handle.h - 100].address, sizeof(*at));
	return 0;
}

API(unmap, void *gdr, mh_t handle, void *at, size_t bytes)
{
	if (!known(gdr, handle) || !pins[handle.h - 100].mapped ||
	    (unsigned long)at != pins[handle.h - 100].address ||
	    bytes != pins[handle.h - 100].bytes)
		return EINVAL;
	pins[handle.h - 100].mapped = 0;
	return 0;
}

static int within(mh_t handle, const void *at, size_t bytes)
{
	unsigned long first = (unsigned long)at;

	return known(&opened, handle) && pins[handle.h - 100].mapped &&
	       first >= pins[handle.h - 100].address &&
	       first + bytes <= pins[handle.h - 100].address + pins[handle.h - 100].bytes;
}

API(copy_to_mapping, mh_t handle, void *to, const void *from, size_t bytes)
{
	if (!within(handle, to, bytes))
		return EINVAL;
	memcpy(to, from, bytes);
	return 0;
}

API(copy_from_mapping, mh_t handle, void *to, const void *from, size_t bytes)
{
	if (!within(handle, from, bytes))
		return EINVAL;
	memcpy(to, from, bytes);
	return 0;
}

void gdr_runtime_get_version(int *major, int *minor);
void gdr_runtime_get_version(int *major, int *minor)
{
	*major = 2;
	*minor = 99;
}
