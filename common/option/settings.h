/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options that every program has, and their values.
 *
 * Lists (engine, bytes, ...) stay text here: what they may name depends on the program and the
 * world, so axes.h resolves them when cases are made. What can be judged without a program is
 * judged when the command line is parsed.
 */
#ifndef FB_COMMON_OPTION_SETTINGS_H
#define FB_COMMON_OPTION_SETTINGS_H

#include "common/option/option.h"
#include "common/option/rdma_options.h"
#include "common/option/tcp_options.h"

#include <stdbool.h>
#include <stdint.h>

/* What --verify asks for: check before and after timing, before only, never, each repetition. */
enum fb_verify { FB_VERIFY_YES, FB_VERIFY_FIRST, FB_VERIFY_NO, FB_VERIFY_EACH };

/* The thread level that MPI is asked for. */
enum fb_mpi_threads {
	FB_MPI_SINGLE,
	FB_MPI_FUNNELED,
	FB_MPI_SERIALIZED,
	FB_MPI_MULTIPLE,
};

/* The form of standard output. */
enum fb_format { FB_FORMAT_AUTO, FB_FORMAT_TABLE, FB_FORMAT_CSV };

/* What `auto` is to be best at: alone on the machine, or beside computing. */
enum fb_auto_objective { FB_ALONE, FB_OVERLAPPED };

/* "alone", "overlapped", NULL. */
extern const char *const fb_auto_objectives[];

/* Whether libraries may use NVLink multicast (multicast.h). */
enum fb_multicast { FB_MULTICAST_OFF, FB_MULTICAST_ALLOW };

/* Bits of --cache: what of the buffers is in caches when a repetition begins. */
enum fb_cache_states { FB_CACHE_HOT = 1, FB_CACHE_COLD = 2 };

/* The type of a sum of several 8- or 16-bit floats within a step, until it is stored. */
enum fb_accumulate { FB_ACCUMULATE_TYPE, FB_ACCUMULATE_F32 };

/* The means by which NCCL is forced. */
enum fb_nccl_force_by {
	FB_NCCL_BY_COMMUNICATOR, /* made while NCCL_ALGO and NCCL_PROTO say it */
	FB_NCCL_BY_CALL,         /* each call says it (2.31) */
	FB_NCCL_BY_AUTO,         /* the call, else the plugin, else the communicator */
	FB_NCCL_BY_PLUGIN,       /* the project's tuner plugin, asked by each call (2.24) */
};

/* Whether RDMA devices read and write GPU memory themselves, and how that is registered. */
enum fb_gpu_direct {
	FB_GPU_DIRECT_AUTO, /* by dma-buf, else by peermem, else not */
	FB_GPU_DIRECT_NO,
	FB_GPU_DIRECT_DMABUF,
	FB_GPU_DIRECT_PEERMEM,
};

/* "auto", "no", "dma-buf", "peermem", NULL. */
extern const char *const fb_gpu_direct_names[];

/* "communicator", "call", "auto", NULL. */
extern const char *const fb_nccl_force_by_names[];

struct fb_settings {
	/* Axes: lists, see axes.h. */
	const char *bytes, *engine, *algorithm, *protocol, *transport, *memory, *datatype, *redop;
	const char *root, *in_place, *cadence, *launch;
	uint64_t cache; /* enum fb_cache_states */
	uint64_t slots, slot_bytes, channels; /* slot_bytes, channels: 0 = the engine chooses */
	uint64_t threads, ll_line; /* GPU engines; threads: 0 as above */
	bool no_gpu_overlap, blocking_kernel;
	int accumulate; /* enum fb_accumulate */
	int gpu_direct; /* enum fb_gpu_direct */
	const char *nccl_library;
	int nccl_force_by; /* enum fb_nccl_force_by */
	bool nccl_model, nccl_gpu_time;
	uint64_t gpus_per_process; /* of engine nccl-process; 0: as many as there are */
	const char *nccl_force, *registration, *copy_direction; /* lists */
	uint64_t copy_streams; /* 0: the engine chooses */
	const char *tuning;    /* "auto", "none" or a file; NULL: none */
	int objective;         /* enum fb_auto_objective of the tables */
	int preset;            /* enum fb_preset */
	int multicast;         /* enum fb_multicast */
	int mpi_threads;       /* enum fb_mpi_threads */
	/* Measurement. */
	double ci, max_time_s, timeout_s;
	uint64_t min_samples, max_samples, seed, launch_index;
	int nodes_as; /* 0: the real nodes */
	struct fb_rdma_settings rdma;
	struct fb_tcp_settings tcp;
	int verify;   /* enum fb_verify */
	bool whole_time;
	/* Output. */
	const char *csv; /* folder; NULL: rows go to stdout */
	const char *run; /* the study's name; NULL: made from the folder or host and time */
	const char *tag; /* "k=v;k=v" for the column `variant` of all rows; NULL: none */
	int format;      /* enum fb_format */
	bool raw, raw_ranks, resume, list, check_plan, dry_run, version, help, man, quiet;
};

/* Purposes that --preset names; fb_program.presets has a list of defaults for each. */
enum fb_preset { FB_PRESET_NONE, FB_PRESET_INFERENCE, FB_PRESET_TRAINING, FB_PRESETS };

/* A program's own default for a common option, as it would be typed: {"bytes", "8:1G:2"}. */
struct fb_default {
	const char *option; /* without dashes; NULL ends the list */
	const char *value;
};

/*
 * The common table for a program, malloced, ending in FB_OPTION_END: with the defaults replaced
 * (NULL: none are), and with what the program does not use marked. The caller frees it. NULL
 * where memory is out or a name is unknown (printed).
 */
struct fb_option *fb_settings_table(const char *program, const struct fb_default *defaults);

/*
 * Replaces defaults in both tables, before options are parsed again: then every option that is
 * given goes before the preset. presets[FB_PRESETS] and `own` may be NULL: there are none. 0, or
 * FB_EINPUT (printed) for an option that neither table has, which is a mistake of the program's.
 */
int fb_preset_apply(const struct fb_default *const *presets, int preset, struct fb_option *common,
		    struct fb_option *own);

/*
 * Checks options against each other: fewer max than min samples, --raw or --resume without --csv.
 * Returns 0 or FB_EINPUT after one line to `errors` (may be NULL).
 */
int fb_settings_check(const struct fb_settings *settings, FILE *errors);

#endif
