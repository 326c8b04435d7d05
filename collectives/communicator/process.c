/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators of NCCL where each process has several GPUs (engine nccl-process). A communicator
 * is of all GPUs of all processes. Those of a case share a stream on each GPU.
 */
#include <stdlib.h>

#include "collectives/communicator/life.h"
#include "collectives/engine/nccl/process.h"
#include "collectives/engine/nccl/team_calls.h"
#include "common/base/error.h"

struct own;

/* One GPU of this process. */
struct member {
	const struct fb_life_context *context;
	struct own *own;
	int number;
};

struct own {
	struct fb_nccl_team *team;
	struct fb_nccl_team_calls calls; /* first ones: on all communicators of a GPU */
	int gpus;
	fb_nccl_comm *comm;    /* [count * gpus] */
	struct member *member; /* [gpus] */
};

/* fb_gpu_enqueue_fn: an all_reduce on each communicator. */
static int enqueue(void *arg, void *stream)
{
	const struct member *m = arg;
	const struct fb_life_context *c = m->context;
	const struct fb_operation *op = &c->part[0].op;
	int rank = c->part[0].group.rank * m->own->gpus + m->number, err = FB_OK;

	for (int k = 0; k < c->count && !err; k++) {
		fb_nccl_comm comm = m->own->comm[k * m->own->gpus + m->number];

		if (!comm)
			continue;
		err = fb_nccl_error(c->nccl, comm,
				    c->nccl->AllReduce(fb_operation_in(op, rank),
						       fb_operation_out(op, rank),
						       (size_t)op->count, fb_nccl_type(FB_F32),
						       fb_nccl_op(FB_SUM), comm, stream),
				    "AllReduce");
	}
	return err;
}

static int open_member(void *arg, int number)
{
	const struct fb_life_context *c = arg;
	struct own *own = c->own;
	struct member *m = &own->member[number];

	*m = (struct member){.context = c, .own = own, .number = number};
	return fb_gpu_stream_open(&own->calls.stream[number], fb_nccl_team_gpu(own->team, number),
				  false, enqueue, m, c->session);
}

static int close_member(void *arg, int number)
{
	const struct own *own = ((const struct fb_life_context *)arg)->own;

	fb_gpu_stream_close(own->calls.stream[number]);
	return FB_OK;
}

static int begin(struct fb_life_context *c)
{
	struct own *own = calloc(1, sizeof(*own));
	char version[FB_NCCL_NAME_CHARS];
	int err = FB_ENOMEM;

	c->own = own;
	if (own) {
		own->team = fb_nccl_process_team(c->part[0].engine.engine);
		own->gpus = c->part[0].data.nranks / c->part[0].group.nranks;
		own->calls = (struct fb_nccl_team_calls){
			.team = own->team, .nccl = c->nccl, .gpus = own->gpus,
			.way = fb_nccl_method_of(c->life->operation),
			.stream = calloc((size_t)own->gpus, sizeof(struct fb_gpu_stream *))};
		own->comm = calloc((size_t)c->count * (size_t)own->gpus, sizeof(*own->comm));
		own->member = calloc((size_t)own->gpus, sizeof(*own->member));
		err = own->comm && own->member && own->calls.stream ? FB_OK : FB_ENOMEM;
	}
	if (err)
		return fb_error(err, "out of memory for %d communicators", c->count);
	snprintf(c->path, sizeof(c->path), "NCCL %s, %d GPUs a process, %s",
		 fb_nccl_version_text(c->nccl, version), own->gpus, c->life->help);
	return fb_nccl_team_each(own->team, false, open_member, c);
}

static int create(struct fb_life_context *c)
{
	struct own *own = c->own;
	int err = FB_OK;

	for (int k = 0; k < c->count && !err; k++)
		err = fb_nccl_team_init(own->team, c->nccl, own->calls.way,
					&own->comm[k * own->gpus]);
	return err;
}

static int call(struct fb_life_context *c)
{
	return fb_nccl_team_run(&((struct own *)c->own)->calls, 1);
}

static int destroy(struct fb_life_context *c)
{
	struct own *own = c->own;
	int err = FB_OK;

	for (int k = 0; k < c->count && !err; k++)
		err = fb_nccl_team_destroy(own->team, c->nccl, &own->comm[k * own->gpus]);
	return err;
}

static void end(struct fb_life_context *c)
{
	struct own *own = c->own;

	if (!own)
		return;
	if (own->comm && own->member && own->calls.stream) {
		(void)fb_nccl_team_each(own->team, false, close_member, c);
		(void)destroy(c);
	}
	free(own->calls.stream);
	free(own->member);
	free(own->comm);
	free(own);
}

#define WHOLE                                                                                      \
	.engine = "nccl-process", .anew = true, .begin = begin, .end = end, .create = create,      \
	.call = call, .destroy = destroy

const struct fb_life fb_lives_nccl_process[] = {
	{WHOLE, .operation = "init_all", .help = "ncclCommInitAll"},
	{WHOLE, .operation = "threads", .help = "ncclCommInitRank by a thread for each"},
	{WHOLE, .operation = "group", .help = "ncclCommInitRank in a group"},
	{.operation = NULL},
};
