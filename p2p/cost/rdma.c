/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of making memory and peers known to an RDMA device: registrations, each made anew or
 * taken from the cache that the transports use, and queue pairs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/cuda/gpu_direct.h"
#include "common/transport/rdma.h"
#include "common/transport/rdma_memory.h"
#include "common/transport/rdma_queue.h"
#include "p2p/cost/cost.h"

#if FB_HAVE_VERBS

enum { COMPLETIONS = 4096, TAG = 0x7263 };

/* The devices of this rank, and what an action works on. */
struct site {
	struct fb_verbs verbs;
	struct fb_rdma_rail rails[FB_RDMA_RAILS];
	struct fb_rdma_cache cache;
	struct fb_rdma_completions completions;
	struct fb_rdma_queue *queues;		/* [nranks] */
	struct fb_rdma_address *own, *remote;	/* [nranks] */
	MPI_Request *requests;			/* [2 * nranks] */
	MPI_Status *statuses;
	int opened, nrails;
};

void fb_cost_end_rdma(struct fb_cost_context *context)
{
	struct site *s = context->own;

	if (!s)
		return;
	if (s->cache.rails)
		fb_rdma_cache_close(&s->cache);
	fb_rdma_completions_close(&s->completions);
	fb_rdma_rails_close(s->rails, s->opened);
	if (s->verbs.library)
		fb_verbs_close(&s->verbs);
	free(s->queues);
	free(s->own);
	free(s->remote);
	free(s->requests);
	free(s->statuses);
	free(s);
	context->own = NULL;
	fb_cost_drop_memory(context);
}

static int open_site(struct fb_cost_context *context)
{
	struct fb_rdma_settings chosen = context->settings->rdma;
	const struct fb_rdma_settings *settings = &chosen;
	struct site *s = calloc(1, sizeof(*s));
	char why[256] = "";
	int err = s ? FB_OK : FB_ENOMEM;

	context->own = s;
	if (context->on_gpu)
		chosen.near = context->gpu->gpu.bus_id;
	if (s)
		err = fb_verbs_open(&s->verbs, why, sizeof(why));
	if (s && !err)
		err = fb_rdma_rails_open(&s->verbs, settings, s->rails, &s->opened, why,
					 sizeof(why));
	if (err && err != FB_EUNSUPPORTED && context->world->rank == 0)
		fb_error(err, "%s", why);
	err = fb_group_agree(context->world, err);
	if (err || !s) {
		fb_cost_end_rdma(context);
		return err;
	}
	/* As in the transport: as many rails as the rank with the fewest. */
	s->nrails = s->opened;
	MPI_Allreduce(MPI_IN_PLACE, &s->nrails, 1, MPI_INT, MPI_MIN, context->world->comm);
	fb_rdma_cache_open(&s->cache, s->rails, s->nrails, fb_rdma_access(settings));
	fb_rdma_rails_text(s->rails, (1u << s->nrails) - 1, context->path, sizeof(context->path));
	if (context->on_gpu) {
		size_t used = strlen(context->path);

		snprintf(context->path + used, sizeof(context->path) - used, ", GPUDirect %s",
			 fb_rdma_how_names[context->gpu->dmabuf ? FB_RDMA_DMABUF
								: FB_RDMA_PEERMEM]);
	}
	return FB_OK;
}

static bool takes(void *arg, void *memory, size_t bytes, int fd, uint64_t offset, char *why,
		  size_t n)
{
	const struct site *s = arg;

	return fb_rdma_can_register_device(&s->cache, memory, bytes, fd, offset, why, n);
}

int fb_cost_survey_direct(struct fb_cost_gpu *gpu, const struct fb_session *session)
{
	struct fb_cost_context context = {.session = session, .world = session->world, .gpu = gpu,
					  .settings = session->settings, .on_gpu = true};
	const int asked = context.settings->gpu_direct;
	struct fb_gpu_direct_taker taker = {.takes = takes};
	unsigned own = 0, all;
	bool flush;
	int err = open_site(&context);

	if (err)
		return err;
	taker.arg = context.own;
	if (asked == FB_GPU_DIRECT_NO)
		snprintf(gpu->no_rdma, sizeof(gpu->no_rdma), "--gpu-direct no");
	else
		own = fb_gpu_direct_methods(&gpu->gpu, asked, &taker, &flush, gpu->no_rdma,
					    sizeof(gpu->no_rdma));
	all = fb_gpu_direct_agree(context.world, own, gpu->no_rdma, sizeof(gpu->no_rdma));
	gpu->dmabuf = all >> FB_GPU_DIRECT_DMABUF & 1;
	if (all)
		gpu->no_rdma[0] = '\0';
	fb_cost_end_rdma(&context);
	return FB_OK;
}

/* Like fb_rdma_register(), but each registration makes its dma-buf, as part of the cost. */
static int register_memory(struct fb_cost_context *context, const struct fb_rdma_region **region)
{
	struct site *s = context->own;
	size_t bytes = (size_t)context->bytes;
	char why[FB_REASON_CHARS];
	uint64_t offset = 0;
	int fd = -1, err;

	if (!context->on_gpu)
		return fb_rdma_register(&s->cache, context->memory, bytes, region);
	if (context->gpu->dmabuf &&
	    fb_gpu_direct_export(&context->gpu->gpu, context->memory, bytes, &fd, &offset, why,
				 sizeof(why)))
		return fb_error(FB_ESYS, "rdma: %zu bytes of GPU memory: %s", bytes, why);
	err = fb_rdma_register_device(&s->cache, context->memory, bytes, fd, offset, false,
				      region);
	if (fd >= 0)
		close(fd);
	return err;
}

int fb_cost_begin_register(struct fb_cost_context *context)
{
	int err = open_site(context);

	if (err)
		return err;
	/* Pages that exist: `map` is what they cost. */
	err = fb_group_agree(context->world, fb_cost_get_memory(context));
	if (err)
		fb_cost_end_rdma(context);
	return err;
}

int fb_cost_begin_cached(struct fb_cost_context *context)
{
	const struct fb_rdma_region *region;
	int err = fb_cost_begin_register(context);

	if (!err)
		err = fb_group_agree(context->world, register_memory(context, &region));
	if (err)
		fb_cost_end_rdma(context);
	return err;
}

int fb_cost_register(struct fb_cost_context *context)
{
	struct site *s = context->own;
	const struct fb_rdma_region *region;
	int err = register_memory(context, &region);

	if (!err)
		fb_rdma_forget(&s->cache, context->memory, (size_t)context->bytes);
	return err;
}

int fb_cost_look_up(struct fb_cost_context *context)
{
	struct site *s = context->own;
	const struct fb_rdma_region *region;
	uint64_t hits = s->cache.hits;
	int err = fb_rdma_register(&s->cache, context->memory, (size_t)context->bytes, &region);

	return !err && s->cache.hits != hits + 1 ? FB_EDATA : err;
}

int fb_cost_begin_queues(struct fb_cost_context *context)
{
	size_t n = (size_t)context->world->nranks;
	int err = open_site(context);
	struct site *s = context->own;

	if (err)
		return err;
	s->queues = calloc(n, sizeof(*s->queues));
	s->own = calloc(n, sizeof(*s->own));
	s->remote = calloc(n, sizeof(*s->remote));
	s->requests = calloc(2 * n, sizeof(*s->requests));
	/* MPICH's MPI_STATUSES_IGNORE upsets gcc. */
	s->statuses = calloc(2 * n, sizeof(*s->statuses));
	if (!s->queues || !s->own || !s->remote || !s->requests || !s->statuses)
		err = FB_ENOMEM;
	if (!err)
		err = fb_rdma_completions_open(&s->completions, &s->rails[0],
					       &context->settings->rdma, COMPLETIONS);
	s->completions.own_receives = true;
	err = fb_group_agree(context->world, err);
	if (err)
		fb_cost_end_rdma(context);
	return err;
}

/* Each rank's address of its queue to each other, as applications do it: through MPI. */
static void swap_addresses(const struct fb_cost_context *context, struct site *s)
{
	const struct fb_group *world = context->world;
	int bytes = (int)sizeof(*s->own), n = 0;

	for (int peer = 0; peer < world->nranks; peer++) {
		if (peer == world->rank)
			continue;
		MPI_Irecv(&s->remote[peer], bytes, MPI_BYTE, peer, TAG, world->comm,
			  &s->requests[n++]);
		MPI_Isend(&s->own[peer], bytes, MPI_BYTE, peer, TAG, world->comm,
			  &s->requests[n++]);
	}
	MPI_Waitall(n, s->requests, s->statuses);
}

int fb_cost_connect_queues(struct fb_cost_context *context)
{
	const struct fb_rdma_settings *settings = &context->settings->rdma;
	const struct fb_group *world = context->world;
	struct site *s = context->own;
	int err = FB_OK;

	for (int peer = 0; peer < world->nranks && !err; peer++) {
		if (peer == world->rank)
			continue;
		err = fb_rdma_queue_open(&s->completions, settings, 1, &s->queues[peer]);
		if (err)
			break;
		s->queues[peer].peer = peer;
		fb_rdma_queue_address(&s->queues[peer], &s->own[peer]);
	}
	if (!err)
		swap_addresses(context, s);
	for (int peer = 0; peer < world->nranks && !err; peer++)
		if (peer != world->rank)
			err = fb_rdma_queue_connect(&s->queues[peer], settings, &s->own[peer],
						    &s->remote[peer]);
	for (int peer = 0; peer < world->nranks; peer++)
		fb_rdma_queue_close(&s->queues[peer]);
	return err;
}

void fb_cost_fill_rdma(const struct fb_cost_context *context, double *extra)
{
	const struct site *s = context->own;
	uint64_t given_up = s->cache.misses - (uint64_t)s->cache.n;

	extra[FB_COST_HITS] = (double)s->cache.hits;
	extra[FB_COST_MISSES] = (double)s->cache.misses;
	if (s->cache.misses)
		extra[FB_COST_REGISTER_US] = s->cache.register_us / (double)s->cache.misses;
	if (given_up)
		extra[FB_COST_DEREGISTER_US] = s->cache.deregister_us / (double)given_up;
}

#else

/* Never called without verbs, because the survey reports no RDMA. */
int fb_cost_survey_direct(struct fb_cost_gpu *gpu, const struct fb_session *session)
{
	(void)gpu;
	(void)session;
	return FB_EUNSUPPORTED;
}

#endif

int fb_cost_survey(const struct fb_group *world, const struct fb_settings *settings, char *no_rdma,
		   size_t n, int *rails)
{
	struct fb_rdma_counts counts;
	struct fb_transport *transport = NULL;
	int err = fb_rdma_open(&transport, world, &settings->rdma, no_rdma, n);

	*rails = 0;
	if (transport) {
		fb_rdma_count(transport, &counts);
		*rails = counts.rails;
		transport->ops->close(transport);
		no_rdma[0] = '\0';
	}
	return err == FB_EUNSUPPORTED ? FB_OK : err;
}

bool fb_cost_can_rdma(const struct fb_cost_context *context, char reason[FB_REASON_CHARS])
{
	const char *why = context->no_rdma;

	if (!*why && context->on_gpu)
		why = context->gpu->no_rdma;
	snprintf(reason, FB_REASON_CHARS, "%s", why);
	return !*why;
}
