/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Zero-copy ports as the executor sees them: over shared memory (inline, without an operations
 * table, because a store is all there is to do), or over a network that has direct_ops.
 */
#ifndef FB_COLLECTIVES_ENGINE_HOST_DIRECT_H
#define FB_COLLECTIVES_ENGINE_HOST_DIRECT_H

#include "common/transport/direct.h"
#include "common/transport/shm.h"

/* Whether the port's peer has to be reached by the network's device. */
static inline bool fb_host_is_remote(const struct fb_port *port)
{
	return port->ops && port->ops->direct;
}

static inline bool fb_host_announced(struct fb_port *port)
{
	return port->ops ? port->ops->direct->announced(port)
			 : fb_direct_announced(fb_shm_port(port));
}

static inline bool fb_host_may_push(struct fb_port *port)
{
	return port->ops ? port->ops->direct->may_push(port)
			 : fb_direct_may_push(fb_shm_port(port));
}

static inline void fb_host_direct_done(struct fb_port *port, bool pulled)
{
	if (port->ops)
		port->ops->direct->done(port, pulled);
	else
		fb_direct_done(fb_shm_port(port), pulled);
}

static inline void fb_host_credit(struct fb_port *port)
{
	if (port->ops)
		port->ops->direct->credit(port);
	else
		fb_direct_credit(fb_shm_port(port));
}

static inline bool fb_host_drained(struct fb_port *port, uint64_t pulls)
{
	return port->ops ? port->ops->direct->drained(port, pulls)
			 : fb_direct_drained(fb_shm_port(port), pulls);
}

/* False: not possible now; only networks say that. */
static inline bool fb_host_announce(struct fb_port *port, bool push)
{
	if (port->ops)
		return port->ops->direct->announce(port, push);
	fb_direct_announce(fb_shm_port(port), push);
	return true;
}

#endif
