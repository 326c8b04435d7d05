/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine of the point-to-point programs carries jobs out: the project's own transports
 * ("host"), or a library ("mpi"). Programs see only this interface, so that all engines are
 * prepared, timed and verified in the same way, on the same memory.
 */
#ifndef FB_P2P_ENGINE_ENGINE_H
#define FB_P2P_ENGINE_ENGINE_H

#include "common/program.h"
#include "p2p/job.h"

struct fb_p2p_engine;
struct fb_p2p_request;

struct fb_p2p_engine_ops {
	const char *name;    /* "host" */
	const char *summary; /* one line */
	bool own;            /* protocols and transports are the project's own */

	/* Collective. FB_EUNSUPPORTED (nothing printed): not on this machine. */
	int (*open)(struct fb_p2p_engine **engine, struct fb_run *run);
	void (*close)(struct fb_p2p_engine *engine);

	/* Pure and equal on all ranks: can it do the case? Writes the reason otherwise. */
	bool (*can)(const struct fb_p2p_engine *engine, const struct fb_case *c,
		    const struct fb_job *job, char reason[FB_REASON_CHARS]);

	/* Collective. The job, and all it points to, outlives the request. */
	int (*prepare)(struct fb_p2p_engine *engine, const struct fb_case *c,
		       const struct fb_job *job, struct fb_p2p_request **request);

	/*
	 * The job `calls` times, each time all of its messages. On return what this rank
	 * receives has arrived, and what it sends has left or is delivered. An error ends the
	 * job, as with fb_program.run.
	 */
	int (*run)(struct fb_p2p_request *request, int calls);

	/* path, channels and flags of the row. */
	void (*describe)(struct fb_p2p_request *request, struct fb_traits *traits);

	/* Collective. */
	void (*release)(struct fb_p2p_request *request);
};

/* Every engine structure begins with this. */
struct fb_p2p_engine {
	const struct fb_p2p_engine_ops *ops;
	struct fb_run *run;
};

struct fb_p2p_request {
	struct fb_p2p_engine *engine;
};

extern const struct fb_p2p_engine_ops fb_p2p_host, fb_p2p_mpi;

/* All engines, ending in NULL. */
extern const struct fb_p2p_engine_ops *const fb_p2p_engines[];

#endif
