/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of lives of NCCL's communicators, and those in which the communicators are kept: only
 * called, or with buffers registered, graphs captured or memory released in each repetition.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/communicator/nccl.h"
#include "common/base/error.h"

enum { LEAST_BLOCK = 64 << 10, MOST_BLOCK = 8 << 20 };

static int register_one(struct fb_life_context *c, fb_nccl_comm comm, void **handle, void *from,
			size_t bytes)
{
	if (!strcmp(c->key->registration, "window"))
		return fb_nccl_error(c->nccl, comm,
				     c->nccl->CommWindowRegister(comm, from, bytes, handle,
								 FB_NCCL_WINDOW_SYMMETRIC),
				     "CommWindowRegister");
	return fb_nccl_error(c->nccl, comm, c->nccl->CommRegister(comm, from, bytes, handle),
			     "CommRegister");
}

static int deregister_one(struct fb_life_context *c, fb_nccl_comm comm, void **at)
{
	bool window = !strcmp(c->key->registration, "window");
	void *handle = *at;

	*at = NULL;
	if (!handle)
		return FB_OK;
	return fb_nccl_error(c->nccl, comm,
			     window ? c->nccl->CommWindowDeregister(comm, handle)
				    : c->nccl->CommDeregister(comm, handle),
			     "CommDeregister");
}

/* The whole part of the segment with each communicator, as an application does with a pool. */
static int register_all(struct fb_life_context *c)
{
	struct fb_life_nccl *own = c->own;
	size_t skipped = c->shifted ? FB_NCCL_WINDOW_ALIGNMENT : 0;
	bool registers = strcmp(c->key->registration, "none") && !c->unregistered;
	int err = FB_OK;

	for (int k = 0; k < c->count && registers; k++)
		for (int p = 0; p < c->parts && !err; p++) {
			const struct fb_life_part *part = &c->part[p];
			char *from = fb_segment_part(&part->segment, part->group.rank);
			int i = fb_life_index(c, k, p);

			err = register_one(c, own->comm[i], &own->handle[i], from + skipped,
					   part->segment.part_bytes - skipped);
		}
	return err;
}

static int deregister_all(struct fb_life_context *c)
{
	struct fb_life_nccl *own = c->own;
	int err = FB_OK;

	for (int i = 0; i < c->count * c->parts && !err; i++)
		err = deregister_one(c, own->comm[i], &own->handle[i]);
	return err;
}

static int begin_kept(struct fb_life_context *c)
{
	int err = fb_life_nccl_begin(c);

	return err ? err : fb_life_nccl_create(c);
}

/* Registered once, where the case says so. */
static int begin_reused(struct fb_life_context *c)
{
	int err = begin_kept(c);

	return err ? err : register_all(c);
}

static void end_kept(struct fb_life_context *c)
{
	const struct fb_life_nccl *own = c->own;

	if (own && own->handle && own->comm)
		(void)deregister_all(c);
	fb_life_nccl_end(c);
}

/* --- graphs -------------------------------------------------------------------------------- */

/* The plain stream of begin() is in the way. */
static int begin_capture(struct fb_life_context *c)
{
	struct fb_life_nccl *own;
	int err = begin_kept(c);

	if (err)
		return err;
	/* Connected, so that a capture is nothing but that. */
	err = fb_life_nccl_call(c);
	own = c->own;
	fb_gpu_stream_close(own->stream);
	own->stream = NULL;
	return err;
}

static int capture(struct fb_life_context *c)
{
	int err = fb_life_nccl_stream(c, true);

	return err ? err : fb_gpu_stream_ready(((struct fb_life_nccl *)c->own)->stream, 1);
}

static int replay(struct fb_life_context *c)
{
	return fb_gpu_stream_run(((struct fb_life_nccl *)c->own)->stream, 1);
}

static int drop_graph(struct fb_life_context *c)
{
	struct fb_life_nccl *own = c->own;

	fb_gpu_stream_close(own->stream);
	own->stream = NULL;
	return FB_OK;
}

/* --- memory given back ---------------------------------------------------------------------- */

static int suspend(struct fb_life_context *c)
{
	const struct fb_life_nccl *own = c->own;
	int err = FB_OK;

	for (int i = 0; i < c->count * c->parts && !err; i++)
		err = fb_nccl_error(c->nccl, own->comm[i],
				    c->nccl->CommSuspend(own->comm[i], FB_NCCL_SUSPEND_MEMORY),
				    "CommSuspend");
	return err;
}

static int resume(struct fb_life_context *c)
{
	const struct fb_life_nccl *own = c->own;
	int err = FB_OK;

	for (int i = 0; i < c->count * c->parts && !err; i++)
		err = fb_nccl_error(c->nccl, own->comm[i], c->nccl->CommResume(own->comm[i]),
				    "CommResume");
	return err;
}

/* Makes the state that a repetition starts from: a suspended communicator. */
static int begin_suspended(struct fb_life_context *c)
{
	int err = begin_kept(c);

	if (!err)
		err = fb_life_nccl_call(c);
	return err ? err : suspend(c);
}

static void end_suspended(struct fb_life_context *c)
{
	const struct fb_life_nccl *own = c->own;

	if (own && own->comm && own->comm[0])
		(void)resume(c);
	fb_life_nccl_end(c);
}

/* --- fragmentation over time ---------------------------------------------------------------- */

/* The same numbers on all ranks. */
static unsigned long long next_random(struct fb_life_nccl *own)
{
	own->random = own->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return own->random >> 33;
}

/* Where there is no block: one of a random size, registered. */
static int fill_blocks(struct fb_life_context *c)
{
	struct fb_life_nccl *own = c->own;
	int err = FB_OK;

	for (int i = 0; i < c->count * c->parts * FB_LIFE_BLOCKS && !err; i++) {
		size_t bytes = LEAST_BLOCK + next_random(own) % (MOST_BLOCK - LEAST_BLOCK);

		if (own->block[i])
			continue;
		err = fb_nccl_error(c->nccl, NULL, c->nccl->MemAlloc(&own->block[i], bytes),
				    "MemAlloc");
		if (!err)
			err = register_one(c, own->comm[i / FB_LIFE_BLOCKS], &own->handle[i],
					   own->block[i], bytes);
	}
	return err;
}

static int free_block(struct fb_life_context *c, int i)
{
	struct fb_life_nccl *own = c->own;
	void *block = own->block[i];
	int err = deregister_one(c, own->comm[i / FB_LIFE_BLOCKS], &own->handle[i]);

	own->block[i] = NULL;
	if (err || !block)
		return err;
	return fb_nccl_error(c->nccl, NULL, c->nccl->MemFree(block), "MemFree");
}

/* One of each two: all repetitions register equally many, and blocks live for random times. */
static int free_half(struct fb_life_context *c)
{
	struct fb_life_nccl *own = c->own;
	int err = FB_OK;

	for (int i = 0; i < c->count * c->parts * FB_LIFE_BLOCKS && !err; i += 2)
		err = free_block(c, i + (int)(next_random(own) & 1));
	return err;
}

static void end_fragment(struct fb_life_context *c)
{
	const struct fb_life_nccl *own = c->own;
	int n = c->count * c->parts * FB_LIFE_BLOCKS;

	for (int i = 0; own && own->block && own->comm && own->handle && i < n; i++)
		(void)free_block(c, i);
	fb_life_nccl_end(c);
}

#define HAS(member) { offsetof(struct fb_nccl, member), offsetof(struct fb_nccl, member) }
#define BOTH(a, b) { offsetof(struct fb_nccl, a), offsetof(struct fb_nccl, b) }
#define WHOLE                                                                                      \
	.engine = "nccl", .anew = true, .begin = fb_life_nccl_begin, .end = fb_life_nccl_end,      \
	.create = fb_life_nccl_create, .call = fb_life_nccl_call, .destroy = fb_life_nccl_destroy
#define NEEDS(members, name, version) .needs = members, .named = "nccl" name, .since = (version)

const struct fb_life fb_lives_nccl[] = {
	{WHOLE, .operation = "init", .grid = true, .help = "ncclCommInitRank"},
	{WHOLE, .operation = "init_config", .grid = true, .help = "ncclCommInitRankConfig",
	 NEEDS(HAS(CommInitRankConfig), "CommInitRankConfig", "2.14")},
	{WHOLE, .operation = "init_nonblocking", .help = "ncclCommInitRankConfig, not blocking",
	 NEEDS(BOTH(CommInitRankConfig, CommFinalize), "CommFinalize", "2.14")},
	{WHOLE, .operation = "init_grouped", .help = "all ncclCommInitRank in a group"},
	{WHOLE, .operation = "init_scalable", .help = "ncclCommInitRankScalable, an id per rank",
	 NEEDS(HAS(CommInitRankScalable), "CommInitRankScalable", "2.23")},
	{WHOLE, .operation = "finalize", .help = "ncclCommFinalize before ncclCommDestroy",
	 NEEDS(HAS(CommFinalize), "CommFinalize", "2.14")},
	{WHOLE, .operation = "abort", .help = "ncclCommAbort for ncclCommDestroy"},
	{WHOLE, .operation = "revoke", .help = "ncclCommRevoke before ncclCommDestroy",
	 NEEDS(HAS(CommRevoke), "CommRevoke", "2.28.7")},
	{WHOLE, .operation = "split", .grid = true, .help = "ncclCommSplit",
	 NEEDS(HAS(CommSplit), "CommSplit", "2.18")},
	{WHOLE, .operation = "shrink", .members = FB_LIFE_SHRUNK, .help = "ncclCommShrink",
	 NEEDS(HAS(CommShrink), "CommShrink", "2.27")},
	{WHOLE, .operation = "grow", .members = FB_LIFE_GROWN, .help = "ncclCommGrow",
	 NEEDS(BOTH(CommGrow, CommGetUniqueId), "CommGrow", "2.29")},
	{.engine = "nccl", .operation = "reuse", .grid = true, .registers = true,
	 .begin = begin_reused, .end = end_kept, .call = fb_life_nccl_call,
	 .help = "made once: only the call"},
	{.engine = "nccl", .operation = "register", .registers = true, .begin = begin_kept,
	 .end = end_kept, .create = register_all, .call = fb_life_nccl_call,
	 .destroy = deregister_all, .help = "made once, registered each time"},
	{.engine = "nccl", .operation = "capture", .begin = begin_capture, .end = end_kept,
	 .create = capture, .call = replay, .destroy = drop_graph,
	 .help = "made once, captured and instantiated each time"},
	{.engine = "nccl", .operation = "suspend", .begin = begin_suspended,
	 .end = end_suspended, .create = resume, .call = fb_life_nccl_call, .destroy = suspend,
	 .help = "ncclCommResume and ncclCommSuspend",
	 NEEDS(BOTH(CommSuspend, CommResume), "CommSuspend", "2.29.7")},
	{.engine = "nccl", .operation = "fragment", .keeps = true, .begin = begin_kept,
	 .end = end_fragment, .create = fill_blocks, .call = fb_life_nccl_call,
	 .destroy = free_half,
	 .help = "made once, blocks of random sizes registered and freed",
	 NEEDS(BOTH(MemAlloc, CommRegister), "MemAlloc", "2.19")},
	{.operation = NULL},
};
