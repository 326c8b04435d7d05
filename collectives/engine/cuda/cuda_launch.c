/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepares the tables and the parameters of a launch, and launches. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/engine/cuda/cuda_engine.h"
#include "collectives/engine/cuda/cuda_kernels.h"
#include "common/cuda/cuda_error.h"

enum {
	WARP = 32,
	FUSED_THREADS = 256, /* as long as that makes blocks enough */
	LINE_DATA = 120,
	WARP_LINES = 4,
	LEAST_WARPS = 4,     /* of a block, or more are launched than help */
};

_Static_assert(sizeof(struct fb_gpu_launch) <= 4096, "parameters of all CUDA versions");
_Static_assert(sizeof(struct fb_gpu_record) == 32 && sizeof(struct fb_gpu_end) == 32 &&
		       sizeof(struct fb_gpu_counter) == 16,
	       "records are multiples of 16 bytes");

bool fb_cuda_has_tma(const struct cuda_engine *e)
{
	const struct fb_operation moves = {.collective = FB_ALL_GATHER};
	struct cudaFuncAttributes attributes;
	int pool = 0;

	/* Not all GPUs from 9.0 on have as much shared memory. */
	if (!e->has_gpu || e->gpu.major < 9 ||
	    cudaDeviceGetAttribute(&pool, cudaDevAttrMaxSharedMemoryPerBlockOptin,
				   e->gpu.device) != cudaSuccess ||
	    pool < FB_GPU_POOL + FB_GPU_SHARED)
		return false;
	if (cudaFuncGetAttributes(&attributes, fb_gpu_kernel(&moves, FB_GPU_KERNEL_TMA, false)) !=
	    cudaSuccess) {
		(void)cudaGetLastError();
		return false;
	}
	return attributes.ptxVersion >= 90;
}

/* Without an attribute, a kernel has only the shared memory that all GPUs have. */
static int allow_pool(const void *kernel)
{
	return FB_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
					    FB_GPU_POOL));
}

/* Blocks of a kernel that a multiprocessor holds; at least 1. */
static int blocks_at_once(const struct cuda_request *r, const void *kernel, size_t shared)
{
	int n = 1;

	if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, kernel, (int)r->threads, shared) !=
	    cudaSuccess)
		n = 1;
	return n > 1 ? n : 1;
}

int fb_cuda_resident(const struct cuda_request *r)
{
	const void *kernel = r->tma ? fb_gpu_kernel(r->op, FB_GPU_KERNEL_TMA, false)
				    : fb_gpu_kernel(r->op, (int)r->shape.protocol, true);
	int each = r->tma && allow_pool(kernel)
			   ? 1
			   : blocks_at_once(r, kernel, r->tma ? FB_GPU_POOL : 0);

	if (r->striped) {
		int striped = blocks_at_once(
			r, fb_gpu_kernel(r->op, FB_GPU_KERNEL_STRIPED, false), 0);

		each = striped < each ? striped : each;
	}
	return r->engine->gpu.sms * each;
}

static uint64_t own_links(const struct cuda_request *r)
{
	return (uint64_t)(uintptr_t)fb_segment_part(&r->links, r->engine->group->rank);
}

/* The ring of start times, for rows whose calls follow each other. */
static int make_times(struct cuda_request *r, const struct fb_case *c)
{
	size_t bytes = FB_GPU_TIMES * sizeof(uint64_t);
	int err;

	if (c->cadence != FB_STREAMING)
		return FB_OK;
	err = FB_CUDA(cudaMalloc(&r->times, bytes));
	return err ? err : FB_CUDA(cudaMemset(r->times, 0, bytes));
}

static uint64_t between(uint64_t n, uint64_t least, uint64_t most)
{
	return n < least ? least : n > most ? most : n;
}

/* Blocks that have `each` pieces of work, or as many as were asked for. */
static void shape_exchange(struct cuda_request *r, uint64_t pieces, uint64_t each, uint64_t most)
{
	uint64_t blocks = (pieces + each - 1) / each;

	if (r->exchange_blocks)
		blocks = (uint64_t)r->exchange_blocks;
	r->blocks = (unsigned)between(blocks, 1, most);
}

/*
 * The blocks and warps of an exchange by ll128, in which a warp has four lines. Blocks have few
 * warps until each multiprocessor has a block. Then all blocks get more, as evenly as possible.
 */
static void shape_lines(struct cuda_request *r)
{
	const uint64_t full = FB_GPU_MOST_THREADS / WARP;
	uint64_t groups = r->table.longest / (LINE_DATA * WARP_LINES) + 1, each, passes, warps;
	uint64_t sms = (uint64_t)fb_cuda_share(r);

	shape_exchange(r, groups, LEAST_WARPS,
		       r->exchange_blocks ? FB_GPU_MOST_FUSED_BLOCKS
					  : between(sms, 1, FB_GPU_MOST_FUSED_BLOCKS));
	each = (groups + r->blocks - 1) / r->blocks;
	passes = (each + full - 1) / full;
	warps = between((each + passes - 1) / passes, LEAST_WARPS, full);
	if (r->tuning.threads)
		warps = between((uint64_t)r->tuning.threads / WARP, 1, full);
	r->threads = (unsigned)(warps * WARP);
}

/* The same for ll, in which a thread has one line. */
static void shape_words(struct cuda_request *r)
{
	uint64_t lines = (r->exchange.bytes + 7) / 8, threads = FUSED_THREADS;

	if (r->tuning.threads)
		threads = (uint64_t)r->tuning.threads;
	else if (lines < threads)
		threads = (lines + WARP - 1) / WARP * WARP;
	threads = between(threads, WARP, FB_GPU_FUSED_THREADS);
	if (!r->tuning.threads && lines > threads * FB_GPU_FUSED_BLOCKS)
		threads = FB_GPU_FUSED_THREADS;
	r->threads = (unsigned)threads;
	shape_exchange(r, lines, threads,
		       between((uint64_t)fb_cuda_share(r), 1, FB_GPU_FUSED_BLOCKS));
}

static void set_exchange(struct cuda_request *r)
{
	struct fb_gpu_exchange *x = &r->exchange;
	int kernel = FB_GPU_KERNEL_EXCHANGE;

	if (r->shape.protocol == FB_GPU_LL128) {
		kernel = x->npeers == 1 ? FB_GPU_KERNEL_LINES_ONE
			 : x->npeers <= FB_GPU_FEW_PEERS ? FB_GPU_KERNEL_LINES_FEW
							 : FB_GPU_KERNEL_LINES_MOST;
		shape_lines(r);
	} else {
		shape_words(r);
	}
	x->epochs = own_links(r);
	x->times = (uint64_t)(uintptr_t)r->times;
	x->op = (uint32_t)r->op->redop;
	r->kernel = fb_gpu_kernel(r->op, x->flags & FB_GPU_SAME ? kernel : kernel + 1,
				  !(x->flags & FB_GPU_ALIGNED));
}

/* Records go into the parameters where they fit, else into device memory, behind the blocks. */
static int place_records(struct cuda_request *r)
{
	struct fb_gpu_launch *l = &r->launch;
	size_t n = (size_t)r->table.nblocks, head = n * sizeof(struct fb_gpu_block);
	struct fb_gpu_block *blocks;
	char *memory;
	int err;

	if (n <= FB_GPU_INLINE_BLOCKS && r->table.size <= FB_GPU_INLINE) {
		memcpy(l->inline_blocks, r->table.blocks, head);
		if (r->table.size)
			memcpy(l->inlined, r->table.bytes, r->table.size);
		return FB_OK;
	}
	head = (head + FB_GPU_LINE - 1) / FB_GPU_LINE * FB_GPU_LINE;
	err = FB_CUDA(cudaMalloc(&r->uploaded, head + r->table.size));
	blocks = err ? NULL : malloc(n * sizeof(*blocks));
	if (err || !blocks)
		return err ? err : FB_ENOMEM;
	memory = r->uploaded;
	memcpy(blocks, r->table.blocks, n * sizeof(*blocks));
	for (size_t i = 0; i < n; i++)
		blocks[i].records += (uint64_t)(uintptr_t)memory + head;
	err = FB_CUDA(cudaMemcpy(memory, blocks, n * sizeof(*blocks), cudaMemcpyHostToDevice));
	if (!err)
		err = FB_CUDA(cudaMemcpy(memory + head, r->table.bytes, r->table.size,
					 cudaMemcpyHostToDevice));
	free(blocks);
	l->blocks = (uint64_t)(uintptr_t)memory;
	return err;
}

/*
 * Loads the kernel now: the runtime does so at first use otherwise, which may be inside of a
 * capture, or while a kernel that waits for this rank keeps the device busy.
 */
static int load_kernel(const struct cuda_request *r)
{
	struct cudaFuncAttributes attributes;
	int err = FB_CUDA(cudaFuncGetAttributes(&attributes, r->kernel));

	if (!err && r->threads > (unsigned)attributes.maxThreadsPerBlock)
		err = fb_error(FB_EUNSUPPORTED, "%u threads are more than the %d of the kernel",
			       r->threads, attributes.maxThreadsPerBlock);
	return err ? err : FB_CUDA(cudaDeviceSynchronize());
}

int fb_cuda_upload(struct cuda_request *r, const struct fb_case *c)
{
	int err = make_times(r, c);

	if (err)
		return err;
	if (r->fused) {
		set_exchange(r);
		return load_kernel(r);
	}
	r->launch.epochs = own_links(r);
	r->launch.times = (uint64_t)(uintptr_t)r->times;
	r->launch.op = (uint32_t)r->op->redop;
	r->launch.nranks = (uint32_t)r->shape.nranks;
	r->blocks = (unsigned)r->table.nblocks;
	r->kernel = fb_gpu_kernel(r->op, (int)r->shape.protocol, r->table.odd);
	if (r->tma && !r->table.odd) {
		r->kernel = fb_gpu_kernel(r->op, FB_GPU_KERNEL_TMA, false);
		r->shared = FB_GPU_POOL;
		err = allow_pool(r->kernel);
	}
	r->on_stripes = r->shape.geometry.stripe && !r->table.odd;
	if (r->on_stripes)
		r->kernel = fb_gpu_kernel(r->op, FB_GPU_KERNEL_STRIPED, false);
	err = err ? err : place_records(r);
	return err ? err : load_kernel(r);
}

/* `early`: its blocks may come while those of the call before go. */
static int launch(struct cuda_request *r, void *stream, bool early)
{
	void *args[] = {r->fused ? (void *)&r->exchange : (void *)&r->launch};
	cudaLaunchAttribute overlap = {.id = cudaLaunchAttributeProgrammaticStreamSerialization,
				       .val = {.programmaticStreamSerializationAllowed = 1}};
	const cudaLaunchConfig_t config = {
		.gridDim = {r->blocks, 1, 1}, .blockDim = {r->threads, 1, 1},
		.dynamicSmemBytes = r->shared,
		.stream = stream, .attrs = &overlap,
		.numAttrs = early && r->engine->gpu.major >= 9,
	};

	return FB_CUDA(cudaLaunchKernelExC(&config, r->kernel, args));
}

int fb_cuda_enqueue(void *request, void *stream)
{
	struct cuda_request *r = request;

	/* A kernel that takes its place early takes it from the other operations. */
	return launch(r, stream, !r->engine->settings->no_gpu_overlap && r->op->together < 2);
}

int fb_cuda_enqueue_after(void *request, void *stream)
{
	return launch(request, stream, false);
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void fb_cuda_iterations(const struct cuda_request *r, double *median_us, double *p99_us)
{
	uint64_t batch = r->last_batch > 0 ? (uint64_t)r->last_batch : 0, n;
	uint64_t *ring = malloc(FB_GPU_TIMES * sizeof(*ring));
	double *gap = malloc(FB_GPU_TIMES * sizeof(*gap));

	batch = batch < FB_GPU_TIMES ? batch : FB_GPU_TIMES;
	*median_us = *p99_us = (double)NAN;
	if (!r->times || batch < 2 || !ring || !gap)
		goto free_gap;
	if (FB_CUDA(cudaMemcpy(ring, r->times, FB_GPU_TIMES * sizeof(*ring),
			       cudaMemcpyDeviceToHost)))
		goto free_gap;
	n = batch - 1;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = r->calls - batch + i;

		gap[i] = (double)(int64_t)(ring[(at + 1) % FB_GPU_TIMES] -
					   ring[at % FB_GPU_TIMES]) * 1e-3;
	}
	qsort(gap, n, sizeof(*gap), by_value);
	*median_us = gap[n / 2];
	*p99_us = n >= 100 ? gap[n * 99 / 100] : (double)NAN;
free_gap:
	free(ring);
	free(gap);
}
