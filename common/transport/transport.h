/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transports move the messages of a plan's links between two ranks.
 *
 * A port is one end of one link; the messages of a link arrive in order. The sender asks for a
 * slot, fills it and commits it; the receiver peeks at the next message and releases it. Nothing
 * here waits: whatever is not possible yet returns "not now" and is asked again, so one thread
 * can progress many links. In between, progress() gives the transport time to move bytes.
 *
 * Ports are for one thread each. Memory order: all the sender wrote to a slot before commit() is
 * visible to the receiver after peek() returned the message; all the receiver read before
 * release() is done before the sender may overwrite the slot.
 */
#ifndef FB_COMMON_TRANSPORT_TRANSPORT_H
#define FB_COMMON_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/system/group.h"

struct fb_port;
struct fb_direct_ops; /* direct.h */

struct fb_port_ops {
	/*
	 * Sender: memory for the next message of `bytes` bytes, or NULL while no slot is free.
	 * Asked again before commit(), it returns the same memory.
	 */
	void *(*acquire)(struct fb_port *port, size_t bytes);
	/* Sender: sends what acquire() returned. `bytes` as given there. */
	void (*commit)(struct fb_port *port, size_t bytes);
	/*
	 * Receiver: the next message, `bytes` long, or NULL while it is not complete. Valid
	 * until release(). Asked again before release(), it returns the same memory.
	 */
	const void *(*peek)(struct fb_port *port, size_t bytes);
	/* Receiver: done with what peek() returned; its slot may be overwritten. */
	void (*release)(struct fb_port *port);
	/*
	 * Sender or receiver: whether all messages and credits that this end owes the peer will
	 * reach it even if progress() is not called any more. NULL: always.
	 */
	bool (*settled)(const struct fb_port *port);
	const struct fb_direct_ops *direct; /* protocol "direct" over a network; else NULL */
};

struct fb_port {
	const struct fb_port_ops *ops;
	int peer; /* rank at the other end */
};

/* The properties of one requested link; both ends ask for the same. */
struct fb_link_request {
	int peer;          /* rank at the other end */
	uint32_t id;       /* tells the links between two ranks apart; the same at both ends */
	bool sends;        /* this end is the sender's */
	uint32_t slots;    /* messages in flight, at least 1 */
	size_t slot_bytes; /* of the longest message */
	const char *protocol; /* "simple", "ll", "ll128", "direct" */
	bool posted;          /* tcp: messages lie in the callers' own memory, see tcp.h */
	bool headroom;        /* posted: the link may use the 64 bytes in front of each message */
	uint32_t first_flag;  /* 0: 1. Where wrapping counters start; tests set it high. */
};

struct fb_transport;

struct fb_transport_ops {
	const struct fb_direct_ops *direct; /* NULL: no protocol "direct" over a network */

	/* Collective over the world. Finds interfaces, listens; connects nothing yet. */
	int (*open)(struct fb_transport **transport, const struct fb_group *world);
	void (*close)(struct fb_transport *transport);

	/* Whether the protocol exists here ("simple" does everywhere). Pure. */
	bool (*speaks)(const struct fb_transport *transport, const char *protocol);

	/*
	 * Collective over the world (also for ranks that want no link): makes both ends of all
	 * requested links. ports[n] (the caller's array; what it points to is the transport's)
	 * are valid until disconnect(). Links of an earlier connect() stay valid.
	 */
	int (*connect)(struct fb_transport *transport, const struct fb_link_request *requests,
		       int n, struct fb_port **ports);
	/* Collective: every message sent on the ports must have been released. `ports` is the
	 * array given to connect(). */
	void (*disconnect)(struct fb_transport *transport, struct fb_port **ports, int n);

	/* Moves bytes; NULL: commit() has moved them already. 0 or FB_EPEER, FB_ESYS. */
	int (*progress)(struct fb_transport *transport);

	/*
	 * After a progress() that changed nothing: sleeps until a message, or room for one, may
	 * have come, at most 50 ms. *idle: nothing came in that time. Only for rdma transports that
	 * sleep (--rdma-wait). NULL: the caller has to poll. 0 or errors as above.
	 */
	int (*rest)(struct fb_transport *transport, bool *idle);

	/*
	 * The carrier of the bytes to the rank, for the row: "shm", "tcp eth0 10.0.0.1", "rdma
	 * mlx5_0:1 RoCE v2, IPv4 10.0.0.1 mtu 4096".
	 */
	void (*describe)(const struct fb_transport *transport, int rank, char *text, size_t n);
};

/* Every transport structure begins with this. */
struct fb_transport {
	const struct fb_transport_ops *ops;
	const struct fb_group *world;
};

extern const struct fb_transport_ops fb_transport_shm, fb_transport_tcp, fb_transport_rdma;

#endif
