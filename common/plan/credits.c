/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places credits: the points at which a rank allows its peers to push into its buffers.
 *
 * A credit is given as early as possible, right after the last step that touches the chunk (at
 * the start, if none does), so that the peer need not wait for it. A chunk that a peer pulls is
 * free when the round of the pull is over: not earlier, since every rank would then wait for its
 * neighbour's pull before making its own, and not later, since the peers' pushes of the next
 * round wait for the credit.
 */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/plan/draft.h"

static int add_credit(struct fb_credits *c, uint32_t at, uint32_t draft, uint16_t link)
{
	if (fb_grow(&c->credits, c->n, &c->room, sizeof(*c->credits)))
		return FB_ENOMEM;
	c->credits[c->n] = (struct fb_credit){.draft = draft, .link = link, .next = -1};
	if (c->last[at] >= 0)
		c->credits[c->last[at]].next = (int32_t)c->n;
	else
		c->first[at] = (int32_t)c->n;
	c->last[at] = (int32_t)c->n++;
	return FB_OK;
}

/* Raises the earliest position at which these units may be pushed into. */
static void note(uint32_t *free_at, uint32_t index, uint32_t count,
		 uint32_t at)
{
	for (uint32_t u = index; u < index + count; u++)
		free_at[u] = free_at[u] < at ? at : free_at[u];
}

/* The first draft of a round after `round`; drafts are in the order of rounds. */
static uint32_t first_after(const struct fb_drafts *d, uint32_t round)
{
	size_t low = 0, high = d->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (d->drafts[middle].round > round)
			high = middle;
		else
			low = middle + 1;
	}
	return (uint32_t)low;
}

/* Records how draft i accesses this rank's memory. */
static void note_draft(const struct fb_drafts *d, uint32_t i, uint32_t *const *free_at)
{
	const struct fb_draft *t = &d->drafts[i];

	for (uint32_t s = 0; s < t->nsrc; s++) {
		const struct fb_end *end = &d->srcs[t->first_src + s];

		if (end->kind == FB_LOCAL)
			note(free_at[end->buffer], end->index, t->count, i + 1);
	}
	if (t->has_result)
		note(free_at[t->result_buffer], t->result_index, t->count, i + 1);
	for (int32_t k = t->first_sink; k >= 0; k = d->sinks[k].next) {
		const struct fb_sink *sink = &d->sinks[k];

		if (sink->end.kind == FB_LOCAL)
			note(free_at[sink->end.buffer], sink->end.index, t->count, i + 1);
		if (sink->end.kind == FB_EXPOSE)
			note(free_at[sink->end.buffer], sink->end.index, t->count,
			     first_after(d, sink->round));
	}
}

/* Chooses the place of every credit; see the comment at the top of the file. */
int fb_place_credits(const struct fb_drafts *d, struct fb_credits *credits)
{
	uint32_t *free_at[FB_BUFFERS] = {NULL, NULL, NULL};
	/* Credits of a link stay in the order of its pushes. */
	uint32_t *after = calloc(d->nlinks[FB_LINK_IN] + 1, sizeof(*after));
	int err = after ? FB_OK : FB_ENOMEM;

	for (int b = 0; b < FB_BUFFERS && !err; b++) {
		free_at[b] = calloc((size_t)d->history[b].units + 1, sizeof(uint32_t));
		err = free_at[b] ? FB_OK : FB_ENOMEM;
	}
	for (uint32_t i = 0; i < d->n && !err; i++) {
		const struct fb_draft *t = &d->drafts[i];

		for (uint32_t s = 0; s < t->nsrc && !err; s++) {
			const struct fb_end *end = &d->srcs[t->first_src + s];
			uint32_t at;

			if (end->kind != FB_ARRIVE)
				continue;
			at = after[end->link];
			for (uint32_t u = end->index; u < end->index + t->count; u++)
				at = free_at[end->buffer][u] > at ? free_at[end->buffer][u] : at;
			after[end->link] = at;
			err = add_credit(credits, at, i, end->link);
		}
		note_draft(d, i, free_at);
	}
	for (int b = 0; b < FB_BUFFERS; b++)
		free(free_at[b]);
	free(after);
	return err;
}

