/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of making GPU memory usable: allocating it, mapping it in a neighbour, registering it
 * with NCCL. RDMA devices are in rdma.c. GPU, library and neighbours are determined once.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/option/option.h"
#include "p2p/cost/cost.h"

static bool is_wanted(const struct fb_settings *settings)
{
	return fb_option_names(settings->memory, "device") ||
	       fb_option_names(settings->memory, "vmm") ||
	       (strcmp(settings->engine, "all") && (fb_option_names(settings->engine, "cuda") ||
						     fb_option_names(settings->engine, "nccl")));
}

/* Whether every rank that has a neighbour on its host, the next one, can map its memory. */
static void find_neighbours(struct fb_cost_gpu *gpu)
{
	const struct fb_group *w = gpu->gpu.group;
	int n, at, next = w->rank, had, facts[2] = {0, 1}; /* has one; reaches it */

	MPI_Comm_size(w->node_comm, &n);
	MPI_Comm_rank(w->node_comm, &at);
	MPI_Sendrecv(&w->rank, 1, MPI_INT, (at + n - 1) % n, 0, &next, 1, MPI_INT, (at + 1) % n,
		     0, w->node_comm, MPI_STATUS_IGNORE);
	had = n > 1;
	MPI_Allreduce(&had, &facts[0], 1, MPI_INT, MPI_MAX, w->comm);
	had = n == 1 || gpu->gpu.reaches[next];
	MPI_Allreduce(&had, &facts[1], 1, MPI_INT, MPI_MIN, w->comm);
	if (!facts[0])
		snprintf(gpu->alone, sizeof(gpu->alone), "sharing needs two ranks on a host");
	else if (!facts[1])
		snprintf(gpu->alone, sizeof(gpu->alone),
			 "some GPU does not reach that of the next rank");
}

int fb_cost_gpu_open(struct fb_cost_gpu *gpu, const struct fb_session *session, bool rdma)
{
	const struct fb_settings *settings = session->settings;
	int err = FB_OK;

	*gpu = (struct fb_cost_gpu){.has = false};
	snprintf(gpu->none, sizeof(gpu->none), "no GPU was asked for");
	if (!is_wanted(settings))
		return FB_OK;
	err = fb_gpu_view_open(&gpu->gpu, session, session->world, gpu->none);
	if (err)
		return err == FB_EUNSUPPORTED ? FB_OK : err;
	gpu->has = true;
	find_neighbours(gpu);
	if (fb_option_names(settings->engine, "nccl"))
		(void)fb_nccl_find(&gpu->nccl, session, session->world, gpu->gpu.shared,
				   gpu->no_nccl);
	if (rdma && fb_option_names(settings->engine, "rdma"))
		err = fb_cost_survey_direct(gpu, session);
	if (err)
		fb_cost_gpu_close(gpu);
	return err;
}

void fb_cost_gpu_close(struct fb_cost_gpu *gpu)
{
	fb_nccl_group_close(&gpu->groups, &gpu->nccl);
	if (gpu->has)
		fb_gpu_view_close(&gpu->gpu);
	gpu->has = false;
}

/* --- getting and sharing ---------------------------------------------------------------------- */

static void name_path(struct fb_cost_context *context, const char *of_device, const char *of_vmm)
{
	snprintf(context->path, sizeof(context->path), "%s",
		 context->gpu_memory == FB_GPU_VMM ? of_vmm : of_device);
}

int fb_cost_begin_map_gpu(struct fb_cost_context *context)
{
	int err;

	name_path(context, "cudaMalloc", "cuMemCreate, cuMemMap");
	err = fb_group_agree(context->world, fb_cost_cuda_open(context));
	if (err)
		fb_cost_cuda_close(context);
	return err;
}

/* To its own size: what a driver does with little is of interest, too. */
int fb_cost_map_gpu(struct fb_cost_context *context)
{
	int err = fb_cost_cuda_get(context, (size_t)context->bytes);

	return err ? err : fb_cost_cuda_drop(context);
}

bool fb_cost_can_share_gpu(const struct fb_cost_context *context, char reason[FB_REASON_CHARS])
{
	snprintf(reason, FB_REASON_CHARS, "%s", context->gpu->alone);
	return !*reason;
}

int fb_cost_begin_share_gpu(struct fb_cost_context *context)
{
	name_path(context, "CUDA IPC", "file descriptor");
	return fb_cost_allocate(context);
}

void fb_cost_end_gpu(struct fb_cost_context *context)
{
	/* No neighbour is about to map it any more. */
	MPI_Barrier(context->world->comm);
	fb_cost_drop_memory(context);
}

/* --- NCCL ------------------------------------------------------------------------------------- */

static bool can_register(const struct fb_cost_context *context, enum fb_nccl_registration how,
			 char reason[FB_REASON_CHARS])
{
	const char *memory = context->gpu_memory == FB_GPU_VMM ? "vmm" : "device";

	snprintf(reason, FB_REASON_CHARS, "%s", context->gpu->no_nccl);
	return !*reason && fb_nccl_can_register(&context->gpu->nccl, how, memory, reason);
}

bool fb_cost_can_register_nccl(const struct fb_cost_context *context, char reason[FB_REASON_CHARS])
{
	return can_register(context, FB_NCCL_REGISTERED, reason);
}

bool fb_cost_can_window_nccl(const struct fb_cost_context *context, char reason[FB_REASON_CHARS])
{
	return can_register(context, FB_NCCL_WINDOW, reason);
}

/* With a plain communicator, which is made once. */
static int get_group(struct fb_cost_context *context, struct fb_nccl_group **group)
{
	const struct fb_nccl_need need = {
		.choice = {"library", "library"}, .registration = FB_NCCL_NONE,
		.channels = (int)context->settings->channels,
	};

	return fb_nccl_group_get(&context->gpu->groups, &context->gpu->nccl, context->world,
				 &need, group);
}

int fb_cost_begin_nccl(struct fb_cost_context *context)
{
	struct fb_nccl_group *group = NULL;
	char version[FB_NCCL_NAME_CHARS];
	int err = get_group(context, &group);

	if (err)
		return err;
	context->own = group;
	snprintf(context->path, sizeof(context->path), "NCCL %s",
		 fb_nccl_version_text(&context->gpu->nccl, version));
	return fb_cost_allocate(context);
}

int fb_cost_register_nccl(struct fb_cost_context *context)
{
	const struct fb_nccl *nccl = &context->gpu->nccl;
	const struct fb_nccl_group *group = context->own;
	void *handle = NULL;
	int code = nccl->CommRegister(group->comm, context->memory, (size_t)context->bytes,
				      &handle);

	if (code)
		return fb_nccl_error(nccl, group->comm, code, "CommRegister");
	return fb_nccl_error(nccl, group->comm, nccl->CommDeregister(group->comm, handle),
			     "CommDeregister");
}

int fb_cost_window_nccl(struct fb_cost_context *context)
{
	const struct fb_nccl *nccl = &context->gpu->nccl;
	const struct fb_nccl_group *group = context->own;
	void *window = NULL;
	int code = nccl->CommWindowRegister(group->comm, context->memory, (size_t)context->bytes,
					    &window, FB_NCCL_WINDOW_SYMMETRIC);

	if (code)
		return fb_nccl_error(nccl, group->comm, code, "CommWindowRegister");
	return fb_nccl_error(nccl, group->comm, nccl->CommWindowDeregister(group->comm, window),
			     "CommWindowDeregister");
}
