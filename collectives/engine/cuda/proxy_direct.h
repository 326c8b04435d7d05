/* SPDX-License-Identifier: BSD-3-Clause */
/* GPUDirect links of the proxy: the network's device reads and writes slots; see proxy_links.h. */
#ifndef FB_COLLECTIVES_ENGINE_CUDA_PROXY_DIRECT_H
#define FB_COLLECTIVES_ENGINE_CUDA_PROXY_DIRECT_H

#include "collectives/engine/cuda/proxy_links.h"

/*
 * Has the device carry what the GPU has put into its slots. Returns whether something moved on. The
 * transport reports failures by its progress().
 */
bool fb_gpu_direct_out(struct fb_gpu_proxy_link *link);

/* Tells the GPU what has arrived, and the peer which slots are free. 1, 0, or an error. */
int fb_gpu_direct_in(struct fb_gpu_proxy_links *proxied, struct fb_gpu_proxy_link *link);

#endif
