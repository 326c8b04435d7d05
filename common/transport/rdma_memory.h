/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registered memory, and the cache that keeps registrations.
 *
 * Registering pins pages and gives the device their addresses, which is far too slow to be done for
 * every operation. So memory stays registered until its owner frees it. The cache is an array of
 * regions that do not overlap, sorted by address. The time of registrations is reported, because a
 * benchmark that hides it would flatter zero-copy protocols.
 *
 * Device memory is registered by its dma-buf where kernel and library can do that, else by its
 * address, which works where the driver's peer memory module is loaded. All calls are local.
 */
#ifndef FB_COMMON_TRANSPORT_RDMA_MEMORY_H
#define FB_COMMON_TRANSPORT_RDMA_MEMORY_H

#include "common/transport/rdma_device.h"

#if FB_HAVE_VERBS

enum fb_rdma_how { FB_RDMA_HOST, FB_RDMA_DMABUF, FB_RDMA_PEERMEM };

/* "host", "dma-buf", "peermem". */
extern const char *const fb_rdma_how_names[];

struct fb_rdma_region {
	char *base;
	size_t bytes;
	enum fb_rdma_how how;
	struct ibv_mr *mr[FB_RDMA_RAILS]; /* keys only: mr->addr means nothing with a dma-buf */
};

struct fb_rdma_cache {
	const struct fb_rdma_rail *rails;
	int nrails;
	int access; /* IBV_ACCESS_... of all regions */
	struct fb_rdma_region **regions; /* sorted by base */
	int n, room;
	uint64_t hits, misses; /* lookups so far */
	uint64_t bytes;        /* registered now */
	double register_us, deregister_us; /* so far */
};

/* Access rights of the settings: local and remote reading and writing, and what was asked. */
int fb_rdma_access(const struct fb_rdma_settings *settings);

/* The rails must outlive the cache. */
void fb_rdma_cache_open(struct fb_rdma_cache *cache, const struct fb_rdma_rail *rails, int nrails,
			int access);
void fb_rdma_cache_close(struct fb_rdma_cache *cache);

/*
 * The region that holds [base, base + bytes) of host memory; registers it where none does. Regions
 * that overlap it in part are dropped first, since their memory has been freed. FB_OK, or
 * FB_ESYS (printed, with the limits that may be the reason).
 */
int fb_rdma_register(struct fb_rdma_cache *cache, void *base, size_t bytes,
		     const struct fb_rdma_region **region);

/*
 * The same for device memory at the address `base`: by the dma-buf `fd` (not consumed), in which
 * it begins at `offset`. It is registered by address where fd is -1, or with `either` where the
 * dma-buf cannot be registered. region->how says which.
 */
int fb_rdma_register_device(struct fb_rdma_cache *cache, void *base, size_t bytes, int fd,
			    uint64_t offset, bool either, const struct fb_rdma_region **region);

/*
 * Whether device memory can be registered with all rails by its dma-buf, or with fd -1 by address.
 * Tries it and keeps no registration. The reason, if not, is in `why` (not printed).
 */
bool fb_rdma_can_register_device(const struct fb_rdma_cache *cache, void *base, size_t bytes,
				 int fd, uint64_t offset, char *why, size_t n);

/* The region that holds [base, base + bytes), or NULL. Counts nothing. */
const struct fb_rdma_region *fb_rdma_find(const struct fb_rdma_cache *cache, const void *base,
					  size_t bytes);

/* The memory is about to be freed: drops every region that overlaps it. */
void fb_rdma_forget(struct fb_rdma_cache *cache, const void *base, size_t bytes);

#endif
#endif
