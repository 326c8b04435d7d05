/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of a process's GPUs; see team_calls.h.
 *
 * One thread captures as nccl-tests does (src/common.cu, -G): all streams capture at once, the
 * groups of calls are between, and each GPU has a graph of its own. It replays them by turns,
 * because a GPU waits within a call for the others, whose graphs this thread has yet to launch.
 */
#include "collectives/engine/nccl/team_calls.h"

#include "common/base/error.h"

static int ready_one(void *calls, int member)
{
	struct fb_nccl_team_calls *c = calls;

	return fb_gpu_stream_ready(c->stream[member], c->calls);
}

static int run_one(void *calls, int member)
{
	struct fb_nccl_team_calls *c = calls;

	return fb_gpu_stream_run(c->stream[member], c->calls);
}

/* A call of all GPUs. NCCL launches none of them before the group ends. */
static int start_group(struct fb_nccl_team_calls *c)
{
	int err = fb_nccl_error(c->nccl, NULL, c->nccl->GroupStart(), "GroupStart"), end;

	if (err)
		return err;
	for (int i = 0; i < c->gpus && !err; i++)
		err = fb_gpu_stream_start(c->stream[i]);
	end = fb_nccl_error(c->nccl, NULL, c->nccl->GroupEnd(), "GroupEnd");
	return err ? err : end;
}

/* --- graphs ----------------------------------------------------------------------------------- */

/* State that is the same for all GPUs, because their streams have made the same calls. */
struct graphs {
	struct fb_nccl_team_calls *calls;
	int captured, err;
};

static int begin_capture(void *graphs, int member)
{
	struct graphs *g = graphs;

	return fb_gpu_stream_capture_begin(g->calls->stream[member], g->calls->calls,
					   &g->captured);
}

static int end_capture(void *graphs, int member)
{
	struct graphs *g = graphs;
	int err = fb_gpu_stream_capture_end(g->calls->stream[member]);

	/* The other members have to end their calls as well. */
	g->err = g->err ? g->err : err;
	return FB_OK;
}

static int instantiate(void *graphs, int member)
{
	struct graphs *g = graphs;
	int err = fb_gpu_stream_instantiate(g->calls->stream[member], g->captured, g->err);

	/* The others have to free their graphs. */
	g->err = g->err ? g->err : err;
	return FB_OK;
}

/* A graph on each GPU, if the batch has that many calls left. */
static int replay(struct fb_nccl_team_calls *c, int *replayed)
{
	int err = FB_OK;

	for (int i = 0; i < c->gpus && !err; i++)
		err = fb_gpu_stream_replay(c->stream[i], c->calls, replayed);
	return err;
}

int fb_nccl_team_ready(struct fb_nccl_team_calls *c, int calls)
{
	struct graphs g = {.calls = c};
	int err;

	c->calls = calls;
	if (c->way == FB_NCCL_THREADS)
		return fb_nccl_team_each(c->team, true, ready_one, c);
	g.err = fb_nccl_team_each(c->team, false, begin_capture, &g);
	for (int call = 0; call < g.captured && !g.err; call++)
		g.err = start_group(c);
	err = g.captured ? fb_nccl_team_each(c->team, false, end_capture, &g) : FB_OK;
	if (g.captured && !err)
		err = fb_nccl_team_each(c->team, false, instantiate, &g);
	return g.err ? g.err : err;
}

int fb_nccl_team_run(struct fb_nccl_team_calls *c, int calls)
{
	int replayed = 0, err = FB_OK;

	c->calls = calls;
	if (c->way == FB_NCCL_THREADS)
		return fb_nccl_team_each(c->team, true, run_one, c);
	do {
		err = replay(c, &replayed);
		c->calls -= replayed;
	} while (!err && replayed);
	for (; c->calls > 0 && !err; c->calls--)
		err = start_group(c);
	for (int i = 0; i < c->gpus && !err; i++)
		err = fb_gpu_stream_wait(c->stream[i]);
	return err;
}
