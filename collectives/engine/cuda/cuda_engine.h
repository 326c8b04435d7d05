/* SPDX-License-Identifier: BSD-3-Clause */
/* The CUDA engine's own structures; internal to collectives/engine/cuda. */
#ifndef FB_COLLECTIVES_ENGINE_CUDA_CUDA_ENGINE_H
#define FB_COLLECTIVES_ENGINE_CUDA_CUDA_ENGINE_H

#include "collectives/algorithm/algorithm.h"
#include "collectives/engine/cuda/build.h"
#include "collectives/engine/cuda/proxy_links.h"
#include "collectives/engine/on_stream.h"
#include "common/cuda/gpu_segment.h"

enum fb_cuda_wire {
	FB_CUDA_NOTHING,
	FB_CUDA_PEER,   /* the peer's memory */
	FB_CUDA_PINNED, /* host memory that both map */
	FB_CUDA_TCP,    /* proxy_links.h */
	FB_CUDA_RDMA,
	FB_CUDA_WIRES,
};

/* A transport: what links within a node are, and those to other nodes. */
struct fb_cuda_wires {
	const char *name;
	enum fb_cuda_wire near, far; /* far: nothing where all links are alike */
};

/* Where slots of links over rdma are: what the device reads and writes. */
enum fb_cuda_slots {
	FB_CUDA_STAGED,  /* pinned host memory, and the transport's own */
	FB_CUDA_DMABUF,  /* GPU memory, registered by its dma-buf */
	FB_CUDA_PEERMEM, /* GPU memory, registered by its address */
};

struct cuda_engine {
	struct fb_engine engine;
	const struct fb_group *group;
	const struct fb_settings *settings;
	struct fb_topology topology;
	struct fb_gpu gpu;               /* if has_gpu */
	bool has_gpu;
	bool nodes_reach;                /* every GPU reaches every other of its node */
	char why[FB_REASON_CHARS];   /* why not */
	struct fb_transport *network[FB_CUDA_WIRES]; /* or NULL; rdma: if possible */
	struct fb_gpu_proxy *proxy[FB_CUDA_WIRES];   /* or NULL: not needed yet */
	char no_rdma[FB_REASON_CHARS];   /* why there is no rdma; the same on all ranks */
	struct fb_rdma_settings rdma;    /* the user's, as GPUs need them */
	enum fb_cuda_slots slots;        /* of links over rdma; the same on all ranks */
	bool flushes;                    /* GPUDirect: see fb_gpu_direct_methods() */
	bool said_resident;              /* that a launch is more than a GPU holds */
};

struct cuda_request {
	struct fb_on_stream on;
	struct cuda_engine *engine;
	const struct fb_operation *op;
	const struct fb_algorithm *algorithm;
	const char *stages;
	bool direct;                     /* protocols direct, tma, striped */
	bool tma;                        /* by bulk copies, where all memory is aligned */
	bool striped, on_stripes;        /* the protocol; and where its kernel does it */
	const struct fb_cuda_wires *wires;
	uint8_t *via;                    /* [nranks] as fb_gpu_lay_out; NULL: all near */
	bool wide;                       /* sums within a step stay f32 */
	struct fb_gpu_tuning tuning;
	struct fb_gpu_shape shape;
	struct fb_plan **plans;          /* [shape.nchannels] */
	struct fb_segment links, far_links, scratch;
	struct fb_gpu_layout layout;
	struct fb_gpu_proxy_links proxied;
	struct fb_device_memory slots;   /* GPUDirect: own GPU memory, else base NULL */
	bool proxy_added;                /* the proxy carries its links */
	struct fb_gpu_table table;
	bool fused;
	int exchange_blocks;             /* the channels asked for, where there is one; 0: any */
	struct fb_gpu_launch launch;
	struct fb_gpu_exchange exchange;
	const void *kernel;
	unsigned blocks, threads;
	size_t shared;                   /* dynamic, of a block: for bulk copies */
	void *uploaded, *times;          /* device memory, or NULL */
	uint64_t calls;
	int last_batch;
};

/* Plans, links, tables of a request (cuda_request.c). Collective; the same value on all ranks. */
int fb_cuda_setup(struct cuda_request *r, const struct fb_case *c);
void fb_cuda_teardown(struct fb_request *request);

/* Local: proves the plans that the case's records would be made from, as fb_prove_plans. */
int fb_cuda_check_plan(struct fb_engine *engine, const struct fb_case *c,
		       const struct fb_operation *op, FILE *report);

/*
 * Links (cuda_transport.c). fb_cuda_wires: the case's transport; NULL: GPUs have none of that name.
 * fb_cuda_can_transport: else writes the reason. fb_cuda_choose_via: sets r->via; 0 or FB_ENOMEM.
 * fb_cuda_open_links: collective; opens the memory of links and scratch buffers.
 * fb_cuda_links_address: fb_gpu_view.links. fb_cuda_describe_links: text for the column `path`.
 */
const struct fb_cuda_wires *fb_cuda_wires(const struct fb_case *c);
bool fb_cuda_can_transport(const struct cuda_engine *e, const struct fb_case *c, char *reason);
/* Whether the case's links have no slots: protocols direct, tma and striped. */
bool fb_cuda_is_direct(const struct fb_case *c);
int fb_cuda_choose_via(struct cuda_request *r);
int fb_cuda_open_links(struct cuda_request *r, const struct fb_case *c, size_t scratch_bytes);
uint64_t fb_cuda_links_address(const void *arg, int rank, int peer);
void fb_cuda_describe_links(const struct cuda_request *r, char *text, size_t n);
/* Collective: for cuda_engine.nodes_reach. */
bool fb_cuda_nodes_reach(const struct fb_group *w, const struct fb_gpu *gpu);

/*
 * Links over networks (cuda_network.c). Open and close belong to the engine and are collective.
 * fb_cuda_can_network: whether the case's network exists. Connect and disconnect the links of a
 * request are collective, and do nothing if it has no such links. fb_cuda_watch: waits for the
 * request's stream end with errors of its network. fb_cuda_describe_network: the interface as text.
 */
int fb_cuda_network_open(struct cuda_engine *e);
void fb_cuda_network_close(struct cuda_engine *e);
bool fb_cuda_can_network(const struct cuda_engine *e, const struct fb_case *c,
			 const struct fb_cuda_wires *w, char *reason);
int fb_cuda_connect(struct cuda_request *r);
void fb_cuda_watch(struct cuda_request *r);
void fb_cuda_disconnect(struct cuda_request *r);
void fb_cuda_describe_network(const struct cuda_request *r, char *text, size_t n);

/*
 * GPUDirect (cuda_direct.c). fb_cuda_choose_slots: collective, after the transport is open; sets
 * e->slots and e->flushes; FB_OK or FB_EINPUT (printed) where what was asked for cannot be had. The
 * others are for a request's slots in GPU memory, and do nothing if it has none: open (collective),
 * fb_gpu_view.slots, hand them to the proxied links, close.
 */
int fb_cuda_choose_slots(struct cuda_engine *e);
int fb_cuda_open_slots(struct cuda_request *r);
uint64_t fb_cuda_slots_address(const void *arg, int rank, int peer);
void fb_cuda_proxied_slots(struct cuda_request *r);
void fb_cuda_close_slots(struct cuda_request *r);

/*
 * Device memory and launches (cuda_launch.c). fb_cuda_has_tma: whether the GPU has bulk copies, and
 * kernels were compiled with them. fb_cuda_resident: how many blocks of the request's kernel and
 * threads the GPU holds at once. It has to hold all blocks of a launch, as they wait for peers.
 */
bool fb_cuda_has_tma(const struct cuda_engine *e);
int fb_cuda_resident(const struct cuda_request *r);
/* Multiprocessors that are the operation's, where several are under way at once. */
int fb_cuda_share(const struct cuda_request *r);
int fb_cuda_upload(struct cuda_request *r, const struct fb_case *c);
int fb_cuda_enqueue(void *request, void *stream);
/* The same, but never begun before all that the stream holds is over. */
int fb_cuda_enqueue_after(void *request, void *stream);
/* Columns of the device's clock. */
void fb_cuda_iterations(const struct cuda_request *r, double *median_us, double *p99_us);

/* The shape a case asks the algorithm for; stages as in fb_shape. */
struct fb_shape fb_cuda_shape(const struct cuda_engine *e, const struct fb_operation *op,
			      const char *stages, int channel, int nchannels);

#endif
