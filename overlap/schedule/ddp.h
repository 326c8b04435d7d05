/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the options of ddp and its step. */
#ifndef FB_OVERLAP_SCHEDULE_DDP_H
#define FB_OVERLAP_SCHEDULE_DDP_H

#include "overlap/schedule/buckets.h"
#include "overlap/schedule/schedule.h"

enum fb_ddp_schedule {
	FB_DDP_COMPUTE,
	FB_DDP_COMMUNICATE,
	FB_DDP_SEQUENTIAL,
	FB_DDP_OVERLAP,
	FB_DDP_ZERO1, /* Rajbhandari et al., 2020: the optimizer's state is sharded */
	FB_DDP_ZERO2, /* and so are gradients: each micro-batch scatters its own */
};

enum fb_ddp_axis {
	FB_DDP_BUCKET,
	FB_DDP_FIRST,
	FB_DDP_MICROBATCHES,
	FB_DDP_OPTIMIZER,
	FB_DDP_COMPRESS,
	FB_DDP_CHECKPOINT,
	FB_DDP_FORWARD,
	FB_DDP_ORDER,
	FB_DDP_PARTITION,
	FB_DDP_BACKGROUND,
};

enum { FB_DDP_AFTER = 1, FB_DDP_BESIDE };  /* optimizer */
enum { FB_DDP_CAST = 1, FB_DDP_TOPK };     /* compress */
enum { FB_DDP_PRIORITY = 1 };              /* order */

/* The tensors and buckets of a case; false where they do not fit into memory. */
bool fb_ddp_gradients(const struct fb_build *build, struct fb_gradients *gradients);

/* What backward, or forward, of a tensor computes. */
struct fb_work fb_ddp_work(const struct fb_build *build, const struct fb_tensor *t, bool backward);

/*
 * Whether nothing computes beside an all_reduce (fb_dag.serial). With an optimizer, a compression,
 * or forward in order priority, something does: each of these begins when the first bucket is
 * reduced.
 */
bool fb_ddp_is_serial(const struct fb_build *build);

/* fb_option.check of --tensors */
int fb_ddp_check_tensors(const char *value, char *accepted, size_t n);

/* fb_schedule_program.build */
void fb_ddp_build(struct fb_dag *dag, const struct fb_build *build);

#endif
