/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pages in GPU memory that a mover of host memory carries, for networks whose devices cannot access
 * the GPU: the GPU packs messages (wire.h), which pass through host memory at both ends.
 *
 * pageable   a copy of each message to ordinary memory: the driver copies once more inside
 * pinned     a copy of each message to locked memory
 * pipelined  the same by chunks, each of which is moved while the next one is copied
 * mapped     no copy: kernels that pack and unpack write to, and read from, locked host memory
 */
#ifndef FB_KVTRANSFER_STAGING_H
#define FB_KVTRANSFER_STAGING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fb_kv_staging {
	FB_KV_STAGING_NONE,
	FB_KV_STAGING_PAGEABLE,
	FB_KV_STAGING_PINNED,
	FB_KV_STAGING_PIPELINED,
	FB_KV_STAGING_MAPPED,
	FB_KV_STAGINGS,
};

/* "none", "pageable", ..., NULL. */
extern const char *const fb_kv_stagings[FB_KV_STAGINGS + 1];

struct fb_kv_stage;

/*
 * Local: locks `bytes` of host memory, but for pageable, with room for so many copies at once.
 * 0; FB_EUNSUPPORTED where the GPU has another address for it; or another error (printed).
 */
int fb_kv_stage_open(struct fb_kv_stage **stage, enum fb_kv_staging how, char *host, size_t bytes,
		     uint32_t copies);
void fb_kv_stage_close(struct fb_kv_stage *stage); /* NULL: nothing */

/* Local: begins copy number `copy` between GPU and host; copies are carried out in order. */
int fb_kv_stage_copy(struct fb_kv_stage *stage, uint32_t copy, char *to, const char *from,
		     size_t bytes);
int fb_kv_stage_done(struct fb_kv_stage *stage, uint32_t copy, bool *done);

#endif
