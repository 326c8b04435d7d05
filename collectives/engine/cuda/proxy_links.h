/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links between GPUs that do not reach each other's memory. A block works as on any other link, but
 * its slots and counters are in pinned memory of its own host. The host's proxy (proxy.h) carries
 * messages from there to the peer's slots, and the counters with them. Blocks, records and the
 * argument why slots may be used again are the same as for other links:
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
 * GPUDirect: the slots are in the GPU's memory, counters stay where they were, and the network's
 * device takes messages out of the sender's slot and puts them into the receiver's.
 *
 *	sender    The proxy sees `available`, has the device WRITE the slot to the peer's once that
 *		  has given a credit, and announces it behind; it raises `freed` when the device
 *		  has read the slot.
 *	receiver  The proxy gives a credit for each slot that is free: at first all, then as the
 *		  block raises `freed`. When a message is announced it orders what the device has
 *		  written (`flush`), and raises `available`.
 *
 * Where links count no `freed`, there are no credits either: the argument is about the blocks at
 * both ends, whatever is in between.
 *
 * Order: the block's fence before its counter covers the slot for the processor that reads the
 * counter with acquire order; the proxy stores a counter with release order after the slot, and
 * the block's acquiring load of it does the rest (PCIe writes nothing before what it was told
 * to write first).
 *
 * Order of GPUDirect. Out: the block's fence is of the whole system, so when the counter is seen
 * in host memory the slot's bytes are where a device that reads over PCIe gets them. In: data go
 * to the GPU and what announces them to the host, by different ways, and neither PCIe nor
 * InfiniBand order writes to different places for who reads only one of them. So a message is
 * announced by immediate data, whose completion says that its WRITEs have been carried out, never
 * by a flag in memory; and the GPU must say of itself that what it reads after that is what was
 * written (CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING), or the proxy flushes
 * (cuFlushGPUDirectRDMAWrites) between the completion and the block's counter. A GPU that can
 * neither is not used so.
 */
#ifndef FB_COLLECTIVES_ENGINE_CUDA_PROXY_LINKS_H
#define FB_COLLECTIVES_ENGINE_CUDA_PROXY_LINKS_H

#include "collectives/engine/cuda/build.h"
#include "common/transport/direct.h"

/* One end of a link, for the proxy. */
struct fb_gpu_proxy_link {
	int peer;            /* -1: the proxy does not carry it, and nothing else is set */
	uint32_t id;         /* distinguishes the links between two ranks */
	bool sends;
	uint64_t *available; /* messages in slots so far; raised by the sender's side */
	uint64_t *freed;     /* messages whose slots are free again; NULL: not counted */
	char *slots;
	uint32_t nslots, stride; /* nslots: a power of two */
	uint64_t messages;   /* of a call */
	uint32_t *bytes;     /* [messages] */
	uint64_t done;       /* messages that the proxy has passed on */
	struct fb_port *port; /* the proxy's */
	/* GPUDirect only. */
	char *place;          /* sender: the local address that stands for the peer's slots */
	size_t pushed;        /* sender: bytes of the message that is on its way */
	uint64_t released;    /* sender: messages that the device has read */
	uint64_t credited;    /* receiver: messages that may come */
	struct fb_ticket *tickets; /* sender: [nslots], of messages behind `released` */
};

struct fb_gpu_proxy_links {
	struct fb_gpu_proxy_link *links; /* of all channels; those with peer -1 are not proxied */
	int n;
	int *first; /* [channel * 2 + out]: that channel's first in- or out-link */
	struct fb_device_memory direct; /* GPUDirect: all slots; base NULL: staged */
	/* Orders what devices wrote before; 0 or an error (printed). NULL: the GPU does. */
	int (*flush)(void *arg);
	void *arg;
};

/*
 * Opens all links of the view's plans. The lengths of their messages follow when records are built
 * with view->proxied set. Returns 0 or FB_ENOMEM; close also after an error.
 */
int fb_gpu_proxy_links_open(struct fb_gpu_proxy_links *proxied, const struct fb_gpu_view *view);
void fb_gpu_proxy_links_close(struct fb_gpu_proxy_links *proxied);

/* Message `index` of a call on that link is `bytes` long. */
void fb_gpu_proxy_message(struct fb_gpu_proxy_links *proxied, int channel, bool out, int link,
			  uint64_t index, uint64_t bytes);

#endif
