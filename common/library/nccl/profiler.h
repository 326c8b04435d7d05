/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface between NCCL and a profiler plugin, as far as this project uses it: versions 1 to 7
 * (NCCL 2.23 to 2.32), declared by hand after the headers of 2.23.4 (version 1) to 2.31.2
 * (version 7). A library looks for the highest version that it knows, as symbol ncclProfiler_v7,
 * ncclProfiler_v6 and so on.
 */
#ifndef FB_COMMON_LIBRARY_NCCL_PROFILER_H
#define FB_COMMON_LIBRARY_NCCL_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types of events, as bits of the mask that init() gives. */
enum {
	FB_NCCL_EVENT_GROUP = 1 << 0, /* used from version 4 on */
	FB_NCCL_EVENT_COLL = 1 << 1,
	FB_NCCL_EVENT_P2P = 1 << 2,
	FB_NCCL_EVENT_PROXY_OP = 1 << 3,       /* these too */
	FB_NCCL_EVENT_PROXY_STEP = 1 << 4,
	FB_NCCL_EVENT_PROXY_CONTROL = 1 << 5,
	FB_NCCL_EVENT_KERNEL_CHANNEL = 1 << 6,
	FB_NCCL_EVENT_GROUP_API = 1 << 8, /* from version 5 on */
	FB_NCCL_EVENT_COLL_API = 1 << 9,
	FB_NCCL_EVENT_P2P_API = 1 << 10,
	FB_NCCL_EVENT_LAUNCH = 1 << 11,
	FB_NCCL_EVENT_CE_COLL = 1 << 12,       /* from version 6 on */
	FB_NCCL_EVENT_CE_SYNC = 1 << 13,
	FB_NCCL_EVENT_CE_BATCH = 1 << 14,
};

/*
 * States. Their arguments begin with: KERNEL_CHANNEL_STOP: the time, an uint64_t; states of a proxy
 * step: the bytes moved, a size_t; CONTROL_APPENDED: the number of operations.
 */
enum {
	FB_NCCL_STATE_SEND_GPU_WAIT = 8,
	FB_NCCL_STATE_SEND_WAIT = 9,
	FB_NCCL_STATE_RECEIVE_WAIT = 10,
	FB_NCCL_STATE_RECEIVE_FLUSH_WAIT = 11,
	FB_NCCL_STATE_RECEIVE_GPU_WAIT = 12,
	FB_NCCL_STATE_CONTROL_IDLE = 13,
	FB_NCCL_STATE_CONTROL_ACTIVE = 14,
	FB_NCCL_STATE_CONTROL_SLEEP = 15,
	FB_NCCL_STATE_CONTROL_WAKEUP = 16,
	FB_NCCL_STATE_CONTROL_APPEND = 17,
	FB_NCCL_STATE_CONTROL_APPENDED = 18,
	FB_NCCL_STATE_SEND_PEER_WAIT = 20,
	FB_NCCL_STATE_KERNEL_CHANNEL_STOP = 22,
};

/* A channel of a kernel, whose parent is the call. Times are in ns of the GPU's timer. */
#define FB_NCCL_CHANNEL_4                                                                          \
	uint8_t id;                                                                                \
	uint64_t start;

/* Members of a collective that versions 4 to 7 begin with. */
#define FB_NCCL_COLL_4                                                                             \
	uint64_t number;                                                                           \
	const char *func;                                                                          \
	const void *in;                                                                            \
	void *out;                                                                                 \
	size_t count;                                                                              \
	int root;                                                                                  \
	const char *datatype;                                                                      \
	uint8_t channels, warps;                                                                   \
	const char *algorithm, *protocol;
#define FB_NCCL_P2P_4                                                                              \
	const char *func;                                                                          \
	void *buffer;                                                                              \
	const char *datatype;                                                                      \
	size_t count;                                                                              \
	int peer;                                                                                  \
	uint8_t channels;
/* An operation of the proxy: its parent is the call, in the process `pid`. Versions 4 to 7. */
struct fb_nccl_proxy {
	int pid;
	uint8_t channel;
	int peer, steps, chunk_bytes, sends;
};

/* Calls of the API, from version 5 on. */
#define FB_NCCL_COLL_API_5                                                                         \
	const char *func;                                                                          \
	size_t count;                                                                              \
	const char *datatype;                                                                      \
	int root;
#define FB_NCCL_P2P_API_5                                                                          \
	const char *func;                                                                          \
	size_t count;                                                                              \
	const char *datatype;
/* Members of a copy-engine collective that versions 6 and 7 begin with. */
#define FB_NCCL_COPIES_6                                                                           \
	uint64_t number;                                                                           \
	const char *func;                                                                          \
	const void *in;                                                                            \
	void *out;                                                                                 \
	size_t count;                                                                              \
	int root;                                                                                  \
	const char *datatype, *synchronisation;                                                    \
	bool within_batch;                                                                         \
	uint32_t batch_size, batches, ce_number;                                                   \
	void *stream;
/* Its parts: a wait for all ranks before the copies or (`complete`) after them; and a batch. */
#define FB_NCCL_COPIES_WAIT_6                                                                      \
	bool complete;                                                                             \
	int ranks;
#define FB_NCCL_COPIES_BATCH_6                                                                     \
	int copies;                                                                                \
	size_t bytes;                                                                              \
	bool within_batch;
/* The fields of versions 2 and 3, where no member comes before `func`. */
#define FB_NCCL_OLD_COLL(traffic)                                                                  \
	const char *name;                                                                          \
	uint64_t hash, number;                                                                     \
	const char *func;                                                                          \
	const void *in;                                                                            \
	void *out;                                                                                 \
	size_t count;                                                                              \
	int root;                                                                                  \
	const char *datatype;                                                                      \
	traffic uint8_t channels, warps;                                                           \
	const char *algorithm, *protocol;
#define FB_NCCL_OLD_P2P                                                                            \
	const char *name;                                                                          \
	uint64_t hash;                                                                             \
	const char *func;                                                                          \
	void *buffer;                                                                              \
	const char *datatype;                                                                      \
	size_t count;                                                                              \
	int peer;

/* Version 1 has numbers where later versions have names. */
struct fb_nccl_event_1 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct {
			const char *name;
			uint64_t hash, number;
			uint8_t func;
			const void *in;
			void *out;
			size_t count;
			int root;
			uint8_t datatype;
			uint32_t operation;
			size_t traffic;
			uint8_t channels, warps, algorithm, protocol;
			int collnet, nvls;
		} coll;
		struct {
			const char *name;
			uint64_t hash;
			uint8_t func;
			void *buffer;
			uint8_t datatype;
			size_t count;
			int peer;
		} p2p;
	};
};

struct fb_nccl_event_2 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct { FB_NCCL_OLD_COLL(size_t traffic;) } coll;
		struct { FB_NCCL_OLD_P2P } p2p;
	};
};

struct fb_nccl_event_3 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct { FB_NCCL_OLD_COLL() } coll;
		struct { FB_NCCL_OLD_P2P } p2p;
	};
};

struct fb_nccl_event_4 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct { FB_NCCL_COLL_4 } coll;
		struct { FB_NCCL_P2P_4 } p2p;
		struct { FB_NCCL_CHANNEL_4 } channel;
		struct fb_nccl_proxy proxy;
		struct { int step; } step;
	};
};

/* Version 6 has the same, and copy-engine collectives, which version 5 never reports. */
struct fb_nccl_event_6 {
	uint64_t type;
	void *parent;
	int rank;
	union {
		struct { FB_NCCL_COLL_4 void *group; } coll;
		struct { FB_NCCL_P2P_4 void *group; } p2p;
		struct { FB_NCCL_CHANNEL_4 } channel;
		struct fb_nccl_proxy proxy;
		struct { int step; } step;
		struct { FB_NCCL_COLL_API_5 } coll_api;
		struct { FB_NCCL_P2P_API_5 } p2p_api;
		struct { FB_NCCL_COPIES_6 } ce;
		struct { FB_NCCL_COPIES_WAIT_6 } ce_wait;
		struct { FB_NCCL_COPIES_BATCH_6 } ce_batch;
	};
};

/* `tag` is what the caller gave with a call (userProfilerTag of ncclCollConfig_t); 0: nothing. */
struct fb_nccl_event_7 {
	uint64_t type;
	void *parent;
	int rank;
	union {
		struct {
			FB_NCCL_COLL_4
			void *group;
			const char *kernel; /* of symmetric windows */
			bool symmetric;
			uint64_t tag;
		} coll;
		struct { FB_NCCL_P2P_4 void *group; uint64_t tag; } p2p;
		struct { FB_NCCL_CHANNEL_4 } channel;
		struct fb_nccl_proxy proxy;
		struct { int step; } step;
		struct { FB_NCCL_COLL_API_5 } coll_api;
		struct { FB_NCCL_P2P_API_5 } p2p_api;
		struct { FB_NCCL_COPIES_6 uint64_t tag; } ce;
		struct { FB_NCCL_COPIES_WAIT_6 } ce_wait;
		struct { FB_NCCL_COPIES_BATCH_6 } ce_batch;
	};
};

/* The functions that NCCL calls. Between versions `init` differs; `start` has other event types. */
struct fb_nccl_profiler {
	const char *name;
	void (*init)(void); /* cast to the version's type, below */
	int (*start)(void *context, void **handle, void *event);
	int (*stop)(void *handle);
	int (*state)(void *handle, int state, void *arguments);
	int (*finalize)(void *context);
};

typedef int (*fb_nccl_init_2)(void **context, int *mask); /* 1 to 3 */
typedef int (*fb_nccl_init_4)(void **context, int *mask, const char *name, uint64_t hash,
			      int nodes, int ranks, int rank, void (*log)(void));
typedef int (*fb_nccl_init_5)(void **context, uint64_t hash, int *mask, const char *name,
			      int nodes, int ranks, int rank, void (*log)(void)); /* 5 to 7 */

#endif
