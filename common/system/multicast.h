/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NVLink multicast is off unless the command line allows it. A program that dies while it uses
 * multicast can put GPUs out of service that others share, and the libraries that know it take
 * it whenever they find it. They read their environment once, so it is set before their first
 * call and before MPI, which may use them too.
 */
#ifndef FB_COMMON_SYSTEM_MULTICAST_H
#define FB_COMMON_SYSTEM_MULTICAST_H

#include <stdbool.h>

/* Sets NCCL's, PyTorch's and NVSHMEM's variables, also for children. Before any thread exists. */
void fb_multicast_forbid(void);

/*
 * What the command line says. If it does not allow multicast, it is forbidden as above. If it does,
 * one of these variables that forbids it still counts: whoever runs the machine has set it.
 */
void fb_multicast_set(bool allow);

/*
 * Whether this process may make multicast objects itself; else the reason, "multicast off", with
 * the variable if one forbids it. Before fb_multicast_set(true) it may not.
 */
bool fb_multicast_is_allowed(const char **reason);

#endif
