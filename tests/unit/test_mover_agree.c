/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions of a rank that could make its part, where another rank could not. fb_region_new() does
 * not call ops->remove, which may be collective, before all ranks have a region; and mover rdma
 * forgets the memory that it has registered, as later memory may be at the same place.
 */
#include "common/base/error.h"
#include "common/mover/rdma.h"
#include "tests/unit/check.h"

static int others; /* the worst of the other ranks' errors */
static int opened, removed;

/* In place of MPI's: of this rank and the others, the worst. */
int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
		  MPI_Comm comm)
{
	int own = *(const int *)from;

	(void)count, (void)type, (void)op, (void)comm;
	*(int *)to = own < others ? own : others;
	return MPI_SUCCESS;
}

static int open_part(struct fb_region *region)
{
	(void)region;
	opened++;
	return FB_OK;
}

static void remove_part(struct fb_region *region)
{
	removed++;
	fb_region_remove(region);
}

static void check_new(void)
{
	static const struct fb_mover_ops ops = {.name = "test", .remove = remove_part};
	const struct fb_group group = {.nranks = 2};
	struct fb_mover mover = {.ops = &ops, .group = &group};
	struct fb_region *region = NULL;

	others = FB_ENOMEM;
	CHECK_INT(fb_region_new(&mover, NULL, sizeof(*region), open_part, &region), FB_ENOMEM);
	CHECK_INT(opened, 0);
	CHECK_INT(removed, 0);
	others = FB_OK;
	CHECK_INT(fb_region_new(&mover, NULL, sizeof(*region), open_part, &region), FB_OK);
	CHECK_INT(opened, 1);
	fb_region_remove(region);
}

#if FB_HAVE_VERBS

static int registered;

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *at, size_t bytes, uint64_t iova,
			     unsigned access)
{
	static struct ibv_mr mr;

	(void)pd, (void)at, (void)bytes, (void)iova, (void)access;
	registered++;
	return &mr;
}

static int dereg_mr(struct ibv_mr *mr)
{
	(void)mr;
	registered--;
	return 0;
}

static void check_registered(void)
{
	static char part[4096];
	static int part_of[] = {0, -1};
	const struct fb_verbs verbs = {.reg_mr_iova2 = reg_mr, .dereg_mr = dereg_mr};
	const struct fb_group group = {.nranks = 2};
	const struct fb_segment segment = {.base = part, .part_bytes = sizeof(part), .nparts = 1,
					   .part_of = part_of};
	struct fb_rdma_rail rail = {.verbs = &verbs};
	struct fb_rdma_mover m = {.mover = {.ops = &fb_mover_rdma, .group = &group}, .rails = 1};
	struct fb_region *region = NULL;

	fb_rdma_cache_open(&m.cache, &rail, 1, 0);
	others = FB_ESYS;
	CHECK_INT(fb_mover_rdma.add(&m.mover, &segment, &region), FB_ESYS);
	CHECK_INT(registered, 0);
	CHECK(!fb_rdma_find(&m.cache, part, sizeof(part)));
	fb_rdma_cache_close(&m.cache);
}

#else

static void check_registered(void)
{
}

#endif

int main(void)
{
	check_new();
	check_registered();
	return check_done("mover_agree");
}
