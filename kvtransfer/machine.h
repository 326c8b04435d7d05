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
	bool staged; /* pages are in `tier` and pass through `memory`, which is of the host */
	struct fb_mover *mover;		/* NULL: none, not asked for, or `why` */
	bool measured; /* it was chosen last by a line `best` */
	const struct fb_path_line *line; /* or by this one; NULL: by none */
	char why[FB_REASON_CHARS];
	/*
	 * Settled when the machine opens: --engine all has no rows of it, as this machine lacks it,
	 * or as it is one of NIXL's beside UCX. One that is named has its rows.
	 */
	bool left_out;
	/* A pool's segment, or `own` if the mover has its own kind. NULL: not opened, or none. */
	const struct fb_segment *memory, *tier; /* tier: of offload on GPUs, and of staged pages */
	struct fb_segment own;
	struct fb_region *region, *remote; /* remote: of the tier; NULL: the region itself */
	uint64_t part_bytes;		   /* enough for every case of the run */
	int failed; /* what opening its memory came to, which is not tried again */
	char cause[FB_REASON_CHARS]; /* what this rank has printed about that */
	uint64_t stage_bytes;		   /* staged: of memory, and part_bytes of the tier */
	double register_us;		   /* making the memory known, slowest rank */
	struct fb_mover *packer; /* of hand-overs on GPUs: mover cuda, or NULL */
	struct fb_region *packs; /* the memory as the packer knows it */
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
	/* What auto is without a table: on one host, on several, on GPUs; NULL: between ranks. */
	const char *const *usual;
};

/* What auto is asked for. */
struct fb_kv_need {
	double pieces, bytes; /* of a transfer */
	bool get, staged;
	bool beside; /* computing: by overlapped lines, whatever --objective says */
};

/*
 * Collective: `bytes` zeroed bytes that begin with a machine without backends. 0 or FB_ENOMEM
 * (printed) on all ranks. Close takes them back: it is fb_program.close.
 */
int fb_kv_machine_new(struct fb_kv_machine **m, struct fb_run *run, size_t bytes);
void fb_kv_machine_close(void *machine);
/* Movers and memory alone; part of fb_kv_machine_close(). */
void fb_kv_machine_close_memory(struct fb_kv_machine *m);

/* Local: a backend more; those beyond FB_KV_BACKENDS are dropped. */
void fb_kv_machine_add(struct fb_kv_machine *m, const char *name, const struct fb_mover_ops *ops,
		       bool device);
/* Local: all movers that have one of these verbs, as bits, in GPU memory or not. */
void fb_kv_machine_add_movers(struct fb_kv_machine *m, unsigned verbs);
/* Local: those in host memory once more, for pages in GPU memory that pass through it. */
void fb_kv_machine_add_staged(struct fb_kv_machine *m, unsigned verbs);

/*
 * Collective: opens the movers that --engine names; with auto those of the path table. What is
 * absent has its reason. `device`: GPU memory may be used. 0 or an error on all ranks (printed).
 */
int fb_kv_machine_open(struct fb_kv_machine *m, bool device);

/*
 * The backend of a case by its engine's name and memory. Pure, equal on all ranks. With auto, the
 * open one that takes least for `need` by the table; else the last one, whose `why` says why none
 * does. `need` may be NULL where engines have names.
 */
struct fb_kv_backend *fb_kv_backend_of(struct fb_kv_machine *m, const struct fb_case *c,
				       const struct fb_kv_need *need);
/* "auto" and the backends' names, each once, ending in NULL. */
void fb_kv_backend_names(const struct fb_kv_machine *m, const char *names[FB_KV_BACKENDS + 2]);

/*
 * Collective: segment, region and links to `peers` [n], when a case is the first to need them; on
 * GPUs whose mover works on streams with a tier of pinned memory, too. Without a mover the segment
 * alone. Backends share segments of the same memory, so a run needs no more of it than its largest
 * case; a case finds there what another backend's case has left.
 */
int fb_kv_backend_memory(struct fb_kv_machine *m, struct fb_kv_backend *b, bool tier,
			 const int *peers, int n);

/*
 * Collective: the mover forgets the memory, which no move names; and has it made known again, with
 * links to `peers`. 0 or an error on all ranks (printed). Backends without a tier.
 */
void fb_kv_backend_forget(struct fb_kv_backend *b);
int fb_kv_backend_register(struct fb_kv_backend *b, const int *peers, int n);

/* Collective: the model of GPUs, or of processors, as tables have it. False: ranks have several. */
bool fb_kv_machine_model(const struct fb_kv_machine *m, bool device,
			 char model[FB_PATHS_MODEL_CHARS]);

/* Bytes that a rank may take of GPU memory, or of host memory. */
uint64_t fb_kv_most_bytes(const struct fb_kv_machine *m, bool device);

/*
 * Collective: the row's path, channels and flags. A rank that starts moves has put into *traits
 * what its mover says of one; other ranks have left the path empty. All ranks get what the lowest
 * of those has, because the row's rank may only be the target. If no rank starts moves, the path
 * is the backend's summary. `chosen`: by engine auto; which backend, and by which lines of the
 * path table, goes before the path.
 */
void fb_kv_backend_path(const struct fb_kv_machine *m, const struct fb_kv_backend *b,
			bool chosen, struct fb_traits *traits);

#endif
