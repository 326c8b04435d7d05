/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads an interface's data center bridging from the kernel. Private to the environment files. */
#ifndef FB_COMMON_SYSTEM_ENVIRONMENT_DCB_H
#define FB_COMMON_SYSTEM_ENVIRONMENT_DCB_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The priorities of an interface with flow control (PFC), bit by bit, by rtnetlink's RTM_GETDCB.
 * False where the driver has no such thing, which is so for most that are not for data centers.
 */
bool fb_dcb_pfc(const char *interface, unsigned *priorities);

/* The same of the kernel's answer, which may be damaged. Pure. */
bool fb_dcb_pfc_of(const void *answer, size_t length, unsigned *priorities);

#endif
