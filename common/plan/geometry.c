/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes offsets and lengths of chunks; see geometry.h. */
#include "common/plan/geometry.h"

#include "common/plan/builder.h"

/*
 * Parts begin at a processor's cache line, and parts of large blocks at a GPU's, because a GPU's
 * access that straddles lines needs one more. Small blocks would have fewer parts with this size.
 */
enum { GRANULE_BYTES = 64, LARGE_BLOCK = 64 << 10, LARGE_GRANULE_BYTES = 128 };

static uint64_t granule_bytes(const struct fb_geometry *g)
{
	/* Every range begins with the first channel's stripe, equally in all blocks. */
	if (g->stripe)
		return (uint64_t)g->stripe * g->channels;
	return g->count * g->element_bytes < LARGE_BLOCK ? GRANULE_BYTES : LARGE_GRANULE_BYTES;
}

static uint64_t granule(const struct fb_geometry *g)
{
	return granule_bytes(g) / g->element_bytes;
}

/* Elements of a block of a rank's buffer (canonical name). */
static uint64_t block_elements(const struct fb_geometry *g, int rank, uint8_t buffer,
			       uint32_t block)
{
	uint64_t n = (uint64_t)g->nranks;

	if (!g->counts)
		return g->count;
	/* Scratch has room for the largest block; reduce_scatter_v sums block b in block b. */
	if (buffer == FB_SCRATCH)
		return g->collective == FB_REDUCE_SCATTER_V ? g->counts->elements[block % n]
							    : g->count;
	return buffer == FB_IN ? g->counts->elements[(uint64_t)rank * n + block]
			       : g->counts->elements[block * n + (uint64_t)rank];
}

/* Bytes from the begin of the buffer to the block. */
static size_t block_offset(const struct fb_geometry *g, int rank, uint8_t buffer, uint32_t block)
{
	size_t elements = 0;

	if (!g->counts || buffer == FB_SCRATCH)
		return block * (size_t)g->count * g->element_bytes;
	for (uint32_t b = 0; b < block; b++)
		elements += block_elements(g, rank, buffer, b);
	return elements * g->element_bytes;
}

struct fb_end fb_step_extent(const struct fb_geometry *g, const struct fb_plan *plan,
			     const struct fb_step *step)
{
	const struct fb_end *e = plan->ends + step->first_end;

	for (int i = 0; g->counts && i < step->nsrc + step->ndst; i++, e++)
		if (e->kind == FB_LOCAL || e->kind == FB_ARRIVE || e->kind == FB_EXPOSE)
			return (struct fb_end){.buffer = e->buffer, .index = e->index};
	return (struct fb_end){.buffer = FB_SCRATCH, .index = step->unit};
}

/* Whether the chunk is whole blocks in one slice, contiguous in memory and of equal size. */
static bool is_one_piece(const struct fb_geometry *g, uint32_t unit, uint32_t count)
{
	return g->parts == 1 && unit % g->split == 0 && count % g->split == 0 &&
	       (!g->counts || count == g->split);
}

uint32_t fb_chunk_pieces(const struct fb_geometry *g, uint32_t unit, uint32_t count)
{
	uint32_t first = unit / g->split, last = (unit + count - 1) / g->split;

	if (is_one_piece(g, unit, count))
		return 1;
	return last - first + 1;
}

/* Elements of the slice `part` before unit `sub` of a block of n elements. */
static uint64_t unit_begin(const struct fb_geometry *g, uint64_t n, uint64_t part, uint32_t sub)
{
	uint64_t slices = g->stripe ? g->parts / g->channels : g->parts;
	uint64_t first, length, at, ignored;

	fb_share(n, slices, part % slices, granule(g), &first, &length);
	if (sub == g->split)
		return first + length;
	fb_share(length, g->split, sub, granule(g), &at, &ignored);
	return first + at;
}

/* The channel's stripes of the bytes [from, to), where the first stripe is the first channel's. */
static struct fb_piece deal(const struct fb_geometry *g, uint64_t channel, size_t from, size_t to)
{
	size_t round = (size_t)granule_bytes(g), skip = (size_t)channel * g->stripe;
	size_t rest = (to - from) % round, last = rest > skip ? rest - skip : 0;

	last = last < g->stripe ? last : g->stripe;
	return (struct fb_piece){.offset = from + skip,
				 .bytes = (to - from) / round * g->stripe + last};
}

struct fb_piece fb_chunk_piece(const struct fb_geometry *g, int rank, uint8_t buffer,
			       uint32_t unit, uint32_t count, uint64_t part, uint32_t i)
{
	uint32_t block = unit / g->split + i, last = (unit + count - 1) / g->split;
	uint32_t begin = i ? 0 : unit % g->split, end = g->split;
	uint64_t n = block_elements(g, rank, buffer, block), from, to;
	size_t base = block_offset(g, rank, buffer, block);

	if (is_one_piece(g, unit, count))
		return (struct fb_piece){.offset = base, .bytes = count / g->split * (size_t)n *
							  g->element_bytes};
	if (block == last)
		end = (unit + count - 1) % g->split + 1;
	from = unit_begin(g, n, part, begin);
	to = unit_begin(g, n, part, end);
	if (g->stripe)
		return deal(g, part / (g->parts / g->channels),
			    base + (size_t)from * g->element_bytes,
			    base + (size_t)to * g->element_bytes);
	return (struct fb_piece){.offset = base + (size_t)from * g->element_bytes,
				 .bytes = (size_t)(to - from) * g->element_bytes};
}

size_t fb_message_bound(const struct fb_geometry *g, uint32_t units)
{
	uint64_t granules = (g->count + granule(g) - 1) / granule(g);
	uint64_t slice = (granules + g->parts - 1) / g->parts;
	uint64_t whole = units / g->split * slice;
	uint64_t rest = (units % g->split * slice + g->split - 1) / g->split;

	/* A run of units that crosses blocks rounds once at each end. */
	return (size_t)((whole + rest + (units % g->split ? 2 : 0)) * granule_bytes(g));
}

uint64_t fb_slices_for(const struct fb_geometry *g, uint32_t units, uint64_t channels,
		       size_t limit)
{
	struct fb_geometry t = *g;
	uint64_t granules = (g->count + granule(g) - 1) / granule(g);
	uint64_t low = 1, high = granules / channels + 1;

	/* The bound falls with the number of slices: the least that fits, by bisection. */
	while (low < high) {
		uint64_t middle = (low + high) / 2;

		t.parts = middle * channels;
		if (fb_message_bound(&t, units) <= limit)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}
