/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The movers between the GPUs of a host, of which each rank has one:
 *
 * copy  the copy engines
 * cuda  kernels that push or pull
 * nccl  ncclSend and ncclRecv
 * nvshmem  NVSHMEM's calls on streams (nvshmem.c)
 *
 * copy and cuda count notices in GPU memory that all ranks map. gpu.c has the movers' entries in
 * the registry, in every build; the code that needs CUDA is in gpu/.
 */
#ifndef FB_COMMON_MOVER_GPU_H
#define FB_COMMON_MOVER_GPU_H

#include "common/cuda/gpu.h"
#include "common/library/nccl/comm.h"
#include "common/library/nvshmem.h"
#include "common/mover/mover.h"

struct CUevent_st;  /* what a cudaEvent_t points to */
struct CUstream_st; /* what a cudaStream_t points to */
struct fb_cuda_driver;
struct fb_gpu_table;
struct fb_nccl_move;
struct fb_nvshmem_launch;

/* The functions of libfabricbench-nvshmem.so (nvshmem/kernels.h). */
struct fb_nvshmem_kernels {
	int (*version)(void);
	int (*start)(void *init_attr);
	int (*launch)(const struct fb_nvshmem_launch *launch, uint32_t blocks, void *stream);
};

/* The stream of posted moves with one peer. */
struct fb_gpu_peer {
	struct CUstream_st *stream; /* NULL: no move was posted with this peer alone */
	struct CUevent_st *order;   /* recorded in it for another stream to wait for */
};

struct fb_gpu_mover {
	struct fb_mover mover;
	struct fb_gpu gpu;
	struct fb_segment flags; /* counters, as gpu_build.h has them; nccl: none */
	struct CUstream_st *stream; /* of posted moves with several peers */
	struct fb_gpu_peer *peer;   /* [nranks]: of posted moves with one peer */
	struct CUstream_st *look;   /* on which the host reads counters */
	uint64_t *seen;             /* pinned: the counters that were read last */
	struct fb_cuda_driver *driver;     /* copy */
	uint64_t (*last)[FB_NOTICES + 1];  /* copy: [nranks] the last results of arrived() */
	uint32_t push_blocks, local_blocks, threads, counters;
	bool has_tma;                      /* the GPU and the compiled kernels have it */
	struct fb_gpu_table *tables;       /* lists of chunks on the GPU */
	struct fb_nccl nccl;
	struct fb_nccl_group *comms, *comm; /* comm: the one in use */
	struct fb_nccl_move *head, *tail;   /* nccl: posted, and not yet launched */
	struct fb_nvshmem *nvshmem;         /* the session's */
	const struct fb_nvshmem_kernels *kernels; /* nvshmem, the session's; NULL: none */
};

/* Collective: as ops->open and ops->close, for all movers that begin with a struct fb_gpu_mover. */
int fb_gpu_mover_open(struct fb_mover **mover, const struct fb_mover_ops *ops,
		      const struct fb_session *session, const struct fb_group *group,
		      char why[FB_REASON_CHARS]);
void fb_gpu_mover_close(struct fb_mover *mover);

/* Collective: nvshmem's library and the memory of its counters. As ops->open. */
int fb_nvshmem_mover_find(struct fb_gpu_mover *m, char why[FB_REASON_CHARS]);

/*
 * The functions in gpu/. `begin` is collective, on a mover whose members `mover` and `gpu` are set;
 * `end` frees what it made, also where it failed. The others are as in struct fb_mover_ops.
 */
int fb_gpu_mover_begin(struct fb_gpu_mover *m, char why[FB_REASON_CHARS]);
void fb_gpu_mover_end(struct fb_gpu_mover *m);

int fb_copy_prepare(struct fb_mover *mover, const struct fb_move *given,
				 const char *form, struct fb_move **move);
void fb_copy_release(struct fb_move *move);
/* "strided of 160 copies", "loop": how the move's pieces are copied. */
void fb_copy_form(const struct fb_move *move, char *text, size_t chars);
int fb_copy_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count);
int fb_copy_enqueue_behind(struct fb_mover *mover, const struct fb_wait *wait,
					int n, struct fb_move *move, void *stream);

int fb_cuda_prepare(struct fb_mover *mover, const struct fb_move *given,
				 const char *form, struct fb_move **move);
void fb_cuda_release(struct fb_move *move);
/* How the move's pieces are copied: "kernels" or "kernels, tma". */
const char *fb_cuda_form(const struct fb_move *move);
int fb_cuda_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count);
int fb_cuda_enqueue_behind(struct fb_mover *mover, const struct fb_wait *wait,
					int n, struct fb_move *move, void *stream);

/* Collective: connects all ranks with each other. 0 or an error (printed). */
int fb_nccl_mover_connect(struct fb_gpu_mover *m);
int fb_nccl_move_prepare(struct fb_mover *mover, const struct fb_move *given,
				      const char *form, struct fb_move **move);
void fb_nccl_move_release(struct fb_move *move);
int fb_nccl_move_post(struct fb_move *move);
int fb_nccl_move_test(struct fb_move *move, bool *done);
int fb_nccl_move_enqueue(struct fb_mover *mover, const struct fb_wait *wait, int n,
				      struct fb_move *move, void *stream);

/*
 * Loads the library's kernels now: loading at the first launch may wait for the end of a running
 * kernel, which may wait for this rank. 0 or an error (printed).
 */
int fb_nvshmem_mover_load(struct fb_gpu_mover *m);
int fb_nvshmem_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
		       struct fb_move **move);
void fb_nvshmem_release(struct fb_move *move);
/* "on stream", "by warp". */
void fb_nvshmem_form(const struct fb_move *move, char *text, size_t chars);
int fb_nvshmem_arrived(struct fb_mover *mover, int from, int notice, uint64_t *count);
int fb_nvshmem_enqueue_behind(struct fb_mover *mover, const struct fb_wait *wait, int n,
			      struct fb_move *move, void *stream);

/*
 * For moves that begin with struct fb_gpu_move: posts them by enqueue_behind on a stream of the
 * mover. A move with one peer uses that peer's stream, so that moves with different peers run at
 * the same time. Moves that have a peer in common run in the order of posting.
 */
int fb_gpu_move_post(struct fb_move *move);
int fb_gpu_move_test(struct fb_move *move, bool *done);

#endif
