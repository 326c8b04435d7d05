/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations on host memory; see memory_ops.h. */
#include "common/memory/memory_ops.h"

#include <string.h>

#include "common/base/error.h"
#include "common/memory/segment.h"

static int host_set(void *to, int byte, size_t bytes)
{
	memset(to, byte, bytes);
	return FB_OK;
}

static int host_get(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	return FB_OK;
}

static int host_fill(const struct fb_data *data, int rank, uint64_t first, void *to, size_t count)
{
	fb_data_fill(data, rank, first, to, count);
	return FB_OK;
}

static int host_check(const struct fb_data *data, int rank, uint64_t first, const void *from,
		      size_t count, struct fb_mismatch *bad)
{
	if (rank == FB_REDUCED)
		fb_data_check_reduced(data, first, from, count, bad);
	else
		fb_data_check(data, rank, first, from, count, bad);
	return FB_OK;
}

const struct fb_memory_ops fb_memory_host = {
	.name = "host",
	.close = fb_segment_unmap,
	.set = host_set,
	.put = host_get,
	.get = host_get,
	.fill = host_fill,
	.check = host_check,
};

int fb_memory_fill_spans(const struct fb_memory_ops *ops, const struct fb_data *data, int rank,
			 const struct fb_data_span *span, size_t n, size_t count)
{
	int err = FB_OK;

	if (ops->fill_spans)
		return ops->fill_spans(data, rank, span, n, count);
	for (size_t k = 0; k < n && !err; k++)
		err = ops->fill(data, rank, span[k].first, span[k].at, count);
	return err;
}

int fb_memory_check_spans(const struct fb_memory_ops *ops, const struct fb_data *data, int rank,
			  const struct fb_data_span *span, size_t n, size_t count,
			  struct fb_mismatch *bad)
{
	int err = FB_OK;

	if (ops->check_spans)
		return ops->check_spans(data, rank, span, n, count, bad);
	for (size_t k = 0; k < n && !err; k++)
		err = ops->check(data, rank, span[k].first, span[k].at, count, bad);
	return err;
}
