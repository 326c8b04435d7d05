/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators of NCCL. Creating one includes what a program has to do for it: to get the id, and
 * to pass it on by MPI. Calls go to one stream, one communicator after the other.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/communicator/nccl.h"
#include "common/base/error.h"

static int failed(const struct fb_life_context *c, fb_nccl_comm comm, int code, const char *name)
{
	return fb_nccl_error(c->nccl, comm, code, name);
}

/* Waits until a nonblocking communicator has finished its last request. */
static int settle(const struct fb_life_context *c, fb_nccl_comm comm, const char *name)
{
	int code = FB_NCCL_IN_PROGRESS, err = FB_OK;

	while (!err && code == FB_NCCL_IN_PROGRESS) {
		err = failed(c, comm, c->nccl->CommGetAsyncError(comm, &code),
			     "CommGetAsyncError");
		if (!err && code == FB_NCCL_IN_PROGRESS)
			err = fb_alive(c->session, name);
	}
	return err ? err : failed(c, comm, code, name);
}

/* Collective over the part's group: one communicator, by CommInitRank or with a configuration. */
static int init_one(struct fb_life_context *c, int part, fb_nccl_comm *comm, bool blocks)
{
	const struct fb_group *group = &c->part[part].group;
	struct fb_nccl_config config = fb_nccl_config_plain(c->nccl);
	struct fb_nccl_id id;
	int err = FB_OK;

	memset(&id, 0, sizeof(id));
	if (group->rank == 0)
		err = failed(c, NULL, c->nccl->GetUniqueId(&id), "GetUniqueId");
	MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, group->comm);
	if (err)
		return err;
	config.blocking = blocks;
	if (strcmp(c->life->operation, "init_config") && blocks)
		err = failed(c, NULL, c->nccl->CommInitRank(comm, group->nranks, id,
							    group->rank), "CommInitRank");
	else
		err = failed(c, NULL, c->nccl->CommInitRankConfig(comm, group->nranks, id,
								  group->rank, &config),
			     "CommInitRankConfig");
	return err || blocks ? err : settle(c, *comm, "CommInitRankConfig");
}

/* Every rank makes an id, and all ranks know all ids. */
static int init_scalable(struct fb_life_context *c, int part, fb_nccl_comm *comm)
{
	const struct fb_group *group = &c->part[part].group;
	struct fb_nccl_config config = fb_nccl_config_plain(c->nccl);
	struct fb_nccl_id id, *ids = calloc((size_t)group->nranks, sizeof(*ids));
	int err;

	memset(&id, 0, sizeof(id));
	if (!ids)
		return fb_error(FB_ENOMEM, "out of memory for ids");
	err = failed(c, NULL, c->nccl->GetUniqueId(&id), "GetUniqueId");
	MPI_Allgather(&id, sizeof(id), MPI_BYTE, ids, sizeof(id), MPI_BYTE, group->comm);
	if (!err)
		err = failed(c, NULL, c->nccl->CommInitRankScalable(comm, group->nranks,
			     group->rank, group->nranks, ids, &config), "CommInitRankScalable");
	free(ids);
	return err;
}

/* Splits the communicator of the world, which begin() has made. */
static int split(struct fb_life_context *c, int part, fb_nccl_comm *comm)
{
	const struct fb_life_nccl *own = c->own;
	const struct fb_group *group = &c->part[part].group;

	return failed(c, own->parent, c->nccl->CommSplit(own->parent, group->world_rank_of[0],
		      group->rank, comm, NULL), "CommSplit");
}

static int shrink(struct fb_life_context *c, int part, fb_nccl_comm *comm)
{
	const struct fb_life_nccl *own = c->own;
	int last = c->world->nranks - 1;

	(void)part;
	return failed(c, own->parent, c->nccl->CommShrink(own->parent, &last, 1, comm, NULL, 0),
		      "CommShrink");
}

/* The parent has all ranks but the last. Its first rank makes the id for the new rank. */
static int grow(struct fb_life_context *c, int part, fb_nccl_comm *comm)
{
	const struct fb_life_nccl *own = c->own;
	int nranks = c->world->nranks, rank = c->world->rank, err = FB_OK;
	bool fresh = rank == nranks - 1;
	struct fb_nccl_id id;

	(void)part;
	memset(&id, 0, sizeof(id));
	if (rank == 0)
		err = failed(c, own->parent, c->nccl->CommGetUniqueId(own->parent, &id),
			     "CommGetUniqueId");
	MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, c->world->comm);
	if (err)
		return err;
	return failed(c, own->parent, c->nccl->CommGrow(fresh ? NULL : own->parent, nranks,
		      fresh || rank == 0 ? &id : NULL, fresh ? rank : -1, comm, NULL),
		      "CommGrow");
}

static int make(struct fb_life_context *c, int part, fb_nccl_comm *comm)
{
	const char *name = c->life->operation;

	if (!strcmp(name, "split"))
		return split(c, part, comm);
	if (!strcmp(name, "shrink"))
		return shrink(c, part, comm);
	if (!strcmp(name, "grow"))
		return grow(c, part, comm);
	if (!strcmp(name, "init_scalable"))
		return init_scalable(c, part, comm);
	return init_one(c, part, comm, strcmp(name, "init_nonblocking") != 0);
}

/* Creates all communicators, while NCCL_ALGO and NCCL_PROTO say what is forced. */
int fb_life_nccl_create(struct fb_life_context *c)
{
	const struct fb_nccl_algo_proto choice =
		fb_nccl_algo_proto_named(c->key->algorithm, c->key->protocol);
	bool grouped = !strcmp(c->life->operation, "init_grouped");
	struct fb_life_nccl *own = c->own;
	struct fb_nccl_saved saved;
	int err = fb_nccl_force_begin(&choice, &saved);

	if (err)
		return err;
	if (grouped)
		err = failed(c, NULL, c->nccl->GroupStart(), "GroupStart");
	for (int k = 0; k < c->count; k++)
		for (int p = 0; p < c->parts && !err; p++)
			if (c->part[p].in)
				err = make(c, p, &own->comm[fb_life_index(c, k, p)]);
	if (grouped && !err)
		err = failed(c, NULL, c->nccl->GroupEnd(), "GroupEnd");
	fb_nccl_force_end(&saved);
	return err;
}

/* Ends a communicator by the life's call, which comes before CommDestroy or replaces it. */
static int end_one(struct fb_life_context *c, fb_nccl_comm comm)
{
	const char *name = c->life->operation;
	int err = FB_OK;

	if (!strcmp(name, "abort"))
		return failed(c, NULL, c->nccl->CommAbort(comm), "CommAbort");
	if (!strcmp(name, "revoke")) {
		err = failed(c, comm, c->nccl->CommRevoke(comm, 0), "CommRevoke");
		if (!err)
			err = settle(c, comm, "CommRevoke");
	}
	if (!strcmp(name, "finalize") || !strcmp(name, "init_nonblocking")) {
		err = failed(c, comm, c->nccl->CommFinalize(comm), "CommFinalize");
		if (!err)
			err = settle(c, comm, "CommFinalize");
	}
	return err ? err : failed(c, NULL, c->nccl->CommDestroy(comm), "CommDestroy");
}

int fb_life_nccl_destroy(struct fb_life_context *c)
{
	struct fb_life_nccl *own = c->own;
	int err = FB_OK;

	for (int i = 0; i < c->count * c->parts && !err; i++) {
		fb_nccl_comm comm = own->comm[i];

		own->comm[i] = NULL;
		if (comm)
			err = end_one(c, comm);
	}
	return err;
}

/* fb_gpu_enqueue_fn: an all_reduce on each communicator. */
static int enqueue_all(void *arg, void *stream)
{
	const struct fb_life_context *c = arg;
	const struct fb_life_nccl *own = c->own;
	int err = FB_OK;

	for (int k = 0; k < c->count; k++)
		for (int p = 0; p < c->parts && !err; p++) {
			const struct fb_life_part *part = &c->part[p];
			int rank = part->group.rank;
			fb_nccl_comm comm = own->comm[fb_life_index(c, k, p)];

			if (!part->in || !comm)
				continue;
			err = failed(c, comm, c->nccl->AllReduce(
				fb_operation_in(&part->op, rank),
				fb_operation_out(&part->op, rank), (size_t)part->op.count,
				fb_nccl_type(FB_F32), fb_nccl_op(FB_SUM), comm, stream),
				"AllReduce");
			if (!err && !strcmp(c->life->operation, "init_nonblocking"))
				err = settle(c, comm, "AllReduce");
		}
	return err;
}

int fb_life_nccl_call(struct fb_life_context *c)
{
	struct fb_life_nccl *own = c->own;
	int err = fb_gpu_stream_start(own->stream);

	return err ? err : fb_gpu_stream_wait(own->stream);
}

/* A rank that died ends the waiting for it. */
static int poll(void *arg)
{
	const struct fb_life_context *c = arg;
	const struct fb_life_nccl *own = c->own;
	int err = FB_OK;

	for (int i = 0; i < c->count * c->parts && !err; i++) {
		int code = FB_NCCL_SUCCESS, asked;

		if (!own->comm[i])
			continue;
		asked = c->nccl->CommGetAsyncError(own->comm[i], &code);
		err = failed(c, own->comm[i], asked ? asked : code, "CommGetAsyncError");
	}
	return err;
}

int fb_life_nccl_stream(struct fb_life_context *c, bool graph)
{
	struct fb_life_nccl *own = c->own;
	int err = fb_gpu_stream_open(&own->stream, c->gpu, graph, enqueue_all, c,
				     c->session);

	if (!err)
		fb_gpu_stream_watch(own->stream, poll, c);
	return err;
}

/* Makes the parent: of the world for split and shrink, of all ranks but the last for grow. */
static int make_parent(struct fb_life_context *c)
{
	struct fb_life_nccl *own = c->own;
	const char *name = c->life->operation;
	bool grows = !strcmp(name, "grow");
	struct fb_nccl_config config = fb_nccl_config_plain(c->nccl);
	int nranks = c->world->nranks - grows, err = FB_OK;
	struct fb_nccl_id id;

	if (!grows && strcmp(name, "split") && strcmp(name, "shrink"))
		return FB_OK;
	memset(&id, 0, sizeof(id));
	if (c->world->rank == 0)
		err = failed(c, NULL, c->nccl->GetUniqueId(&id), "GetUniqueId");
	MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, c->world->comm);
	if (!err && c->world->rank < nranks)
		err = failed(c, NULL, fb_nccl_init_rank(c->nccl, &own->parent, nranks,
				     id, c->world->rank, &config), "CommInitRank");
	return err;
}

int fb_life_nccl_begin(struct fb_life_context *c)
{
	struct fb_life_nccl *own = calloc(1, sizeof(*own));
	char version[FB_NCCL_NAME_CHARS];
	size_t n = (size_t)c->count * (size_t)c->parts;
	int err = FB_OK;

	c->own = own;
	if (own) {
		own->comm = calloc(n, sizeof(*own->comm));
		own->handle = calloc(n * FB_LIFE_BLOCKS, sizeof(*own->handle));
		own->block = calloc(n * FB_LIFE_BLOCKS, sizeof(*own->block));
	}
	if (!own || !own->comm || !own->handle || !own->block)
		err = fb_error(FB_ENOMEM, "out of memory for %d communicators", c->count);
	err = fb_group_agree(c->world, err);
	if (!err)
		err = fb_life_nccl_stream(c, false);
	if (!err)
		err = make_parent(c);
	snprintf(c->path, sizeof(c->path), "NCCL %s, %s",
		 fb_nccl_version_text(c->nccl, version), c->life->help);
	return err;
}

void fb_life_nccl_end(struct fb_life_context *c)
{
	struct fb_life_nccl *own = c->own;

	if (!own)
		return;
	fb_gpu_stream_close(own->stream);
	for (int i = 0; own->comm && i < c->count * c->parts; i++)
		if (own->comm[i])
			(void)c->nccl->CommDestroy(own->comm[i]);
	if (own->parent)
		(void)c->nccl->CommDestroy(own->parent);
	free(own->block);
	free(own->handle);
	free(own->comm);
	free(own);
}
