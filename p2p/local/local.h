/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies and messages between a rank's processor and its own GPU: what program.c, which has no
 * CUDA in it, asks of cuda_local.c.
 */
#ifndef FB_P2P_LOCAL_LOCAL_H
#define FB_P2P_LOCAL_LOCAL_H

#include "common/cuda/gpu_segment.h"
#include "common/cuda/gpu_stream.h"
#include "common/cuda/stores.h"
#include "common/memory/private.h"
#include "p2p/engine/engine.h"
#include "common/library/gdrcopy.h"
#include "common/record/key.h"

struct fb_local_program {
	const char *name, *summary, *description;
	const struct fb_default *defaults;
};

/* The whole of main(). */
int fb_local_main(const struct fb_local_program *program, int argc, char **argv);

/* --- between the files of this folder --------------------------------------------------------- */

enum fb_local_direction {
	FB_LOCAL_H2D,
	FB_LOCAL_D2H,
	FB_LOCAL_BOTH,
	FB_LOCAL_D2D,       /* within the device */
	FB_LOCAL_PING_PONG, /* messages between the processor and a running kernel */
	FB_LOCAL_DIRECTIONS,
};

/* The values of the program's own options; 0: the program chooses. */
struct fb_local_settings {
	uint64_t window, rounds;
	const char *numa, *gdrcopy_library;
};

/* Lives as long as the run. */
struct fb_local_state {
	const struct fb_session *session;
	const struct fb_group *world;
	const struct fb_settings *settings;
	const struct fb_local_settings *own;
	struct fb_gpu gpu; /* if has_gpu */
	bool has_gpu;
	char no_gpu[FB_REASON_CHARS];
	struct fb_gdr gdr; /* if no_gdr is empty */
	char no_gdr[FB_REASON_CHARS];
	struct fb_stores stores; /* no segments: what host memory there is, and places */
};

/* cases.c: fb_program.expand and .can; what a case's columns name. d2d has memory "device". */
int fb_local_expand(struct fb_run *run, void *state);
bool fb_local_can(void *state, const struct fb_case *c, char reason[FB_REASON_CHARS]);
enum fb_local_direction fb_local_direction_of(const struct fb_case *c);
enum fb_memory_kind fb_local_memory_of(const struct fb_case *c);

enum { FB_LOCAL_LL_BYTES = 64 << 10 }; /* longest message of ping_pong */

/* Message k of a copy goes from `from` + k % regions * stride to the same place of `to`. */
struct fb_local_copy {
	char *from, *to;
	bool from_host, to_host;
};

/* Keys of a case (FB_OWN); FB_KEY_NONE where it has not. */
struct fb_local_keys {
	uint64_t channels, rounds, threads, window;
};

/* A case. In ping_pong copy[0] is the message to the kernel and copy[1] the one back. */
struct fb_local_job {
	struct fb_local_copy copy[2]; /* [ncopies], at the same time */
	int ncopies;
	uint64_t bytes;
	size_t stride;
	int window, regions;
	int rounds;   /* ping_pong: round trips in a call; 0: it is not that */
	bool kernel;  /* by a kernel, not by the copy engine */
	bool mapped;  /* by the processor, through GDRCopy's mapping */
};

struct fb_local_request; /* opaque */

/* Host memory of a kind. */
struct fb_local_host {
	enum fb_memory_kind kind;
	char *memory; /* NULL: none */
	struct fb_private pages; /* that it is of, unless the driver makes it */
};

/* Zeroed and touched. Local: 0, FB_ENOMEM or FB_ESYS (printed). */
int fb_local_memory_get(struct fb_local_host *host, enum fb_memory_kind kind, size_t bytes);
void fb_local_memory_put(struct fb_local_host *host); /* safe on zeroes */

/* Local: 0 or an error (printed). The job outlives the request. */
int fb_local_open(struct fb_local_request **request, const struct fb_gpu *gpu,
		  const struct fb_local_job *job, const struct fb_case *c,
		  const struct fb_session *session);
void fb_local_close(struct fb_local_request *request);

/* fb_program.ready and .run */
int fb_local_ready(struct fb_local_request *request, int calls);
int fb_local_run(struct fb_local_request *request, int calls);

/* Blocks of the kernel, 1 for the copy engine; and the columns of engines on GPUs. */
int fb_local_channels(const struct fb_local_request *request);
void fb_local_columns(struct fb_local_request *request, double value[FB_P2P_GPU_COLUMNS]);

#endif
