/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links that GPUs cannot reach over: by mail. A block does what it always does, with slots and
 * counters in pinned memory of its own host; the host's proxy (proxy.h) carries messages from
 * there to the peer's slots, and counters with them. Blocks, records and the argument why slots
 * may be used again stay what they are:
 *
 *	sender    The block fills a slot that stands in for the peer's and raises `available`. The
 *	          proxy sees it, copies the message to the transport, and raises the sender's
 *	          `freed`, which the block waits for where a link counts that.
 *	receiver  The proxy copies a message from the transport into the slot of its number, once
 *	          the block has raised `freed` for the one before in that slot, and raises the
 *	          `available` that the block polls.
 *
 * Where links count no `freed` (build.h), a sender's message of call k proves that the receiver
 * has finished call k - 2, whose slot it takes; its arrival does, too.
 *
 * Order: the block's fence before its counter covers the slot for the processor that reads the
 * counter with acquire order; the proxy stores a counter with release order after the slot, and
 * the block's fence behind its poll does the rest (PCIe writes nothing before what it was told
 * to write first).
 */
#ifndef FB_COLLECTIVES_ENGINE_CUDA_MAIL_H
#define FB_COLLECTIVES_ENGINE_CUDA_MAIL_H

#include "collectives/engine/cuda/build.h"
#include "common/transport/transport.h"

/* One end of a link, for the proxy. */
struct fb_gpu_mail_link {
	int peer;            /* -1: not by mail, and nothing else is set */
	uint32_t id;         /* tells the links between two ranks apart */
	bool sends;
	uint64_t *available; /* messages so far: in the slots here; told to the block here */
	uint64_t *freed;     /* of them done with, the other way round; NULL: not counted */
	char *slots;
	uint32_t nslots, stride; /* nslots: a power of two */
	uint64_t messages;   /* of a call */
	uint32_t *bytes;     /* [messages] */
	uint64_t done;       /* messages that the proxy has passed on */
	struct fb_port *port; /* the proxy's */
};

struct fb_gpu_mail {
	struct fb_gpu_mail_link *links; /* of all channels, mailed or not */
	int n;
	int *first; /* [channel * 2 + out]: that channel's first in- or out-link */
};

/*
 * All links of the view's plans. Their messages' lengths follow when records are built with
 * view->mail set. 0 or FB_ENOMEM; to be freed in any case.
 */
int fb_gpu_mail_open(struct fb_gpu_mail *mail, const struct fb_gpu_view *view);
void fb_gpu_mail_close(struct fb_gpu_mail *mail);

/* Message `index` of a call on that link is `bytes` long. */
void fb_gpu_mail_message(struct fb_gpu_mail *mail, int channel, bool out, int link,
			 uint64_t index, uint64_t bytes);

#endif
