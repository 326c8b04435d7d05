/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The meaning of a failed work request, and where to look for its cause.
 *
 * A device reports a number of two digits; the reason is nearly always outside of the program:
 * a cable, a wrong address, a peer that is gone. So each number has a sentence and a check list.
 */
#ifndef FB_COMMON_TRANSPORT_RDMA_ERROR_H
#define FB_COMMON_TRANSPORT_RDMA_ERROR_H

#include "common/transport/rdma_verbs.h"

#if FB_HAVE_VERBS

/* The meaning of a work completion's status: "the peer did not answer: ..."; never NULL. */
const char *fb_rdma_status_meaning(enum ibv_wc_status status);

/* The things to check then, to follow "check ": "the link and ibv_devinfo"; never NULL. */
const char *fb_rdma_status_check(enum ibv_wc_status status);

/*
 * Which limit of the system may be why a registration or creation failed with this errno:
 * "RLIMIT_MEMLOCK is 64 KiB" where memory may not be locked, "" where nothing is known.
 */
void fb_rdma_limit_hint(int error, char *text, size_t n);

#endif
#endif
