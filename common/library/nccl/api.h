/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NCCL's functions, found at run time in the library that the user names.
 *
 * Nothing of NCCL is needed to build or to start: its interface is declared here by hand, as far
 * as it is used, so that one binary runs with any version, and without any. A function that the
 * loaded version lacks is NULL. tests/unit/test_nccl_api.c compares numbers and layout with
 * nccl.h where that is installed.
 */
#ifndef FB_COMMON_LIBRARY_NCCL_API_H
#define FB_COMMON_LIBRARY_NCCL_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/datatype.h"

/* ncclResult_t, as far as the engine tells results apart. */
enum {
	FB_NCCL_SUCCESS = 0,
	FB_NCCL_CUDA_ERROR = 1,
	FB_NCCL_INVALID_ARGUMENT = 4,
	FB_NCCL_INVALID_USAGE = 5,
	FB_NCCL_REMOTE_ERROR = 6,
	FB_NCCL_IN_PROGRESS = 7,
};

enum {
	FB_NCCL_CONFIG_MAGIC = 0xcafebeef,
	FB_NCCL_CALL_CONFIG_VERSION = 23102, /* of which struct fb_nccl_call_config is a copy */
	FB_NCCL_ESTIMATE_MAGIC = 0x74685283,
	FB_NCCL_ESTIMATE_VERSION = 22200,
	FB_NCCL_64_CHANNELS_VERSION = 22501, /* 32 before */
	FB_NCCL_CONFIG_VERSION = 22703,      /* of struct fb_nccl_config up to nvls_ctas */
	FB_NCCL_CONFIG_NVLS_VERSION = 23203, /* of the whole of it */
	FB_NCCL_NVLS_HOST_OFF = 0x7fffffff,  /* ncclNvlsHostModeDisable */
	FB_NCCL_UNDEFINED_INT = -2147483647 - 1,
	FB_NCCL_WINDOW_SYMMETRIC = 1,
	FB_NCCL_CTA_POLICY_ZERO = 2,         /* 2.28: copy engines, where it has them */
	FB_NCCL_WINDOW_ALIGNMENT = 4096,
	FB_NCCL_SUSPEND_MEMORY = 1,
	FB_NCCL_NAME_CHARS = 32,
};

/* ncclUniqueId; passed by value. */
struct fb_nccl_id {
	char bytes[128];
};

/*
 * ncclConfig_t as of 2.32.3. `size` says how many bytes are valid: all from 2.32.3 on; before that
 * up to nvls_ctas, as in 2.27.3, of which older versions read the members that they know. NCCL
 * gives members behind `size` their defaults.
 */
struct fb_nccl_config {
	size_t size;
	unsigned magic, version;
	int blocking, cga_cluster_size, min_ctas, max_ctas;
	const char *net_name;
	int split_share, traffic_class;
	const char *comm_name;
	int collnet_enable, cta_policy, shrink_share, nvls_ctas;
	int channels_per_peer, nvlink_centric, graph_usage, rma_contexts, most_peers;
	int graph_order, launch_order, rma_signals, rma_eager, host_cft;
	int nvls_host; /* FB_NCCL_NVLS_HOST_OFF: no NVLink multicast */
};

/* ncclSimInfo_t, as of 2.22. */
struct fb_nccl_estimate {
	size_t size;
	unsigned magic, version;
	float us; /* below 0: nothing was estimated */
};

/*
 * ncclCollConfig_t as of 2.31.2. `selection` names the algorithms and protocols that a call may
 * use, such as "RING_LL,RING_SIMPLE". Later versions give members that were added their defaults.
 */
struct fb_nccl_call_config {
	size_t size;
	unsigned magic, version;
	void *extensions;
	int min_ctas, max_ctas, nvls_ctas, cga_cluster_size;
	const char *selection;
	int selection_forced, cta_policy;
	uint64_t profiler_tag;
};

typedef void *fb_nccl_comm; /* ncclComm_t */

struct fb_nccl {
	void *handle;           /* of dlopen */
	int version;            /* 22809 is 2.28.9 */
	const char *file;       /* where it was loaded from; the linker's memory */
	bool multicast;         /* communicators may use NVLink multicast; fb_nccl_open: no */
	/* Always there. Result codes are ncclResult_t, streams are cudaStream_t. */
	int (*GetVersion)(int *version);
	const char *(*GetErrorString)(int code);
	int (*GetUniqueId)(struct fb_nccl_id *id);
	int (*CommInitRank)(fb_nccl_comm *comm, int nranks, struct fb_nccl_id id, int rank);
	int (*CommInitAll)(fb_nccl_comm *comms, int devices, const int *device);
	int (*CommDestroy)(fb_nccl_comm comm);
	int (*CommAbort)(fb_nccl_comm comm);
	int (*CommGetAsyncError)(fb_nccl_comm comm, int *code);
	int (*GroupStart)(void);
	int (*GroupEnd)(void);
	int (*AllReduce)(const void *in, void *out, size_t count, int type, int op,
			 fb_nccl_comm comm, void *stream);
	int (*AllGather)(const void *in, void *out, size_t count, int type, fb_nccl_comm comm,
			 void *stream);
	int (*ReduceScatter)(const void *in, void *out, size_t count, int type, int op,
			     fb_nccl_comm comm, void *stream);
	int (*Broadcast)(const void *in, void *out, size_t count, int type, int root,
			 fb_nccl_comm comm, void *stream);
	int (*Reduce)(const void *in, void *out, size_t count, int type, int op, int root,
		      fb_nccl_comm comm, void *stream);
	/* NULL in versions before the one that is named. */
	int (*Send)(const void *from, size_t count, int type, int peer, fb_nccl_comm comm,
		    void *stream);                                          /* 2.7 */
	int (*Recv)(void *to, size_t count, int type, int peer, fb_nccl_comm comm,
		    void *stream);                                          /* 2.7 */
	const char *(*GetLastError)(fb_nccl_comm comm);                         /* 2.13 */
	int (*CommInitRankConfig)(fb_nccl_comm *comm, int nranks, struct fb_nccl_id id, int rank,
				  struct fb_nccl_config *config);               /* 2.14 */
	int (*CommFinalize)(fb_nccl_comm comm);                                 /* 2.14 */
	/* Colour -1: this rank is in no new communicator. `config` may be NULL. */
	int (*CommSplit)(fb_nccl_comm comm, int colour, int key, fb_nccl_comm *made,
			 struct fb_nccl_config *config);                        /* 2.18 */
	int (*MemAlloc)(void **memory, size_t bytes);                           /* 2.19 */
	int (*MemFree)(void *memory);                                           /* 2.19 */
	int (*CommRegister)(fb_nccl_comm comm, void *from, size_t bytes,
			    void **handle);                                     /* 2.19 */
	int (*CommDeregister)(fb_nccl_comm comm, void *handle);                 /* 2.19 */
	int (*GroupSimulateEnd)(struct fb_nccl_estimate *estimate);             /* 2.22 */
	int (*CommInitRankScalable)(fb_nccl_comm *comm, int nranks, int rank, int nids,
				    struct fb_nccl_id *ids,
				    struct fb_nccl_config *config);             /* 2.23 */
	void (*ResetDebugInit)(void);                                           /* 2.24 */
	/* Called by the ranks that stay; `excluded` are the others. */
	int (*CommShrink)(fb_nccl_comm comm, int *excluded, int count, fb_nccl_comm *made,
			  struct fb_nccl_config *config, int flags);            /* 2.27 */
	int (*CommWindowRegister)(fb_nccl_comm comm, void *from, size_t bytes, void **window,
				  int flags);                                   /* 2.27 */
	int (*CommWindowDeregister)(fb_nccl_comm comm, void *window);           /* 2.27 */
	int (*AlltoAll)(const void *in, void *out, size_t count, int type, fb_nccl_comm comm,
			void *stream);                                          /* 2.28 */
	int (*Gather)(const void *in, void *out, size_t count, int type, int root,
		      fb_nccl_comm comm, void *stream);                         /* 2.28 */
	int (*Scatter)(const void *in, void *out, size_t count, int type, int root,
		       fb_nccl_comm comm, void *stream);                        /* 2.28 */
	int (*CommRevoke)(fb_nccl_comm comm, int flags);                        /* 2.28.7 */
	int (*CommGetUniqueId)(fb_nccl_comm comm, struct fb_nccl_id *id);       /* 2.29 */
	/*
	 * Ranks of `comm` give rank -1, and all but the one that made the id give no id; a new
	 * rank gives no communicator.
	 */
	int (*CommGrow)(fb_nccl_comm comm, int nranks, const struct fb_nccl_id *id, int rank,
			fb_nccl_comm *made, struct fb_nccl_config *config);     /* 2.29 */
	int (*CommSuspend)(fb_nccl_comm comm, int flags);                       /* 2.29.7 */
	int (*CommResume)(fb_nccl_comm comm);                                   /* 2.29.7 */
	/* 2.31: the same collectives with a configuration for this call. */
	int (*AllReduceConfig)(const void *in, void *out, size_t count, int type, int op,
			       fb_nccl_comm comm, void *stream,
			       const struct fb_nccl_call_config *config);
	int (*AllGatherConfig)(const void *in, void *out, size_t count, int type,
			       fb_nccl_comm comm, void *stream,
			       const struct fb_nccl_call_config *config);
	int (*ReduceScatterConfig)(const void *in, void *out, size_t count, int type, int op,
				   fb_nccl_comm comm, void *stream,
				   const struct fb_nccl_call_config *config);
	int (*BroadcastConfig)(const void *in, void *out, size_t count, int type, int root,
			       fb_nccl_comm comm, void *stream,
			       const struct fb_nccl_call_config *config);
	int (*ReduceConfig)(const void *in, void *out, size_t count, int type, int op, int root,
			    fb_nccl_comm comm, void *stream,
			    const struct fb_nccl_call_config *config);
	int (*AlltoAllConfig)(const void *in, void *out, size_t count, int type,
			      fb_nccl_comm comm, void *stream,
			      const struct fb_nccl_call_config *config);
	int (*GatherConfig)(const void *in, void *out, size_t count, int type, int root,
			    fb_nccl_comm comm, void *stream,
			    const struct fb_nccl_call_config *config);
	int (*ScatterConfig)(const void *in, void *out, size_t count, int type, int root,
			     fb_nccl_comm comm, void *stream,
			     const struct fb_nccl_call_config *config);
};

/*
 * Loads `file`: a path, or a name that is looked for where the linker looks, then in
 * $CUDA_HOME/lib64 and /usr/local/cuda/lib64. 0, or FB_EUNSUPPORTED with the reason (not
 * printed), *nccl then zeroed. The library stays loaded until the process ends: it has threads.
 */
int fb_nccl_open(struct fb_nccl *nccl, const char *file, char *reason, size_t n);

/* "2.28.9". Returns text. */
const char *fb_nccl_version_text(const struct fb_nccl *nccl, char text[FB_NCCL_NAME_CHARS]);

/* Functions that later versions of NCCL added, and that some versions lack. */
enum fb_nccl_feature {
	FB_NCCL_POINT_TO_POINT,
	FB_NCCL_MEMORY,
	FB_NCCL_REGISTRATION,
	FB_NCCL_WINDOWS,
	FB_NCCL_COPY_ENGINES,
	FB_NCCL_CTA_LIMITS,
	FB_NCCL_CTA_POLICIES,
	FB_NCCL_CALL_CONFIGS,
	FB_NCCL_FEATURES,
};

/* Whether the loaded version has it; else "NCCL 2.18.5 has no symmetric windows (2.27 has)". */
bool fb_nccl_has(const struct fb_nccl *nccl, enum fb_nccl_feature feature, char *reason, size_t n);

/* NCCL's numbers of types and operations; fb_nccl_can_type: whether this version has the type. */
int fb_nccl_type(enum fb_datatype type);
int fb_nccl_op(enum fb_redop op);
bool fb_nccl_can_type(const struct fb_nccl *nccl, enum fb_datatype type, char *reason, size_t n);

/*
 * 0 for the codes of success and of calls in progress. Else prints the function, the result and
 * NCCL's last error, and returns FB_EUNSUPPORTED (NCCL refuses the request), FB_EPEER (another rank
 * failed) or FB_ESYS. comm may be NULL.
 */
int fb_nccl_error(const struct fb_nccl *nccl, fb_nccl_comm comm, int code, const char *function);

#endif
