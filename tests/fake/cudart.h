/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the CUDA runtime that is none share. */
#ifndef FB_TESTS_FAKE_CUDART_H
#define FB_TESTS_FAKE_CUDART_H

/* One of the driver's functions for virtual memory, or NULL (cudart_memory.c). */
void *fake_memory_function(const char *symbol);

#endif
