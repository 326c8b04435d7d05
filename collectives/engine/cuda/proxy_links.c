/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the links that the proxy carries, their slots, counters and lengths of messages. */
#include "collectives/engine/cuda/proxy_links.h"

#include <stdlib.h>

#include "common/base/error.h"

static void *pointer(uint64_t address)
{
	return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

/*
 * Sets up this rank's end of a link. The counter that the block waits for is in this rank's part.
 * The counter that it raises, and the slots of a sender, are in the stand-in for the peer's part.
 */
static int open_link(struct fb_gpu_proxy_link *m, const struct fb_gpu_view *v, int channel,
		     bool out, const struct fb_link *l)
{
	const struct fb_gpu_shape *s = v->shape;
	size_t places = (size_t)s->nchannels * FB_MAX_LANES;
	size_t place = (size_t)l->peer * places + (size_t)channel * FB_MAX_LANES + l->lane;
	uint64_t own = v->links(v->arg, v->rank, l->peer);
	uint64_t stand_in = v->links(v->arg, l->peer, v->rank);
	uint64_t slots = fb_gpu_slots_address(v, out ? l->peer : v->rank,
					      out ? v->rank : l->peer);
	uint64_t peers = fb_gpu_slots_address(v, v->rank, l->peer);
	uint64_t available = fb_gpu_counter_offset(s, v->layout, channel, l->lane, l->peer,
						   FB_GPU_AVAILABLE);
	uint64_t freed = fb_gpu_counter_offset(s, v->layout, channel, l->lane, l->peer,
					       FB_GPU_FREED);

	*m = (struct fb_gpu_proxy_link){
		.peer = l->peer, .sends = out,
		.id = (uint32_t)(channel * FB_MAX_LANES + l->lane),
		.available = pointer((out ? stand_in : own) + available),
		.freed = fb_gpu_link_is_free(s, l) ? NULL
						   : pointer((out ? own : stand_in) + freed),
		.slots = pointer(slots + (out ? v->layout->proxied_slots[place]
					      : v->layout->in_slots[place])),
		.place = pointer(peers + v->layout->out_slots[place]),
		.nslots = fb_gpu_link_slots(s, l), .stride = s->stride,
		.messages = l->messages * s->slices,
	};
	m->bytes = calloc(m->messages + 1, sizeof(*m->bytes));
	m->tickets = calloc(m->nslots, sizeof(*m->tickets));
	return m->bytes && m->tickets ? FB_OK : FB_ENOMEM;
}

int fb_gpu_proxy_links_open(struct fb_gpu_proxy_links *proxied, const struct fb_gpu_view *view)
{
	int channels = view->shape->nchannels, n = 0, err = FB_OK;

	*proxied = (struct fb_gpu_proxy_links){.n = 0};
	for (int c = 0; c < channels; c++)
		n += view->plans[c]->n_in_links + view->plans[c]->n_out_links;
	proxied->links = calloc((size_t)n + 1, sizeof(*proxied->links));
	proxied->first = calloc((size_t)channels * 2, sizeof(*proxied->first));
	if (!proxied->links || !proxied->first)
		return FB_ENOMEM;
	for (int k = 0; k < channels * 2 && !err; k++) {
		const struct fb_plan *p = view->plans[k / 2];
		const struct fb_link *l = k % 2 ? p->out_links : p->in_links;
		int count = k % 2 ? p->n_out_links : p->n_in_links;

		proxied->first[k] = proxied->n;
		for (int i = 0; i < count && !err; i++) {
			struct fb_gpu_proxy_link *m = &proxied->links[proxied->n++];

			m->peer = -1;
			if (view->via && view->via[l[i].peer] == FB_GPU_PROXIED)
				err = open_link(m, view, k / 2, k % 2, &l[i]);
		}
	}
	return err;
}

void fb_gpu_proxy_links_close(struct fb_gpu_proxy_links *proxied)
{
	for (int i = 0; i < proxied->n; i++) {
		free(proxied->links[i].bytes);
		free(proxied->links[i].tickets);
	}
	free(proxied->links);
	free(proxied->first);
	*proxied = (struct fb_gpu_proxy_links){.n = 0};
}

void fb_gpu_proxy_message(struct fb_gpu_proxy_links *proxied, int channel, bool out, int link,
			  uint64_t index, uint64_t bytes)
{
	struct fb_gpu_proxy_link *m = &proxied->links[proxied->first[channel * 2 + out] + link];

	if (m->bytes && index < m->messages)
		m->bytes[index] = (uint32_t)bytes;
}
