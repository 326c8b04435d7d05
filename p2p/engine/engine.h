/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine of the point-to-point programs carries jobs out: the project's own transports
 * ("host"), or a library ("mpi"). Programs see only this interface, so that all engines are
 * prepared, timed and verified in the same way, on the same memory.
 */
#ifndef FB_P2P_ENGINE_ENGINE_H
#define FB_P2P_ENGINE_ENGINE_H

#include "common/cuda/gpu_segment.h"
#include "common/record/case.h"
#include "common/session.h"
#include "p2p/job.h"

struct fb_mover_ops;
struct fb_p2p_engine;
struct fb_p2p_request;

/* Kinds of GPU memory that all ranks of a host map, as bits; see fb_p2p_engine_ops.gpu_memory. */
enum {
	FB_P2P_MAPPED_MEMORY = 1 << FB_GPU_DEVICE | 1 << FB_GPU_VMM | 1 << FB_GPU_FABRIC |
			       1 << FB_GPU_PINNED,
};

/* What engines on GPUs say of a row, for the columns that p2p/gpu.c describes. NAN: nothing. */
enum fb_p2p_gpu_column {
	FB_P2P_EVENT_US,  /* of a message, between CUDA events */
	FB_P2P_DEVICE_US, /* of a message, by the device's clock inside of a kernel */
	FB_P2P_THREADS,
	FB_P2P_SM_MHZ,
	FB_P2P_MEMORY_MHZ,
	FB_P2P_THROTTLE,
	FB_P2P_GPU_COLUMNS,
};

struct fb_p2p_engine_ops {
	const char *name;    /* "host" */
	bool own;            /* protocols and transports are the project's own */
	bool device;         /* between GPUs: their memory, launched on streams or in graphs */
	unsigned gpu_memory; /* kinds of it that it works in, as bits 1 << enum fb_gpu_memory */

	/*
	 * The engine's protocols, ending in NULL; for device engines, those of the verb send. NULL:
	 * a library chooses the protocol, or the engine has every protocol.
	 */
	const char *const *protocols;

	/* Device engines: whether there is put and get. */
	bool one_sided;
	bool registers; /* registers buffers as --registration says */
	int rounds; /* device engines: round trips in a call if --rounds gives no number */

	/*
	 * Engines on processors. Pure, needs no open engine: adapts the case to the engine (its
	 * transport, the only size of a verb, keys of its options), or returns false if the engine
	 * has no such case. NULL: every case stays as it is.
	 */
	bool (*adjust)(const struct fb_settings *settings, struct fb_case *c);

	/* Why an open engine has nothing to work with, equal on all ranks; or NULL. May be NULL. */
	const char *(*missing)(const struct fb_p2p_engine *engine);

	bool sleeps; /* has the ways to wait of --rdma-wait */

	/* The mover that carries messages (engines of over.c); NULL: the engine itself does. */
	const struct fb_mover_ops *mover;

	size_t bytes; /* of the engine's structure */

	/*
	 * Collective, called by fb_p2p_engine_open(), which has allocated the structure and zeroed
	 * it behind its first member. FB_EUNSUPPORTED (nothing printed): this machine lacks what
	 * the engine needs. The caller closes the engine also after an error.
	 */
	int (*open)(struct fb_p2p_engine *engine);
	void (*close)(struct fb_p2p_engine *engine); /* the structure itself is the caller's */

	/* Pure and equal on all ranks: can it do the case? Writes the reason otherwise. */
	bool (*can)(const struct fb_p2p_engine *engine, const struct fb_case *c,
		    const struct fb_job *job, char reason[FB_REASON_CHARS]);

	/* Collective. The job, and all it points to, outlives the request. */
	int (*prepare)(struct fb_p2p_engine *engine, const struct fb_case *c,
		       const struct fb_job *job, struct fb_p2p_request **request);

	/*
	 * Local, not timed, before a barrier. For device engines the next run has exactly `calls`
	 * calls, so that they can capture these in a graph. For other engines the next runs have
	 * `calls` calls together; it is not called for a load, which they have to run without it.
	 * NULL: nothing to do. An error ends the job.
	 */
	int (*ready)(struct fb_p2p_request *request, int calls);

	/*
	 * Local, timed: moves all messages of the job, `calls` times. On return all that this rank
	 * receives has arrived, and its send buffers may be overwritten. An error ends the job, as
	 * with fb_program.run.
	 */
	int (*run)(struct fb_p2p_request *request, int calls);

	/*
	 * Collective, not timed, after each run of the job (not of a load): a rank that has
	 * finished makes progress until the other ranks have finished too, if the library moves
	 * bytes only while both ends call it; or what a network device wrote becomes visible to
	 * the GPU. NULL: nothing to do. An error ends the job.
	 */
	int (*settle)(struct fb_p2p_request *request);

	/* path, channels and flags of the row. */
	void (*describe)(struct fb_p2p_request *request, struct fb_traits *traits);

	/* Device engines, called after describe: fills their columns; values are NAN before. */
	void (*columns)(struct fb_p2p_request *request, double value[FB_P2P_GPU_COLUMNS]);

	/* Collective. */
	void (*release)(struct fb_p2p_request *request);
};

/* Every engine structure begins with this. */
struct fb_p2p_engine {
	const struct fb_p2p_engine_ops *ops;
	const struct fb_session *session;
	const struct fb_group *group;
};

struct fb_p2p_request {
	struct fb_p2p_engine *engine;
};

extern const struct fb_p2p_engine_ops fb_p2p_host, fb_p2p_mpi, fb_p2p_rdma, fb_p2p_ucx,
	fb_p2p_copy, fb_p2p_cuda, fb_p2p_nccl;

/* Collective: 0 or an error, the same on all ranks, printed unless FB_EUNSUPPORTED. */
int fb_p2p_engine_open(struct fb_p2p_engine **engine, const struct fb_p2p_engine_ops *ops,
		       const struct fb_session *session, const struct fb_group *group);
void fb_p2p_engine_close(struct fb_p2p_engine *engine);

/* The engine of a mover, whose name is "mover-" and the mover's. (over.c) */
#define FB_P2P_OVER "mover-"
struct fb_p2p_engine_ops fb_p2p_over(const struct fb_mover_ops *mover, const char *name);

/* All engines, ending in NULL; those over movers are last. */
extern const struct fb_p2p_engine_ops *fb_p2p_engines[];

/* Local, the same on all ranks, once: adds engines over all movers. As fb_movers_load(). */
int fb_p2p_add_movers(void);

/* What --engine names: "all" stands for engines of their own, "movers" for those over movers. */
void fb_p2p_engine_list(const char *asked, char *list, size_t chars);

#endif
