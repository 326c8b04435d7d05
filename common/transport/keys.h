/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of the networks as keys of a row, for all programs whose bytes cross one. */
#ifndef FB_COMMON_TRANSPORT_KEYS_H
#define FB_COMMON_TRANSPORT_KEYS_H

#include "common/option/settings.h"
#include "common/record/case.h"

/*
 * Adds to the case's variant the options of its transport ("rdma", "shm+tcp") that are not at their
 * default, and with `gpu` memory over RDMA --gpu-direct likewise. Rows that were measured with
 * unlike options must not join.
 */
void fb_transport_keys(struct fb_case *c, const struct fb_settings *settings, bool gpu);

#endif
