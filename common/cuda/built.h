/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FB_WITH_CUDA marks the declarations of what only a build with CUDA has. In other builds these
 * are weak symbols that nobody defines. Nobody calls them there: everything on GPUs begins with
 * fb_gpu_view_open(), which then says that there is no GPU, and why.
 */
#ifndef FB_COMMON_CUDA_BUILT_H
#define FB_COMMON_CUDA_BUILT_H

#ifdef FB_HAVE_CUDA
#define FB_WITH_CUDA
#else
#define FB_WITH_CUDA __attribute__((weak))
#endif

#endif
