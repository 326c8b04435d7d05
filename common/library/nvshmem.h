/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NVSHMEM, NVIDIA's library of symmetric memory for GPUs, by its host library, which is found at
 * run time. A process starts it at most once, and for all ranks of the job, since all ranks
 * allocate memory together. So a group that is only a part of the ranks cannot use it.
 *
 * The structures are those of NVSHMEM 3.0 to 3.8, whose sizes and versions did not change. The
 * inline functions of its headers, such as nvshmemx_init_attr, are not needed: the library exports
 * nvshmemx_hostlib_init_attr, which does the same for a program without device code of NVSHMEM's.
 *
 * These variables are set before it starts: always NVSHMEM_DISABLE_NVLS=1, so that no multicast
 * object is made; and unless the user has set them, NVSHMEM_DISABLE_NCCL=1, so that collectives are
 * NVSHMEM's and not NCCL's, NVSHMEM_REMOTE_TRANSPORT=none on one host, and
 * NVSHMEM_TMA_POLICY=ENABLE, for kernels that give it shared memory (3.7).
 */
#ifndef FB_COMMON_LIBRARY_NVSHMEM_H
#define FB_COMMON_LIBRARY_NVSHMEM_H

#include <stdint.h>

#include "common/record/traits.h"
#include "common/session.h"

struct fb_nvshmem_id {
	int version;
	char internal[124];
};

struct fb_nvshmem_id_args {
	int version;
	struct fb_nvshmem_id *id;
	int rank, ranks;
};

struct fb_nvshmem_init {
	int version;
	void *mpi_comm;
	struct {
		int version;
		struct fb_nvshmem_id_args id;
		char content[96];
	} args;
};

enum {
	FB_NVSHMEM_BY_ID = 1 << 3,  /* NVSHMEMX_INIT_WITH_UNIQUEID */
	FB_NVSHMEM_SIGNAL_SET = 9,  /* NVSHMEM_SIGNAL_SET */
	FB_NVSHMEM_GREATER_EQUAL = 5, /* NVSHMEM_CMP_GE */
	FB_NVSHMEM_WORLD = 0,       /* NVSHMEM_TEAM_WORLD */
	FB_NVSHMEM_INITIALISED = 2, /* NVSHMEM_STATUS_IS_INITIALIZED; less: no GPU yet */
};

/*
 * Functions of the library, as its manual has them; streams are cudaStream_t. Where arguments are
 * wrong, or a transfer fails, the library itself prints and ends the process.
 */
struct fb_nvshmem {
	void *handle;
	int major, minor, patch;
	struct fb_nvshmem_id id; /* the library keeps a pointer to it */
	struct fb_nvshmem_init init;
	/* The loaded transports between hosts, such as "ibrc" or "ibgda"; "": none. */
	char remote[48];

	void (*vendor_get_version_info)(int *major, int *minor, int *patch);
	int (*get_uniqueid)(struct fb_nvshmem_id *id);
	int (*set_attr_uniqueid_args)(int rank, int ranks, const struct fb_nvshmem_id *id,
				      struct fb_nvshmem_init *init);
	int (*hostlib_init_attr)(unsigned flags, struct fb_nvshmem_init *init);
	void (*hostlib_finalize)(void);
	int (*init_status)(void);
	int (*my_pe)(void);
	int (*n_pes)(void);
	void *(*malloc)(size_t bytes); /* collective */
	void (*free)(void *memory);    /* collective */
	void *(*ptr)(const void *memory, int pe);

	void (*putmem_on_stream)(void *to, const void *from, size_t bytes, int pe, void *stream);
	void (*getmem_on_stream)(void *to, const void *from, size_t bytes, int pe, void *stream);
	void (*putmem_signal_on_stream)(void *to, const void *from, size_t bytes, uint64_t *word,
					uint64_t value, int how, int pe, void *stream);
	void (*signal_op_on_stream)(uint64_t *word, uint64_t value, int how, int pe, void *stream);
	void (*signal_wait_until_on_stream)(uint64_t *word, int compare, uint64_t value,
					    void *stream);
	void (*quiet_on_stream)(void *stream);
	void (*barrier_all_on_stream)(void *stream);
};

/*
 * Collective over the group: the job's NVSHMEM, started at first use, on the current device of each
 * rank, and ended with the session. `shared`: ranks share a GPU (fb_gpu.shared), which is refused.
 * The same on all ranks of the group: 0, or FB_EUNSUPPORTED with the reason.
 */
int fb_nvshmem_find(struct fb_nvshmem **nvshmem, const struct fb_session *session,
		    const struct fb_group *group, bool shared, char why[FB_REASON_CHARS]);

/* Collective: frees memory of the NVSHMEM that this process has started. 0. */
int fb_nvshmem_free(void *memory);

/* "3.4.5". Returns buf. */
enum { FB_NVSHMEM_VERSION_CHARS = 40 };
const char *fb_nvshmem_version(const struct fb_nvshmem *nvshmem,
			       char buf[FB_NVSHMEM_VERSION_CHARS]);

#endif
