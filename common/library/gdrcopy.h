/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPU memory in the processor's address space: NVIDIA's GDRCopy, whose driver maps it through the
 * GPU's BAR1 window, so that the processor stores to and loads from it itself.
 *
 * The library is found at run time. Its interface is declared here by hand, as far as it is used:
 * that of version 2 (gdrapi.h of the project GDRCopy). Only whole pages of the GPU are mapped, so
 * that a mapping begins at the address that was asked for.
 */
#ifndef FB_COMMON_LIBRARY_GDRCOPY_H
#define FB_COMMON_LIBRARY_GDRCOPY_H

#include <stddef.h>
#include <stdint.h>

struct fb_gdr_handle { /* gdr_mh_t, passed by value */
	unsigned long h;
};

struct fb_gdr {
	void *library; /* of dlopen; NULL: not open */
	void *gdr;     /* gdr_t */
	int major, minor;
	void *(*open)(void);
	int (*close)(void *gdr);
	int (*pin_buffer)(void *gdr, unsigned long address, size_t bytes, uint64_t token,
			  uint32_t va_space, struct fb_gdr_handle *handle);
	int (*unpin_buffer)(void *gdr, struct fb_gdr_handle handle);
	int (*map)(void *gdr, struct fb_gdr_handle handle, void **at, size_t bytes);
	int (*unmap)(void *gdr, struct fb_gdr_handle handle, void *at, size_t bytes);
	int (*copy_to_mapping)(struct fb_gdr_handle handle, void *to, const void *from,
			       size_t bytes);
	int (*copy_from_mapping)(struct fb_gdr_handle handle, void *to, const void *from,
				 size_t bytes);
	void (*runtime_get_version)(int *major, int *minor);
};

/*
 * Loads `file`, a path or a name that the linker finds, and opens its driver. 0, or
 * FB_EUNSUPPORTED with the reason (not printed), *gdr then zeroed. The library stays loaded.
 */
int fb_gdr_open(struct fb_gdr *gdr, const char *file, char *reason, size_t n);

/* Safe on a zeroed structure. */
void fb_gdr_close(struct fb_gdr *gdr);

/* GPU memory that is mapped. */
struct fb_gdr_map {
	const struct fb_gdr *gdr; /* NULL: none */
	struct fb_gdr_handle handle;
	const char *device; /* the GPU's address of the first byte */
	char *at;	    /* the processor's address of the same byte */
	void *pages;	    /* the mapping, whole pages */
	size_t bytes;	    /* of the mapping */
};

/*
 * Maps memory [device, device + bytes) from cudaMalloc. Local: 0, or FB_EUNSUPPORTED (printed; the
 * BAR1 window is small on many GPUs) with *map zeroed.
 */
int fb_gdr_map(struct fb_gdr_map *map, const struct fb_gdr *gdr, const void *device, size_t bytes);

/* Safe on a zeroed structure. Before the memory is freed. */
void fb_gdr_unmap(struct fb_gdr_map *map);

/*
 * Copies by the processor, to and from mapped device memory. What is written has left the
 * processor on return. 0 or FB_ESYS (printed).
 */
int fb_gdr_write(const struct fb_gdr_map *map, char *device, const void *from, size_t bytes);
int fb_gdr_read(const struct fb_gdr_map *map, void *to, const char *device, size_t bytes);

#endif
