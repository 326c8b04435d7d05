/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators of the MPI library. */
#include <stdlib.h>

#include "collectives/communicator/life.h"
#include "common/base/error.h"

struct own {
	MPI_Comm *comm; /* [count * parts] */
	MPI_Group group[FB_LIFE_PARTS];
};

/* Makes one; `part` is that of `key`. */
typedef int (*make_fn)(struct fb_life_context *c, int part, MPI_Comm *comm);

static int begin(struct fb_life_context *c)
{
	struct own *own = calloc(1, sizeof(*own));

	c->own = own;
	if (own)
		own->comm = calloc((size_t)c->count * (size_t)c->parts, sizeof(*own->comm));
	if (!own || !own->comm)
		return fb_error(FB_ENOMEM, "out of memory for %d communicators", c->count);
	for (int i = 0; i < c->count * c->parts; i++)
		own->comm[i] = MPI_COMM_NULL;
	for (int p = 0; p < c->parts; p++)
		MPI_Comm_group(c->part[p].group.comm, &own->group[p]);
	snprintf(c->path, sizeof(c->path), "%s", c->world->library);
	return FB_OK;
}

static int destroy(struct fb_life_context *c)
{
	struct own *own = c->own;

	for (int i = 0; i < c->count * c->parts; i++)
		if (own->comm[i] != MPI_COMM_NULL)
			MPI_Comm_free(&own->comm[i]);
	return FB_OK;
}

static void end(struct fb_life_context *c)
{
	struct own *own = c->own;

	if (own && own->comm) {
		(void)destroy(c);
		for (int p = 0; p < c->parts; p++)
			MPI_Group_free(&own->group[p]);
	}
	if (own)
		free(own->comm);
	free(own);
}

static int create(struct fb_life_context *c, make_fn make)
{
	struct own *own = c->own;
	int code = MPI_SUCCESS;

	for (int k = 0; k < c->count; k++)
		for (int p = 0; p < c->parts && code == MPI_SUCCESS; p++)
			code = make(c, p, &own->comm[fb_life_index(c, k, p)]);
	return code == MPI_SUCCESS ? FB_OK : fb_error(FB_EMPI, "MPI made no communicator");
}

static int make_dup(struct fb_life_context *c, int part, MPI_Comm *comm)
{
	return MPI_Comm_dup(c->part[part].group.comm, comm);
}

/* Out of the world, each group by its lowest rank as the colour. */
static int make_split(struct fb_life_context *c, int part, MPI_Comm *comm)
{
	const struct fb_group *group = &c->part[part].group;

	return MPI_Comm_split(c->world->comm, group->world_rank_of[0], group->rank, comm);
}

/* Only the members take part in it. */
static int make_from_group(struct fb_life_context *c, int part, MPI_Comm *comm)
{
	const struct own *own = c->own;

	return MPI_Comm_create_group(c->world->comm, own->group[part], part, comm);
}

static int create_dup(struct fb_life_context *c)
{
	return create(c, make_dup);
}

static int create_split(struct fb_life_context *c)
{
	return create(c, make_split);
}

static int create_from_group(struct fb_life_context *c)
{
	return create(c, make_from_group);
}

static int begin_reused(struct fb_life_context *c)
{
	int err = begin(c);

	return err ? err : create_dup(c);
}

static int call(struct fb_life_context *c)
{
	struct own *own = c->own;
	int code = MPI_SUCCESS;

	for (int k = 0; k < c->count; k++)
		for (int p = 0; p < c->parts && code == MPI_SUCCESS; p++) {
			const struct fb_life_part *part = &c->part[p];
			int rank = part->group.rank;

			code = MPI_Allreduce(fb_operation_in(&part->op, rank),
					     fb_operation_out(&part->op, rank),
					     (int)part->op.count, MPI_FLOAT, MPI_SUM,
					     own->comm[fb_life_index(c, k, p)]);
		}
	return code == MPI_SUCCESS ? FB_OK : fb_error(FB_EMPI, "MPI_Allreduce failed");
}

const struct fb_life fb_lives_mpi[] = {
	{.engine = "mpi", .operation = "dup", .grid = true, .anew = true, .begin = begin,
	 .end = end, .create = create_dup, .call = call, .destroy = destroy,
	 .help = "MPI_Comm_dup"},
	{.engine = "mpi", .operation = "split", .grid = true, .anew = true, .begin = begin,
	 .end = end, .create = create_split, .call = call, .destroy = destroy,
	 .help = "MPI_Comm_split"},
	{.engine = "mpi", .operation = "create_group", .grid = true, .anew = true, .begin = begin,
	 .end = end, .create = create_from_group, .call = call, .destroy = destroy,
	 .help = "MPI_Comm_create_group"},
	{.engine = "mpi", .operation = "reuse", .grid = true, .begin = begin_reused, .end = end,
	 .call = call, .help = "made once: only the call"},
	{.operation = NULL},
};
