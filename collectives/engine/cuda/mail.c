/* SPDX-License-Identifier: BSD-3-Clause */
/* Which links go by mail, where their slots and counters are, and how long messages are. */
#include "collectives/engine/cuda/mail.h"

#include <stdlib.h>

#include "common/base/error.h"

static void *pointer(uint64_t address)
{
	return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

/*
 * The end of the link that this rank has. What its block waits for is in its own part; what it
 * raises, and a sender's slots, are in what stands in for the peer's.
 */
static int open_link(struct fb_gpu_mail_link *m, const struct fb_gpu_view *v, int channel,
		     bool out, const struct fb_link *l)
{
	const struct fb_gpu_shape *s = v->shape;
	size_t places = (size_t)s->nchannels * FB_MAX_LANES;
	size_t place = (size_t)l->peer * places + (size_t)channel * FB_MAX_LANES + l->lane;
	uint64_t own = v->links(v->arg, v->rank, l->peer);
	uint64_t theirs = v->links(v->arg, l->peer, v->rank);
	uint64_t slots = fb_gpu_slots_address(v, out ? l->peer : v->rank,
					      out ? v->rank : l->peer);
	uint64_t peers = fb_gpu_slots_address(v, v->rank, l->peer);
	uint64_t available = fb_gpu_counter_offset(s, v->layout, channel, l->lane, l->peer,
						   FB_GPU_AVAILABLE);
	uint64_t freed = fb_gpu_counter_offset(s, v->layout, channel, l->lane, l->peer,
					       FB_GPU_FREED);

	*m = (struct fb_gpu_mail_link){
		.peer = l->peer, .sends = out,
		.id = (uint32_t)(channel * FB_MAX_LANES + l->lane),
		.available = pointer((out ? theirs : own) + available),
		.freed = fb_gpu_link_is_free(s, l) ? NULL
						   : pointer((out ? own : theirs) + freed),
		.slots = pointer(slots + (out ? v->layout->mail_slots[place]
					      : v->layout->in_slots[place])),
		.place = pointer(peers + v->layout->out_slots[place]),
		.nslots = fb_gpu_link_slots(s, l), .stride = s->stride,
		.messages = l->messages * s->slices,
	};
	m->bytes = calloc(m->messages + 1, sizeof(*m->bytes));
	m->tickets = calloc(m->nslots, sizeof(*m->tickets));
	return m->bytes && m->tickets ? FB_OK : FB_ENOMEM;
}

int fb_gpu_mail_open(struct fb_gpu_mail *mail, const struct fb_gpu_view *view)
{
	int channels = view->shape->nchannels, n = 0, err = FB_OK;

	*mail = (struct fb_gpu_mail){.n = 0};
	for (int c = 0; c < channels; c++)
		n += view->plans[c]->n_in_links + view->plans[c]->n_out_links;
	mail->links = calloc((size_t)n + 1, sizeof(*mail->links));
	mail->first = calloc((size_t)channels * 2, sizeof(*mail->first));
	if (!mail->links || !mail->first)
		return FB_ENOMEM;
	for (int k = 0; k < channels * 2 && !err; k++) {
		const struct fb_plan *p = view->plans[k / 2];
		const struct fb_link *l = k % 2 ? p->out_links : p->in_links;
		int count = k % 2 ? p->n_out_links : p->n_in_links;

		mail->first[k] = mail->n;
		for (int i = 0; i < count && !err; i++) {
			struct fb_gpu_mail_link *m = &mail->links[mail->n++];

			m->peer = -1;
			if (view->via && view->via[l[i].peer] == FB_GPU_MAIL)
				err = open_link(m, view, k / 2, k % 2, &l[i]);
		}
	}
	return err;
}

void fb_gpu_mail_close(struct fb_gpu_mail *mail)
{
	for (int i = 0; i < mail->n; i++) {
		free(mail->links[i].bytes);
		free(mail->links[i].tickets);
	}
	free(mail->links);
	free(mail->first);
	*mail = (struct fb_gpu_mail){.n = 0};
}

void fb_gpu_mail_message(struct fb_gpu_mail *mail, int channel, bool out, int link,
			 uint64_t index, uint64_t bytes)
{
	struct fb_gpu_mail_link *m = &mail->links[mail->first[channel * 2 + out] + link];

	if (m->bytes && index < m->messages)
		m->bytes[index] = (uint32_t)bytes;
}
