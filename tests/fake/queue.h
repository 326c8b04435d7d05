/* SPDX-License-Identifier: BSD-3-Clause */
/* What the GPU that does nothing (cudart_works.c) gives to libraries that are fake, too. */
#ifndef FB_TESTS_FAKE_QUEUE_H
#define FB_TESTS_FAKE_QUEUE_H

#include <stdbool.h>

/* Goes on with a piece of work, without waiting; whether it is over. */
typedef bool fake_call_fn(void *arg);

/*
 * Puts it on a stream. 0, or a cudaError_t. Programs give their functions fb_* to libraries
 * (common/mover/exported.list); one that is linked with no such GPU has none: NULL.
 */
int fb_fake_enqueue(fake_call_fn *call, void *arg, void *stream) __attribute__((weak));

#endif
