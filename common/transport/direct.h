/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Zero copy over a network: what an engine needs beside acquire and peek to let a device write
 * into, or read from, the peer's own buffers. (Over shared memory the engine does that itself,
 * shm.h.)
 *
 * Places are named by this rank's addresses: memory that all ranks have laid out alike is exposed
 * by all of them at once, and "the peer's byte at my address p" is the byte of the peer's memory
 * at the same distance from its beginning.
 *
 * A posted request is not complete: the device still reads the source of a push and still writes
 * the target of a pull until a ticket that was taken later is reached. Nothing here waits.
 */
#ifndef FB_COMMON_TRANSPORT_DIRECT_H
#define FB_COMMON_TRANSPORT_DIRECT_H

#include "common/transport/rdma_choice.h"
#include "common/transport/transport.h"

/* Stands for all requests that were posted on a port before the ticket was taken. */
struct fb_ticket {
	uint64_t number[FB_RDMA_RAILS];
};

/* Device memory of this rank's. */
struct fb_device_memory {
	void *base;      /* the device's address */
	size_t bytes;    /* the same on all ranks */
	int fd;          /* dma-buf (borrowed) with the memory at `offset`; -1: use the address */
	uint64_t offset;
	bool host;       /* is host memory after all, in an emulation */
};

struct fb_direct_ops {
	/*
	 * Collective: every rank makes its memory [base, base + bytes) reachable for all others;
	 * the same bytes on all ranks. Exposing again what is exposed costs one reduction. FB_OK
	 * or an error on all ranks (printed).
	 */
	int (*expose)(struct fb_transport *transport, void *base, size_t bytes);
	/* The same for device memory, registered the way that memory->fd says and no other. */
	int (*expose_device)(struct fb_transport *transport,
			     const struct fb_device_memory *memory);
	/* Local: whether expose_device() can do it; if not, `why` has the reason (not printed). */
	bool (*can_expose)(const struct fb_transport *transport,
			   const struct fb_device_memory *memory, char *why, size_t n);
	/* Collective: the memory is about to be freed. No peer may use it any more. */
	void (*conceal)(struct fb_transport *transport, const void *base, size_t bytes);

	/* Local: registers memory of this rank as source of pushes and target of pulls. */
	int (*lend)(struct fb_transport *transport, void *base, size_t bytes);
	void (*take_back)(struct fb_transport *transport, const void *base, size_t bytes);

	/* Sender: has the receiver given a credit for the next push? */
	bool (*may_push)(const struct fb_port *port);
	/*
	 * Sender: writes [local, local + bytes) to the peer's bytes at this rank's address
	 * `place`, as much as the queue has room for. Returns how many bytes that were, maybe 0;
	 * the caller pushes the rest after progress().
	 */
	size_t (*push)(struct fb_port *port, const void *local, const void *place, size_t bytes);
	/*
	 * Sender: notifies the receiver that a push is complete (`push`) or that it may pull from
	 * this rank's memory. All pushed bytes arrive first. False: no room now, call again.
	 */
	bool (*announce)(struct fb_port *port, bool push);
	/* Sender: have all pulls up to the total been made? */
	bool (*drained)(const struct fb_port *port, uint64_t pulls);

	/* Receiver: has the next message been announced? */
	bool (*announced)(const struct fb_port *port);
	/* Receiver: reads the peer's bytes at this rank's address `place`; as push(). */
	size_t (*pull)(struct fb_port *port, void *local, const void *place, size_t bytes);
	/* Receiver: the announced message was used; `pulled`: the peer may reuse its memory. */
	void (*done)(struct fb_port *port, bool pulled);
	/* Receiver: the peer may make one more push. */
	void (*credit)(struct fb_port *port);

	/* A ticket behind all that was posted on the port, and whether it is reached. */
	void (*ticket)(const struct fb_port *port, struct fb_ticket *ticket);
	bool (*reached)(const struct fb_port *port, const struct fb_ticket *ticket);
};

#endif
