/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of what it costs to make memory usable, of processors and of GPUs, and its columns. */
#include "p2p/cost/cost.h"

enum { BY_CUDA = 1 << FB_GPU_DEVICE | 1 << FB_GPU_VMM };

const struct fb_column fb_memory_columns[FB_COST_COLUMNS] = {
	[FB_COST_HITS] = {.name = "cache_hits", .kind = FB_COLUMN_VALUE, .type = FB_COLUMN_U64,
			  .unit = "", .help = "rdma, rank 0: registrations found in the cache"},
	[FB_COST_MISSES] = {.name = "cache_misses", .kind = FB_COLUMN_VALUE,
			    .type = FB_COLUMN_U64, .unit = "",
			    .help = "rdma, rank 0: those that had to be made"},
	[FB_COST_REGISTER_US] = {.name = "register_us", .kind = FB_COLUMN_VALUE,
				 .type = FB_COLUMN_TIME_US, .unit = "us",
				 .help = "rdma, rank 0: making one took, mean"},
	[FB_COST_DEREGISTER_US] = {.name = "deregister_us", .kind = FB_COLUMN_VALUE,
				   .type = FB_COLUMN_TIME_US, .unit = "us",
				   .help = "rdma, rank 0: giving one up took, mean"},
};

const struct fb_cost fb_memory_costs[] = {
	{.engine = "host", .operation = "map", .transport = "-", .sized = true, .paged = true,
	 .act = fb_cost_map},
	{.engine = "host", .operation = "lock", .transport = "-", .sized = true, .paged = true,
	 .can = fb_cost_can_lock, .begin = fb_cost_allocate, .end = fb_cost_drop_memory,
	 .act = fb_cost_lock},
	{.engine = "host", .operation = "share", .transport = "shm", .sized = true,
	 .paged = true, .act = fb_cost_share},
	{.engine = "mpi", .operation = "window", .transport = "library", .sized = true,
	 .paged = true, .can = fb_cost_can_window, .begin = fb_cost_allocate,
	 .end = fb_cost_drop_memory, .act = fb_cost_make_window},
	{.engine = "mpi", .operation = "allocate", .transport = "library", .sized = true,
	 .foreign = true, .act = fb_cost_allocate_by_mpi},
	{.engine = "rdma", .operation = "register", .transport = "rdma", .sized = true,
	 .paged = true, .gpu_memory = BY_CUDA, .can = fb_cost_can_rdma,
	 .begin = FB_COST_RDMA(fb_cost_begin_register), .end = FB_COST_RDMA(fb_cost_end_rdma),
	 .act = FB_COST_RDMA(fb_cost_register), .fill = FB_COST_RDMA(fb_cost_fill_rdma)},
	{.engine = "rdma", .operation = "look_up", .transport = "rdma", .sized = true,
	 .paged = true, .gpu_memory = BY_CUDA, .can = fb_cost_can_rdma,
	 .begin = FB_COST_RDMA(fb_cost_begin_cached), .end = FB_COST_RDMA(fb_cost_end_rdma),
	 .act = FB_COST_RDMA(fb_cost_look_up), .fill = FB_COST_RDMA(fb_cost_fill_rdma)},
	{.engine = "cuda", .operation = "map", .transport = "-", .sized = true,
	 .gpu_memory = BY_CUDA, .begin = fb_cost_begin_map_gpu, .end = fb_cost_end_gpu,
	 .act = fb_cost_map_gpu},
	{.engine = "cuda", .operation = "share", .transport = "p2p", .sized = true,
	 .gpu_memory = BY_CUDA, .can = fb_cost_can_share_gpu, .begin = fb_cost_begin_share_gpu,
	 .end = fb_cost_end_gpu, .act = fb_cost_cuda_share},
	{.engine = "nccl", .operation = "register", .transport = "library", .sized = true,
	 .gpu_memory = BY_CUDA, .can = fb_cost_can_register_nccl, .begin = fb_cost_begin_nccl,
	 .end = fb_cost_end_gpu, .act = fb_cost_register_nccl},
	{.engine = "nccl", .operation = "window", .transport = "library", .sized = true,
	 .gpu_memory = BY_CUDA, .can = fb_cost_can_window_nccl, .begin = fb_cost_begin_nccl,
	 .end = fb_cost_end_gpu, .act = fb_cost_window_nccl},
	{.operation = NULL},
};
