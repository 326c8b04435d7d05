/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Line protocols: which records a block's warps do side by side, and where its threads meet.
 *
 * A record is mostly waiting: for own memory, for a peer's lines. Records that come one after the
 * other and have nothing to do with each other are therefore given to different warps, so that
 * all wait together: what is sent to several peers, what comes from them. That is worth it as
 * long as its share of the warps does each in one pass, a line for each group of threads.
 *
 * Threads go through records without meeting, so own memory that one thread has written, or
 * still reads, must not be another's in a later record. The same range as a whole, by the whole
 * block in both, is cut in the same way: every thread meets only itself there. In all other cases
 * the threads meet before. Where an operation has no bytes, as a barrier has none, its blocks are
 * places all the same: who passes on what it has received must have received it. Otherwise a rank
 * could be calls ahead of one that it sends to, and overwrite a slot that is not read yet.
 */
#include <stdlib.h>

#include "collectives/engine/cuda/draft.h"
#include "common/base/error.h"

enum {
	WARP = 32,
	MOST = 16,  /* records of a batch */
};

/* Own memory that was read or written since the block's threads met. */
struct touch {
	uint64_t address, bytes;
	bool write, whole; /* whole: by the block's threads in their order */
};

struct touched {
	struct touch *list;
	size_t count, room;
	uint64_t least; /* bytes that a place has */
};

static const struct fb_gpu_end *ends_of(const struct fb_gpu_record *r)
{
	return (const void *)(r + 1);
}

static struct fb_gpu_record *next_of(struct fb_gpu_record *r)
{
	return (void *)((char *)r + r->size);
}

/* Whether the record has to come after what touched these bytes in that way. */
static bool conflicts(const struct fb_gpu_record *r, const struct touch *t, uint64_t least,
		      bool whole)
{
	uint64_t before = t->bytes > least ? t->bytes : least;
	uint64_t now = r->bytes > least ? r->bytes : least;

	for (int k = 0; k < r->nsrc + r->ndst; k++) {
		const struct fb_gpu_end *e = &ends_of(r)[k];

		if (e->is_slot || (k < r->nsrc && !t->write) ||
		    (whole && t->whole && t->address == e->address && t->bytes == r->bytes))
			continue;
		if (t->address < e->address + now && e->address < t->address + before)
			return true;
	}
	return false;
}

static bool conflicts_with_any(const struct fb_gpu_record *r, const struct touched *t, bool whole)
{
	for (size_t i = 0; i < t->count; i++)
		if (conflicts(r, &t->list[i], t->least, whole))
			return true;
	return false;
}

static int touch(struct touched *t, const struct fb_gpu_record *r, bool whole)
{
	for (int k = 0; k < r->nsrc + r->ndst; k++) {
		const struct fb_gpu_end *e = &ends_of(r)[k];

		if (e->is_slot)
			continue;
		if (t->count == t->room) {
			size_t room = t->room ? 2 * t->room : 64;
			struct touch *grown = realloc(t->list, room * sizeof(*grown));

			if (!grown)
				return FB_ENOMEM;
			t->list = grown;
			t->room = room;
		}
		t->list[t->count++] = (struct touch){e->address, r->bytes, k >= r->nsrc, whole};
	}
	return FB_OK;
}

/* Bytes of a record that a share of the block's warps does in one pass. */
static uint64_t pass_bytes(const struct fb_gpu_view *view, uint32_t n)
{
	uint64_t warps = (uint64_t)view->threads / WARP / n;

	return view->shape->protocol == FB_GPU_LL128 ? warps * (WARP / 8) * 120
						     : warps * WARP * 8;
}

static bool is_free(const struct fb_gpu_record *r)
{
	return !r->nwait && !r->npost;
}

/* How many of the `left` records from r on go together; t is used up. */
static int find_batch(const struct fb_gpu_view *view, struct fb_gpu_record *r, uint32_t left,
		      struct touched *t, uint32_t *n)
{
	uint64_t most = r->bytes;
	int err = FB_OK;

	*n = 1;
	if (!is_free(r))
		return FB_OK;
	t->count = 0;
	while (*n < left && *n < MOST && !(r->flags & FB_GPU_REFILL)) {
		err = touch(t, r, false);
		r = next_of(r);
		most = r->bytes > most ? r->bytes : most;
		if (err || !is_free(r) || most > pass_bytes(view, *n + 1) ||
		    pass_bytes(view, *n + 1) == 0 || conflicts_with_any(r, t, false))
			break;
		++*n;
	}
	return err;
}

/* Has the threads meet before the n records, if they must, and notes what these touch. */
static int order(struct fb_gpu_record *first, uint32_t n, struct touched *t)
{
	struct fb_gpu_record *r = first;
	int err = FB_OK;

	for (uint32_t i = 0; i < n; i++, r = next_of(r))
		if (conflicts_with_any(r, t, n == 1)) {
			first->flags |= FB_GPU_SYNC;
			t->count = 0;
			break;
		}
	r = first;
	for (uint32_t i = 0; i < n && !err; i++, r = next_of(r)) {
		/* Threads meet before they post. */
		if (r->npost)
			t->count = 0;
		else
			err = touch(t, r, n == 1);
	}
	return err;
}

int fb_gpu_batch(const struct fb_gpu_view *view, struct fb_gpu_table *table,
		 const struct fb_gpu_block *block)
{
	const struct fb_geometry *g = &view->shape->geometry;
	uint64_t least = g->collective == FB_BARRIER || !g->count;
	struct touched within = {.least = least}, before = {.least = least};
	size_t at = 0;
	uint32_t n = 1;
	int err = FB_OK;

	for (uint32_t i = 0; i < block->nrecords && !err; i += n) {
		struct fb_gpu_record *r = (void *)(table->bytes + block->records + at);
		uint32_t flags = 0;

		err = find_batch(view, r, block->nrecords - i, &within, &n);
		if (err)
			break;
		r->batch = n;
		err = order(r, n, &before);
		for (uint32_t k = 0; k < n; k++, r = next_of(r)) {
			flags = r->flags;
			at += r->size;
		}
		if (flags & FB_GPU_REFILL)
			at = (at + FB_GPU_WINDOW - 1) / FB_GPU_WINDOW * FB_GPU_WINDOW;
	}
	free(within.list);
	free(before.list);
	return err;
}
