/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the blocks of a cache hold; see serve.h. A list of layers is written, or compared, at once:
 * a prompt of a real model has thousands of pages, and a GPU takes longer to be asked about one of
 * them than to look at it.
 */
#include <stdlib.h>

#include "common/base/error.h"
#include "kvtransfer/serve/serve.h"

enum { HASH_BITS = 30 };

/* The pages of a block in all regions of a list, of which `region` is the first; how many. */
static size_t add_block(const struct fb_serve_instance *i, const struct fb_control *message,
			uint32_t page, int list, uint32_t region, uint32_t block,
			struct fb_data_span *span)
{
	const struct fb_serve_plan *p = &i->plan;
	const struct fb_serve_list *l = &p->list[list];
	uint64_t hash = fb_control_hash(message, block) >> (64 - HASH_BITS);
	uint64_t elements = l->page_bytes / p->shape.element_bytes;
	char *at = fb_segment_part(i->engine->memory, i->state->machine.world->rank) + l->at +
		   page * l->page_bytes;

	for (uint32_t r = 0; r < l->regions; r++)
		span[r] = (struct fb_data_span){(hash * p->regions + region + r) * elements,
						at + r * l->region_bytes};
	return l->regions;
}

int fb_serve_content(const struct fb_serve_instance *i, const struct fb_control *message,
		     bool decode, uint32_t first, struct fb_mismatch *bad)
{
	const struct fb_serve_plan *p = &i->plan;
	const struct fb_memory_ops *ops = i->engine->memory->ops;
	const struct fb_control_header *header = &message->header;
	size_t most = (size_t)header->blocks * p->regions + 1;
	struct fb_data_span *span = malloc(most * sizeof(*span));
	uint32_t region = 0;
	int err = FB_OK;

	if (!span)
		return fb_error(FB_ENOMEM, "out of memory for %zu pages", most);
	for (int l = 0; l < p->lists && !err; region += p->list[l++].regions) {
		uint32_t kept =
			decode && !header->colocated ? fb_serve_first(p, l, header->input) : 0;
		size_t elements = (size_t)(p->list[l].page_bytes / p->shape.element_bytes), n = 0;

		for (uint32_t b = kept > first ? kept : first; b < header->blocks; b++)
			n += add_block(i, message, fb_control_blocks(message, decode)[b], l, region,
				       b, span + n);
		err = bad ? fb_memory_check_spans(ops, &i->data, 0, span, n, elements, bad)
			  : fb_memory_fill_spans(ops, &i->data, 0, span, n, elements);
	}
	free(span);
	return err;
}
