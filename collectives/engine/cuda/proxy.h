/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread of the host that carries the messages of proxied links (proxy_links.h) over a transport.
 * Each transport has one proxy for the links of all requests. Blocks of the GPU and the proxy see
 * only each other's counters, and neither calls the other, so launches, graphs and the main thread
 * do not depend on it.
 *
 * A transport belongs to one thread at a time: the proxy pauses while the main thread connects or
 * disconnects links. Links are added and removed between calls, when all messages have left;
 * therefore both functions are collective.
 */
#ifndef FB_COLLECTIVES_ENGINE_CUDA_PROXY_H
#define FB_COLLECTIVES_ENGINE_CUDA_PROXY_H

#include "collectives/engine/cuda/proxy_links.h"

struct fb_gpu_proxy;

/* Local. `transport` is borrowed, and used by nobody else. 0, FB_ENOMEM or FB_ESYS (printed). */
int fb_gpu_proxy_open(struct fb_gpu_proxy **proxy, struct fb_transport *transport);
/* Call it after all links are removed. NULL is fine. */
void fb_gpu_proxy_close(struct fb_gpu_proxy *proxy);

/*
 * Collective: connects the links and begins to carry; at most `slots` messages of a link are under
 * way between hosts. The links are borrowed until they are removed. Returns the same on all ranks:
 * 0 or an error (printed).
 */
int fb_gpu_proxy_add(struct fb_gpu_proxy *proxy, struct fb_gpu_proxy_links *proxied,
		     uint32_t slots);
/* Collective, after the last call on all links has ended: waits until all messages have left. */
void fb_gpu_proxy_remove(struct fb_gpu_proxy *proxy, struct fb_gpu_proxy_links *proxied);

/* Returns 0, or the error (printed) that has stopped the proxy; for callers that wait. */
int fb_gpu_proxy_state(const struct fb_gpu_proxy *proxy);

#endif
