/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passing open files between the ranks of a host, over local sockets. GPU memory handles and
 * DMA buffers are files that cannot be opened by name.
 */
#ifndef FB_COMMON_SYSTEM_FD_EXCHANGE_H
#define FB_COMMON_SYSTEM_FD_EXCHANGE_H

#include "common/system/group.h"

/*
 * Collective over world->node_comm, whose ranks are `n`: every rank gives `fd`, fds[i] becomes
 * this process's own copy of what rank i gave (-1 for its own), which the caller closes. Returns
 * the same on all of them: FB_OK, or FB_ESYS (printed) with all fds closed.
 */
int fb_fd_exchange(const struct fb_group *world, int fd, int *fds, int n);

#endif
