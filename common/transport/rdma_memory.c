/* SPDX-License-Identifier: BSD-3-Clause */
/* Registered memory and its cache; see rdma_memory.h. */
#include "common/transport/rdma_memory.h"

#if FB_HAVE_VERBS

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/measure/clock.h"
#include "common/transport/rdma_error.h"

const char *const fb_rdma_how_names[] = {
	[FB_RDMA_HOST] = "host", [FB_RDMA_DMABUF] = "dma-buf", [FB_RDMA_PEERMEM] = "peermem"};

int fb_rdma_access(const struct fb_rdma_settings *settings)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC;

	if (settings->odp)
		access |= IBV_ACCESS_ON_DEMAND;
	if (settings->relaxed_ordering)
		access |= IBV_ACCESS_RELAXED_ORDERING;
	return access;
}

void fb_rdma_cache_open(struct fb_rdma_cache *cache, const struct fb_rdma_rail *rails, int nrails,
			int access)
{
	*cache = (struct fb_rdma_cache){.rails = rails, .nrails = nrails, .access = access};
}

static void drop(struct fb_rdma_cache *cache, struct fb_rdma_region *region)
{
	double start_s = fb_monotonic_s();

	for (int i = 0; i < cache->nrails; i++)
		if (region->mr[i])
			cache->rails[i].verbs->dereg_mr(region->mr[i]);
	cache->deregister_us += 1e6 * (fb_monotonic_s() - start_s);
	cache->bytes -= region->bytes;
	free(region);
}

void fb_rdma_cache_close(struct fb_rdma_cache *cache)
{
	for (int i = 0; i < cache->n; i++)
		drop(cache, cache->regions[i]);
	free(cache->regions);
	memset(cache, 0, sizeof(*cache));
}

/* Index of the first region that ends behind `at`. */
static int first_behind(const struct fb_rdma_cache *cache, const char *at)
{
	int low = 0, high = cache->n;

	while (low < high) {
		int middle = (low + high) / 2;

		if (cache->regions[middle]->base + cache->regions[middle]->bytes > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct fb_rdma_region *fb_rdma_find(const struct fb_rdma_cache *cache, const void *base,
					  size_t bytes)
{
	const char *at = base;
	int i = first_behind(cache, at);
	const struct fb_rdma_region *r = i < cache->n ? cache->regions[i] : NULL;

	return r && r->base <= at && at + bytes <= r->base + r->bytes ? r : NULL;
}

void fb_rdma_forget(struct fb_rdma_cache *cache, const void *base, size_t bytes)
{
	const char *at = base;
	int from = first_behind(cache, at), to = from;

	for (; to < cache->n && cache->regions[to]->base < at + bytes; to++)
		drop(cache, cache->regions[to]);
	if (to == from)
		return;
	memmove(cache->regions + from, cache->regions + to,
		(size_t)(cache->n - to) * sizeof(*cache->regions));
	cache->n -= to - from;
}

/* Registers the region with one device. NULL and errno if that fails. */
static struct ibv_mr *register_one(const struct fb_rdma_cache *cache, int rail,
				   const struct fb_rdma_region *r, int fd, uint64_t offset)
{
	const struct fb_verbs *v = cache->rails[rail].verbs;
	struct ibv_pd *pd = cache->rails[rail].pd;
	/* Only the newer call drops optional bits that the kernel does not know. */
	unsigned access = (unsigned)cache->access;

	if (r->how == FB_RDMA_DMABUF)
		return v->reg_dmabuf_mr(pd, offset, r->bytes, (uint64_t)(uintptr_t)r->base, fd,
					cache->access & ~IBV_ACCESS_ON_DEMAND);
	if (v->reg_mr_iova2)
		return v->reg_mr_iova2(pd, r->base, r->bytes, (uint64_t)(uintptr_t)r->base, access);
	return v->reg_mr(pd, r->base, r->bytes, cache->access & ~IBV_ACCESS_RELAXED_ORDERING);
}

static int register_all(struct fb_rdma_cache *cache, struct fb_rdma_region *r, int fd,
			uint64_t offset)
{
	double start_s = fb_monotonic_s();
	int i = 0, error = 0;

	for (; i < cache->nrails; i++) {
		r->mr[i] = register_one(cache, i, r, fd, offset);
		if (!r->mr[i]) {
			error = errno;
			break;
		}
	}
	while (error && i-- > 0) {
		cache->rails[i].verbs->dereg_mr(r->mr[i]);
		r->mr[i] = NULL;
	}
	cache->register_us += 1e6 * (fb_monotonic_s() - start_s);
	return error;
}

static int complain(const struct fb_rdma_cache *cache, const struct fb_rdma_region *r, int error)
{
	bool odp = cache->access & IBV_ACCESS_ON_DEMAND;
	char hint[160];

	fb_rdma_limit_hint(error, hint, sizeof(hint));
	return fb_error(FB_ESYS, "rdma: %s cannot register %zu bytes of %s memory%s: %s%s",
			cache->rails[0].name, r->bytes,
			r->how == FB_RDMA_HOST ? "host" : "device",
			odp ? " for paging on demand" : "", strerror(error),
			odp && error != ENOMEM ? "; without --rdma-odp it may work" : hint);
}

static int make_room(struct fb_rdma_cache *cache)
{
	int room = cache->room ? 2 * cache->room : 16;
	struct fb_rdma_region **more;

	if (cache->n < cache->room)
		return FB_OK;
	more = realloc(cache->regions, (size_t)room * sizeof(*more));
	if (!more)
		return fb_error(FB_ENOMEM, "rdma: out of memory for %d regions", room);
	cache->regions = more;
	cache->room = room;
	return FB_OK;
}

/* The memory to register. */
struct request {
	void *base;
	size_t bytes;
	bool device;     /* memory of a GPU */
	bool by_address; /* of a GPU: its address may be registered too, without a dma-buf */
	int fd;
	uint64_t offset;
};

/* Tries the ways to register memory, the best first. Returns 0 or an errno. */
static int register_somehow(struct fb_rdma_cache *cache, const struct request *w,
			    struct fb_rdma_region *r)
{
	int error = EOPNOTSUPP;

	*r = (struct fb_rdma_region){.base = w->base, .bytes = w->bytes};
	if (w->device && w->fd >= 0) {
		r->how = FB_RDMA_DMABUF;
		if (cache->rails[0].verbs->reg_dmabuf_mr)
			error = register_all(cache, r, w->fd, w->offset);
	}
	if (error && (!w->device || w->by_address)) {
		r->how = w->device ? FB_RDMA_PEERMEM : FB_RDMA_HOST;
		error = register_all(cache, r, -1, 0);
	}
	return error;
}

static int add(struct fb_rdma_cache *cache, const struct request *w,
	       const struct fb_rdma_region **region)
{
	void *base = w->base;
	size_t bytes = w->bytes;
	const struct fb_rdma_region *known = fb_rdma_find(cache, base, bytes);
	struct fb_rdma_region *r;
	int at, error;

	if (known) {
		cache->hits++;
		*region = known;
		return FB_OK;
	}
	cache->misses++;
	fb_rdma_forget(cache, base, bytes);
	r = calloc(1, sizeof(*r));
	if (!r || make_room(cache)) {
		free(r);
		return FB_ENOMEM;
	}
	error = register_somehow(cache, w, r);
	if (error) {
		complain(cache, r, error);
		free(r);
		return FB_ESYS;
	}
	at = first_behind(cache, base);
	memmove(cache->regions + at + 1, cache->regions + at,
		(size_t)(cache->n - at) * sizeof(*cache->regions));
	cache->regions[at] = r;
	cache->n++;
	cache->bytes += bytes;
	*region = r;
	return FB_OK;
}

int fb_rdma_register(struct fb_rdma_cache *cache, void *base, size_t bytes,
		     const struct fb_rdma_region **region)
{
	const struct request request = {.base = base, .bytes = bytes, .fd = -1};

	return add(cache, &request, region);
}

int fb_rdma_register_device(struct fb_rdma_cache *cache, void *base, size_t bytes, int fd,
			    uint64_t offset, bool either, const struct fb_rdma_region **region)
{
	const struct request request = {.base = base, .bytes = bytes, .device = true, .fd = fd,
				  .offset = offset, .by_address = either || fd < 0};

	return add(cache, &request, region);
}

bool fb_rdma_can_register_device(const struct fb_rdma_cache *cache, void *base, size_t bytes,
				 int fd, uint64_t offset, char *why, size_t n)
{
	struct fb_rdma_cache probe = {.rails = cache->rails, .nrails = cache->nrails,
				      .access = cache->access};
	const struct request request = {.base = base, .bytes = bytes, .device = true, .fd = fd,
				  .offset = offset, .by_address = fd < 0};
	struct fb_rdma_region region;
	int error = register_somehow(&probe, &request, &region);

	for (int i = 0; i < probe.nrails && !error; i++)
		probe.rails[i].verbs->dereg_mr(region.mr[i]);
	if (error)
		snprintf(why, n, "%s does not register GPU memory by %s: %s", probe.rails[0].name,
			 fd < 0 ? "address" : "dma-buf", strerror(error));
	return !error;
}

#endif
