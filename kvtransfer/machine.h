/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared parts of the programs that move caches by movers: the movers of a run, opened where they
 * were asked for, the memory that each works on, and which of them --engine auto means.
 */
#ifndef FB_KVTRANSFER_MACHINE_H
#define FB_KVTRANSFER_MACHINE_H

#include "common/cuda/gpu_segment.h"
#include "common/mover/mover.h"
#include "common/record/case.h"
#include "common/run/program.h"
#include "kvtransfer/paths/paths.h"

enum { FB_KV_BACKENDS = 40 };

/* Kinds of memory that all backends of a run share, as one case runs at a time. */
enum fb_kv_pool { FB_KV_POOL_HOST, FB_KV_POOL_GPU, FB_KV_POOL_PINNED, FB_KV_POOLS };

/* A mover on all ranks, and the memory that it moves. */
struct fb_kv_backend {
	const char *name; /* of the column `engine` */
	const struct fb_mover_ops *ops; /* NULL: none, caches alone */
	bool device;			/* memory, or pages, are of GPUs */
	bool staged; /* pages are in GPU memory `tier` and pass through host memory `memory` */
	struct fb_mover *mover;		/* NULL: none, not asked for, or it cannot open (`why`) */
	bool measured; /* engine auto's last choice of it was by a line `best` of the table */
	const struct fb_path_line *line; /* or by this line `path`; NULL: by no such line */
	char why[FB_REASON_CHARS];
	/*
	 * --engine all gives it no rows, because this machine lacks it, or because it is another of
	 * NIXL's backends than UCX. If --engine names it, it has rows all the same.
	 */
	bool left_out;
	/* A pool's segment, or `own` if the mover has its own kind. NULL: not opened, or none. */
	const struct fb_segment *memory, *tier; /* tier: of offload on GPUs, and of staged pages */
	struct fb_segment own;
	struct fb_region *region, *remote; /* remote: of the tier; NULL: the region itself */
	uint64_t part_bytes;		   /* enough for every case of the run */
	int failed; /* error of opening its memory, which is then not tried again; 0: none */
	char cause[FB_REASON_CHARS]; /* the message that this rank has printed about it */
	uint64_t stage_bytes;		   /* staged: bytes of `memory`; part_bytes is the tier's */
	double register_us;		   /* time to register the memory, of the slowest rank */
	struct fb_mover *packer; /* hand-overs on GPUs: mover cuda, which packs; or NULL */
	struct fb_region *packs; /* the memory, registered with the packer */
	uint64_t *seen;			   /* serve: [nranks], notices of each rank so far */
};

/* Lives as long as the run. Members are equal on all ranks but for pointers. */
struct fb_kv_machine {
	const struct fb_session *session;
	const struct fb_group *world;
	const struct fb_settings *settings;
	struct fb_kv_backend backend[FB_KV_BACKENDS]; /* [backends] */
	int backends;
	struct fb_segment pool[FB_KV_POOLS]; /* each large enough for every case of the run */
	struct fb_gpu gpu;
	bool has_gpu;
	char no_gpu[FB_REASON_CHARS];
	uint64_t memory_limit; /* of host memory */
	struct fb_paths paths; /* of this machine, for auto */
	/* Engines that auto takes without a table: on one host, on several, on GPUs; or NULL. */
	const char *const *usual;
};

/* The transfer for which engine auto chooses. */
struct fb_kv_need {
	double pieces, bytes; /* of a transfer */
	bool get, staged;
	bool beside; /* ranks compute meanwhile: choose by overlapped lines despite --objective */
};

/*
 * Collective: `bytes` zeroed bytes that begin with a machine without backends. 0 or FB_ENOMEM
 * (printed) on all ranks. Close takes them back: it is fb_program.close.
 */
int fb_kv_machine_new(struct fb_kv_machine **m, struct fb_run *run, size_t bytes);
void fb_kv_machine_close(void *machine);
/* Movers and memory alone; part of fb_kv_machine_close(). */
void fb_kv_machine_close_memory(struct fb_kv_machine *m);

/* Local: adds a backend, unless there are FB_KV_BACKENDS already. */
void fb_kv_machine_add(struct fb_kv_machine *m, const char *name, const struct fb_mover_ops *ops,
		       bool device);
/* Local: adds all movers that have one of these verbs (bits), for host or GPU memory. */
void fb_kv_machine_add_movers(struct fb_kv_machine *m, unsigned verbs);
/* Local: adds movers of host memory again, for GPU pages that are staged through host memory. */
void fb_kv_machine_add_staged(struct fb_kv_machine *m, unsigned verbs);

/*
 * Collective: opens the movers that --engine names; with auto those of the path table. What is
 * absent has its reason. `device`: GPU memory may be used. 0 or an error on all ranks (printed).
 */
int fb_kv_machine_open(struct fb_kv_machine *m, bool device);

/*
 * The backend of a case by its engine's name and memory. Pure, equal on all ranks. With engine auto
 * the open backend that takes least time for `need` by the path table; if there is none, the last
 * backend, whose `why` gives the reason. `need` may be NULL if the engine is not auto.
 */
struct fb_kv_backend *fb_kv_backend_of(struct fb_kv_machine *m, const struct fb_case *c,
				       const struct fb_kv_need *need);
/* "auto" and the backends' names, each once, ending in NULL. */
void fb_kv_backend_names(const struct fb_kv_machine *m, const char *names[FB_KV_BACKENDS + 2]);

/*
 * Collective: opens segment, region and links to `peers` [n], unless an earlier case did; with
 * `tier` also a tier of pinned memory, if the mover works on GPU streams. Without a mover only the
 * segment. Backends share segments of the same kind of memory, so a run needs no more than its
 * largest case; a case therefore finds bytes there that another backend's case has left.
 */
int fb_kv_backend_memory(struct fb_kv_machine *m, struct fb_kv_backend *b, bool tier,
			 const int *peers, int n);

/*
 * Collective: deregisters the memory, which no move may use; and registers it again, with links to
 * `peers`. 0 or an error on all ranks (printed). For backends without a tier.
 */
void fb_kv_backend_forget(struct fb_kv_backend *b);
int fb_kv_backend_register(struct fb_kv_backend *b, const int *peers, int n);

/* Collective: the model of GPUs or processors, as in tables. False: ranks have different ones. */
bool fb_kv_machine_model(const struct fb_kv_machine *m, bool device,
			 char model[FB_PATHS_MODEL_CHARS]);

/* Bytes that a rank may take of GPU memory, or of host memory. */
uint64_t fb_kv_most_bytes(const struct fb_kv_machine *m, bool device);

/*
 * Collective: the row's path, channels and flags. Ranks that start moves have put into *traits what
 * their mover says of one; the others have left the path empty. All ranks get the traits of the
 * lowest rank that has some, because the rank that writes the row may only be a target. If no rank
 * starts moves, the path is the backend's summary. `chosen`: by engine auto; then the backend and
 * the lines of the path table that chose it come before the path.
 */
void fb_kv_backend_path(const struct fb_kv_machine *m, const struct fb_kv_backend *b,
			bool chosen, struct fb_traits *traits);

#endif
