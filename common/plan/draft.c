/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of the draft steps of one plan; see draft.h. */
#include "common/plan/draft.h"

#include <stdlib.h>

#include "common/base/error.h"

int fb_open_drafts(struct fb_drafts *d, const struct fb_ops *ops)
{
	size_t nslots = 16;

	*d = (struct fb_drafts){.ops = ops};
	while (nslots < ops->nops + ops->nsrcs)
		nslots *= 2;
	for (int out = 0; out < 2; out++) {
		d->nslots[out] = nslots * 2;
		d->slots[out] = calloc(d->nslots[out], sizeof(uint32_t));
		if (!d->slots[out])
			return FB_ENOMEM;
	}
	for (int b = 0; b < FB_BUFFERS; b++) {
		struct fb_history *h = &d->history[b];

		h->units = fb_buffer_units(&ops->shape, ops->rank, ops->split,
					   ops->scratch_blocks, (enum fb_buffer)b);
		h->wrote = calloc((size_t)h->units + 1, sizeof(uint32_t));
		h->touched = calloc((size_t)h->units + 1, sizeof(uint32_t));
		h->copied = calloc((size_t)h->units + 1, sizeof(uint32_t));
		h->exposed = calloc((size_t)h->units + 1, sizeof(bool));
		if (!h->wrote || !h->touched || !h->copied || !h->exposed)
			return FB_ENOMEM;
	}
	return FB_OK;
}

void fb_close_drafts(struct fb_drafts *d)
{
	for (int b = 0; b < FB_BUFFERS; b++) {
		free(d->history[b].wrote);
		free(d->history[b].touched);
		free(d->history[b].copied);
		free(d->history[b].exposed);
	}
	for (int out = 0; out < 2; out++) {
		free(d->links[out]);
		free(d->slots[out]);
	}
	free(d->last_on_link);
	free(d->drafts);
	free(d->srcs);
	free(d->sinks);
}
