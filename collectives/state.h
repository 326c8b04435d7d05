/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the collective programs: the state of a run and of a case. */
#ifndef FB_COLLECTIVES_STATE_H
#define FB_COLLECTIVES_STATE_H

#include "collectives/bound.h"
#include "collectives/engine_options.h"
#include "collectives/selection.h"
#include "collectives/engine/engine.h"
#include "collectives/settings.h"
#include "collectives/traffic.h"
#include "common/cuda/gpu_cache.h"
#include "common/cuda/stores.h"
#include "common/system/cache.h"

/* "host", "hugepage", "device", "vmm", "fabric", "pinned", "nccl", "symmetric", NULL. */
extern const char *const fb_memories[];

/* Who writes the input of a call (--producer); see fresh.h. */
enum fb_producer { FB_PRODUCER_NONE, FB_PRODUCER_PLAIN, FB_PRODUCER_EARLY };

/* Lives as long as the run. Members are equal on all ranks but for pointers. */
struct fb_collective_state {
	const struct fb_session *session;
	const struct fb_group *world;
	const struct fb_settings *settings;
	enum fb_collective collective;
	const struct fb_collective_info *info;
	const char *engine_list;    /* what --engine stands for: "all", or names */
	const char *operation;      /* of the rows: the collective's name, or the step's */
	const char *variant;        /* the program's own keys in the rows' variant, or "" */
	uint64_t pass;              /* number of the step in overlap/, for `own` of cases */
	enum fb_producer producer;
	bool has_steps;             /* the program's steps call the collective (overlap/) */
	uint64_t step_elements;     /* of a step; 0: the size is --bytes */
	struct fb_traffic traffic;  /* of unequal blocks only */
	struct fb_cache_area cache; /* these two: opened by the first case that needs them */
	struct fb_gpu_cache gpu_cache;
	struct fb_engine **engines; /* in the order of fb_engines; NULL: not asked for, or none */
	struct fb_stores stores;    /* memory of the buffers */
	struct fb_segment members;  /* memory for engines with members; zeroed: not open */
	size_t members_bytes;       /* most bytes that a case needs of a part of `members` */
	struct fb_gpu gpu;                          /* if has_gpu */
	bool has_gpu;
	char no_gpu[FB_REASON_CHARS];           /* why not */
	struct fb_bound bound;
	struct fb_engine_options engine_options;    /* of the current pass, while cases are made */
	const struct fb_nccl_ctas_lists *ctas;      /* NULL: NCCL's */
	struct fb_selector selector;
	uint64_t barriers;                          /* entered by checks so far */
};

/* One case, from setup to teardown. */
struct fb_collective_instance {
	struct fb_collective_state *state;
	const struct fb_case *key; /* the case as asked for: the key of the row */
	struct fb_selection selection; /* the case as engines get it (fb_select) */
	const struct fb_engine_ops *ops;
	struct fb_request *request;
	int nranks;		     /* of the operation: fb_engine_ranks */
	bool tests; /* launch nonblocking: asks for completion instead of waiting */
	const struct fb_place *place;
	size_t part_bytes;	     /* that the case needs of each rank's part */
	double kept_us;		     /* of the setup, for the segment, which later rows reuse */
	char where[FB_PLACED_CHARS]; /* threads and buffers are (--numa), or "" */
	struct fb_operation op;
	struct fb_counts counts; /* op.counts points here if blocks are unequal */
	struct fb_data data;
	uint64_t bytes; /* real size of the operation; see flag "rounded" */
	bool bounded;	/* fb_bound_again was called for this case */
	struct fb_fresh *fresh; /* of --producer; NULL: none */
};

/* --- program.c: what other programs made of collectives need ------------------------------- */

/*
 * Collective. Opens what all cases share: engines, GPU, tuning tables and, if the program has the
 * options of a collective (`own`, else NULL), the bounds of host memory. Returns the same on all
 * ranks: 0 or an error (printed), *state untouched.
 */
int fb_collective_open(const struct fb_session *session, enum fb_collective collective,
		       const struct fb_collective_settings *own,
		       struct fb_collective_state **state);
void fb_collective_close(struct fb_collective_state *state);

/* [FB_COLLECTIVE_COLUMNS]. Most are for GPU engines only. Values are rank 0's, of its GPU. */
extern const struct fb_column fb_collective_columns[];

/* fb_program.summarise: the flag gpu-time-long. */
void fb_collective_summarise(void *instance, const double *samples_us, size_t n,
			     struct fb_traits *traits);

/*
 * --- device.c ---------------------------------------------------------------------------------
 *
 * Adapts a case to GPU engines, which work on GPU memory and are launched on streams: values for
 * host engines, such as the defaults, are replaced by the nearest ones of GPU engines. Options that
 * change how a GPU engine works become keys. Returns false if there is no such case.
 */
bool fb_device_case(const struct fb_collective_state *state, struct fb_case *c);

/* Puts --gpus-per-process into the variant of a case of an engine with members, if it was given. */
void fb_members_key(const struct fb_settings *settings, struct fb_case *c);

/* fb_buffers_prime and fb_buffers_check for all ranks that this process is, each with its GPU. */
int fb_ranks_prime(struct fb_collective_instance *instance);
int fb_ranks_check(struct fb_collective_instance *instance, int calls, struct fb_mismatch *bad);

/* --- memory.c: the memory that buffers lie in ------------------------------------------------ */

/*
 * Collective: opens the segment of the case's memory if it is not open yet. It serves all later
 * cases, or as many as memory allows, and this one, which needs `need` bytes (fb_segment_fit). The
 * thread must be on its NUMA node (fb_place_enter).
 */
int fb_collective_segment(struct fb_collective_state *state, const struct fb_case *c,
			  size_t need);

/*
 * The same for an instance. The segment of an engine with members also stays open until the end,
 * because NCCL may take new memory at an old address for the old memory (docs/findings.md).
 */
int fb_instance_segment(struct fb_collective_instance *instance);

/*
 * Pure: whether the case's memory can have buffers of part_bytes for each rank, and whether its
 * engine works in that memory. Writes the reason otherwise.
 */
bool fb_memory_can(const struct fb_collective_state *state, const struct fb_case *c,
		   uint64_t part_bytes, char reason[FB_REASON_CHARS]);

/*
 * --- cold.c: caches of a case that is `cold` -----------------------------------------------
 *
 * Collective: opens the memory that clears caches, once. The same on all ranks: 0 or an error
 * (printed). fb_cold_clear is fb_program.clear.
 */
int fb_cold_open(struct fb_collective_instance *instance);
void fb_cold_close(struct fb_collective_state *state);
int fb_cold_clear(void *instance);

/* --- cases.c: from axis values to operations; all pure ------------------------------------- */

/* Index in fb_engines of the engine of that name; the name is one of them. */
size_t fb_engine_index(const char *name);

/* fb_select for an instance, whose engine is open. */
bool fb_instance_choose(struct fb_collective_instance *instance, char reason[FB_REASON_CHARS]);

/* fb_program.expand and fb_program.can */
int fb_collective_expand(struct fb_run *run, void *state);
bool fb_collective_can(void *state, const struct fb_case *c, char reason[FB_REASON_CHARS]);

/*
 * Fills key, ops, tests, op, counts, data and bytes of a zeroed instance; op.segment points to the
 * state's segment, which may not be open yet. The caller calls fb_instance_free afterwards, also
 * after an error. Returns 0 or FB_ENOMEM (not printed).
 */
int fb_instance_fill(struct fb_collective_instance *instance, struct fb_collective_state *state,
		     const struct fb_case *c);
void fb_instance_free(struct fb_collective_instance *instance);

#endif
