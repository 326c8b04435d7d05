/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passing open files between the ranks of a host, over local sockets. GPU memory handles and
 * DMA buffers are files that cannot be opened by name.
 */
#ifndef FB_COMMON_SYSTEM_FD_EXCHANGE_H
#define FB_COMMON_SYSTEM_FD_EXCHANGE_H

#include "common/system/group.h"

/* Where a process receives files: a random name, and a secret that the sender has to know. */
struct fb_fd_address {
	unsigned char name[16], secret[16];
};

/* Opens a socket with a new address, which the caller closes. Returns it, or -1 (errno). */
int fb_fd_listen(struct fb_fd_address *own);

/* Sends a file there, as one of `rank`. Returns 0, or -1 (errno). */
int fb_fd_send(int s, const struct fb_fd_address *to, int fd, int rank);

/*
 * Waits for a file of a process of the same user that knows the secret; throws anything else away.
 * Returns it, for the caller to close, and its rank as the sender says; -1 (errno) after 30 s.
 */
int fb_fd_receive(int s, const struct fb_fd_address *own, int *rank);

/*
 * Collective over world->node_comm, whose ranks are `n`: every rank gives `fd`, fds[i] becomes
 * this process's own copy of what rank i gave (-1 for its own), which the caller closes. Returns
 * the same on all of them: FB_OK, or FB_ESYS (printed) with all fds closed.
 */
int fb_fd_exchange(const struct fb_group *world, int fd, int *fds, int n);

#endif
