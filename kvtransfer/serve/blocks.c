/* SPDX-License-Identifier: BSD-3-Clause */
/* Which blocks of which layers a cache is made of, and which of them are moved; see serve.h. */
#include "kvtransfer/serve/serve.h"

void fb_serve_lists(struct fb_serve_plan *p)
{
	struct fb_kv_shape list[FB_KV_LISTS], shape = p->shape;
	uint64_t at = 0;

	/* With so many tokens, layers with a window always are a list of their own. */
	shape.tokens = UINT32_MAX;
	p->lists = fb_kv_model_lists(p->model, &shape, list);
	p->regions = 0;
	for (int l = 0; l < p->lists; l++) {
		struct fb_serve_list *to = &p->list[l];

		to->regions = fb_kv_regions(&list[l]);
		to->page_bytes = (uint64_t)list[l].kv_heads * list[l].block_tokens *
				 fb_kv_row(&list[l]);
		to->region_bytes = p->pool_blocks * to->page_bytes;
		to->at = at;
		to->window = l && !p->model->index_bytes;
		at += to->regions * to->region_bytes;
		p->regions += to->regions;
	}
	p->bytes = at;
}

uint32_t fb_serve_first(const struct fb_serve_plan *p, int list, uint32_t input)
{
	return p->list[list].window
		       ? fb_kv_model_first_block(p->model, input, p->shape.block_tokens)
		       : 0;
}

uint64_t fb_serve_pieces(const struct fb_serve_plan *p, const struct fb_control *l,
			 struct fb_piece *piece, struct fb_transfer t[FB_SERVE_LISTS])
{
	uint64_t bytes = 0;

	for (int k = 0; k < p->lists; k++) {
		const struct fb_serve_list *list = &p->list[k];
		uint32_t first =
			list->window ? fb_serve_first(p, k, l->header.input) : l->header.held[1];

		t[k] = (struct fb_transfer){.verb = FB_MOVE_PUT,
					    .peer = l->header.decode,
					    .notice = FB_SERVE_NOTICE,
					    .piece = piece,
					    .pieces = l->header.blocks - first,
					    .repeats = list->regions,
					    .local_step = list->region_bytes,
					    .remote_step = list->region_bytes,
					    .local_at = list->at,
					    .remote_at = list->at};
		for (uint32_t b = first; b < l->header.blocks; b++)
			*piece++ = (struct fb_piece){
				fb_control_blocks(l, false)[b] * list->page_bytes,
				fb_control_blocks(l, true)[b] * list->page_bytes, list->page_bytes};
		bytes += t[k].pieces * list->page_bytes * list->regions;
	}
	return bytes;
}
