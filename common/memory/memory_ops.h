/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access to the bytes of a rank's own buffers: directly in host memory, by kernels in GPU memory.
 *
 * Programs and engines see addresses only. Code that fills, poisons or checks a buffer uses the
 * operations of the buffer's segment, so that verification is the same for every kind of memory and
 * copies nothing.
 */
#ifndef FB_COMMON_MEMORY_MEMORY_OPS_H
#define FB_COMMON_MEMORY_MEMORY_OPS_H

#include "common/base/data.h"

struct fb_segment;

enum { FB_REDUCED = -1 }; /* in place of a rank: the reduction over all ranks */

/* Elements of the data from `first` on, and where they lie. */
struct fb_data_span {
	uint64_t first;
	void *at;
};

struct fb_memory_ops {
	const char *name; /* "host", "device", "vmm", "fabric", "pinned" */
	bool device;      /* addresses are a GPU's: the processor must not touch them */

	/* Local: what fb_segment_close does. */
	void (*close)(struct fb_segment *segment);

	/*
	 * Local, on own memory; complete on return. All return 0, or FB_ESYS (printed) where the
	 * device failed. `set` writes a byte everywhere, `put` and `get` copy from and to host
	 * memory.
	 */
	int (*set)(void *to, int byte, size_t bytes);
	int (*put)(void *to, const void *from, size_t bytes);
	int (*get)(void *to, const void *from, size_t bytes);
	/* Like fb_data_fill and fb_data_check; rank FB_REDUCED: like fb_data_check_reduced. */
	int (*fill)(const struct fb_data *data, int rank, uint64_t first, void *to, size_t count);
	int (*check)(const struct fb_data *data, int rank, uint64_t first, const void *from,
		     size_t count, struct fb_mismatch *bad);
	/* As fb_memory_fill_spans and fb_memory_check_spans. NULL: single calls are as fast. */
	int (*fill_spans)(const struct fb_data *data, int rank, const struct fb_data_span *span,
			  size_t n, size_t count);
	int (*check_spans)(const struct fb_data *data, int rank, const struct fb_data_span *span,
			   size_t n, size_t count, struct fb_mismatch *bad);
};

/*
 * Like `fill` and `check` of n spans of `count` elements each. On a GPU that is one launch and one
 * wait, instead of one for each span.
 */
int fb_memory_fill_spans(const struct fb_memory_ops *ops, const struct fb_data *data, int rank,
			 const struct fb_data_span *span, size_t n, size_t count);
int fb_memory_check_spans(const struct fb_memory_ops *ops, const struct fb_data *data, int rank,
			  const struct fb_data_span *span, size_t n, size_t count,
			  struct fb_mismatch *bad);

/* Host memory. */
extern const struct fb_memory_ops fb_memory_host;

#endif
