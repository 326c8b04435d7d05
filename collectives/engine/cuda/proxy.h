/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread of the host that carries mail (mail.h) between GPUs over a transport: one for each
 * transport that is used so, for the links of all requests. The GPU's blocks and the thread see
 * each other's counters only; nobody calls anybody, so launches, graphs and the main thread do
 * not know of it.
 *
 * A transport belongs to one thread at a time: while the main thread connects or disconnects
 * links, the proxy stands still. Requests are added and removed between calls, when all that was
 * sent has left; that is why both are collective.
 */
#ifndef FB_COLLECTIVES_ENGINE_CUDA_PROXY_H
#define FB_COLLECTIVES_ENGINE_CUDA_PROXY_H

#include "collectives/engine/cuda/mail.h"

struct fb_gpu_proxy;

/* Local. `transport` is borrowed, and used by nobody else. 0, FB_ENOMEM or FB_ESYS (printed). */
int fb_gpu_proxy_open(struct fb_gpu_proxy **proxy, struct fb_transport *transport);
/* After all mail is removed. NULL is fine. */
void fb_gpu_proxy_close(struct fb_gpu_proxy *proxy);

/*
 * Collective: connects the mail's links and begins to carry; at most `slots` messages of a link
 * are under way between hosts. The mail is borrowed until it is removed. The same on all ranks: 0
 * or an error (printed).
 */
int fb_gpu_proxy_add(struct fb_gpu_proxy *proxy, struct fb_gpu_mail *mail, uint32_t slots);
/* Collective, after the last call on all links has ended: waits until all has left. */
void fb_gpu_proxy_remove(struct fb_gpu_proxy *proxy, struct fb_gpu_mail *mail);

/* 0, or the error that the thread has stopped at (printed); for whoever waits for mail. */
int fb_gpu_proxy_state(const struct fb_gpu_proxy *proxy);

#endif
