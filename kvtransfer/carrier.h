/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A carrier carries out a hand-over by a mover (common/mover). There is one for host memory
 * (over.c), and one for GPUs, where packing, moving and unpacking are ordered by streams
 * (over_gpu.c). The program sees only this interface, so both are prepared, timed and verified in
 * the same way.
 */
#ifndef FB_KVTRANSFER_CARRIER_H
#define FB_KVTRANSFER_CARRIER_H

#include "kvtransfer/job.h"
#include "kvtransfer/machine.h"

/* Every request begins with this. */
struct fb_kv_request {
	const struct fb_kv_machine *machine;
	struct fb_kv_backend *engine; /* open, with its memory */
	const struct fb_kv_job *job;
};

struct fb_kv_carrier {
	/* Collective: the same value on all ranks. The job outlives the request. */
	int (*prepare)(const struct fb_kv_machine *machine, struct fb_kv_backend *engine,
		       const struct fb_kv_job *job, struct fb_kv_request **request);

	/*
	 * Collective: `calls` hand-overs back to back, or only some phases (enum fb_kv_phase) of
	 * them. On return all that this rank receives is in its pages, and the pages that it sent
	 * may be overwritten. An error ends the job.
	 */
	int (*run)(struct fb_kv_request *request, unsigned phases, int calls);

	/* Local: path and channels, where this rank has some. */
	void (*describe)(struct fb_kv_request *request, struct fb_traits *traits);

	/* Collective. After it no rank accesses this rank's memory any more. */
	void (*release)(struct fb_kv_request *request);
};

extern const struct fb_kv_carrier fb_kv_carrier_host, fb_kv_carrier_gpu;

/* Pure: the modes (bit fb_kv_mode) that a mover carries out; 0: it has no carrier. */
unsigned fb_kv_carrier_modes(const struct fb_mover_ops *mover);

/* Pure: whether a mover of these modes takes the shape; else the reason. */
bool fb_kv_carrier_can(const struct fb_mover_ops *mover, const struct fb_kv_shape *shape,
		       enum fb_kv_mode mode, char reason[FB_REASON_CHARS]);

#endif
