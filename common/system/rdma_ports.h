/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds RDMA ports that this host can use, without opening a device. */
#ifndef FB_COMMON_SYSTEM_RDMA_PORTS_H
#define FB_COMMON_SYSTEM_RDMA_PORTS_H

#include <stdbool.h>

/*
 * The same, and this build and process can use it: the program was built with the headers of
 * libibverbs, the library is there, and the device's file may be opened. Local; a millisecond where
 * there is a port, else less.
 */
bool fb_rdma_usable(void);

#endif
