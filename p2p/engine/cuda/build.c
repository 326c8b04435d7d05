/* SPDX-License-Identifier: BSD-3-Clause */
/* Launches of engine cuda; see build.h. */
#include "p2p/engine/cuda/build.h"

enum {
	THREADS = 512,
	/* A get reaches the rate of 18 NVLinks with BLOCKS blocks; a put gains from more blocks. */
	BLOCKS = 32,
	BLOCK_BYTES = 32 << 10, /* one block for each piece of this size, up to BLOCKS; */
	MORE_BYTES = 128 << 10, /* more blocks only if each has this many bytes */
	WARP_BYTES = 512,           /* messages up to here are moved by warps, */
	TEAM_BYTES = 64 << 10,      /* and up to here by blocks */
};

_Static_assert(FB_P2P_LINKS_COUNTERS + FB_P2P_MOST_FLOWS * 8 * FB_P2P_MOST_BLOCKS <=
		       FB_P2P_LINKS_LINES, "counters of all flows fit");
_Static_assert(FB_P2P_LINKS_LINES + 2 * FB_P2P_LL_BYTES <= FB_P2P_LINKS_NEAR,
	       "lines of the longest message fit");
_Static_assert(FB_P2P_LINKS_NEAR + FB_P2P_NEAR_PAGES * FB_P2P_PAGE <= FB_P2P_LINKS_BYTES,
	       "pages to choose from fit");
_Static_assert(8 * FB_P2P_MOST_BLOCKS <= FB_P2P_PAGE, "counters of a flow fit in a page");
_Static_assert(FB_P2P_LINKS_TIMES + 8 * FB_P2P_TIMES <= FB_P2P_LINKS_COUNTERS, "times fit");

static uint32_t choose_blocks(const struct fb_p2p_limits *limits, uint64_t bytes)
{
	uint64_t blocks = (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES, most = (uint64_t)limits->sms;

	blocks = blocks > BLOCKS ? BLOCKS : blocks;
	if ((bytes + MORE_BYTES - 1) / MORE_BYTES > blocks)
		blocks = (bytes + MORE_BYTES - 1) / MORE_BYTES;
	if (limits->channels)
		blocks = limits->channels;
	most = most > FB_P2P_MOST_BLOCKS ? FB_P2P_MOST_BLOCKS : most;
	return (uint32_t)(blocks > most ? most : blocks);
}

/* Whole warps for so many pieces of work. */
static uint32_t choose_threads(const struct fb_p2p_limits *limits, uint64_t pieces)
{
	uint64_t threads = (pieces + 31) / 32 * 32;

	if (limits->threads)
		return (uint32_t)limits->threads;
	return threads > THREADS ? THREADS : (uint32_t)threads;
}

void fb_p2p_choose_shape(const struct fb_p2p_view *view, const struct fb_p2p_limits *limits,
			 struct fb_p2p_shape *shape)
{
	const struct fb_job *job = view->job;
	uint64_t bytes = job->bytes;

	if (job->pattern != FB_PING_PONG) {
		shape->movers = choose_blocks(limits, bytes * (uint64_t)job->window);
		shape->threads = choose_threads(limits, THREADS);
	} else {
		/* Lines of ll are 8 bytes of data each; a block polls them all. */
		shape->movers = view->ll ? 1 : choose_blocks(limits, bytes);
		shape->threads = choose_threads(limits, (bytes + (view->ll ? 7 : 15)) /
								(view->ll ? 8 : 16));
	}
	shape->blocks = shape->movers;
}

static uint64_t number(const void *address)
{
	return (uint64_t)(uintptr_t)address;
}

static uint64_t links_of(const struct fb_p2p_view *view, int rank)
{
	return number(fb_segment_part(view->links, rank));
}

/* The counters of flow f, at the rank that receives it. */
static uint64_t counters_of(const struct fb_p2p_view *view, int f)
{
	return links_of(view, view->job->flows[f].dst) + FB_P2P_LINKS_COUNTERS +
	       (uint64_t)f * 8 * FB_P2P_MOST_BLOCKS;
}

void fb_p2p_build_window(const struct fb_p2p_view *view, struct fb_p2p_shape *shape,
			 struct fb_p2p_window *window)
{
	const struct fb_job *job = view->job;

	*window = (struct fb_p2p_window){
		.bytes = job->bytes, .stride = job->stride,
		.epochs = links_of(view, view->rank) + FB_P2P_LINKS_EPOCHS,
		.window = (uint32_t)job->window, .regions = (uint32_t)job->regions,
		.in_blocks = shape->movers,
		.team = job->bytes <= WARP_BYTES   ? FB_P2P_WARP
			: job->bytes <= TEAM_BYTES ? FB_P2P_BLOCK
						   : FB_P2P_GRID,
	};
	for (int f = 0; f < job->nflows; f++) {
		const struct fb_flow *flow = &job->flows[f];
		bool send = job->verb == FB_SEND;

		if ((send ? flow->src : fb_job_origin(job, flow)) == view->rank)
			window->out[window->nout++] = (struct fb_p2p_way){
				.from = number(fb_job_source(job, flow, 0)),
				.to = number(fb_job_target(job, flow, 0)),
				.counters = send ? counters_of(view, f) : 0,
			};
		else if (send && flow->dst == view->rank)
			window->in[window->nin++] = counters_of(view, f);
	}
	shape->blocks = window->nout ? shape->movers : 1;
}

/* Where the receiver of flow f of a ping_pong waits for its messages. */
static uint64_t mail_of(const struct fb_p2p_view *view, int f)
{
	int dst = view->job->flows[f].dst;

	if (view->near && (!view->ll || 2 * view->job->bytes <= FB_P2P_PAGE))
		return links_of(view, dst) + view->near[dst];
	return view->ll ? links_of(view, dst) + FB_P2P_LINKS_LINES : counters_of(view, f);
}

void fb_p2p_build_ping_pong(const struct fb_p2p_view *view, struct fb_p2p_ping_pong *launch)
{
	const struct fb_job *job = view->job;
	/* On both ranks flow 0 carries the messages and flow 1 the answers. */
	int mine = job->flows[0].src == view->rank ? 0 : 1;
	const struct fb_flow *out = &job->flows[mine], *in = &job->flows[1 - mine];
	uint64_t own = links_of(view, view->rank);

	*launch = (struct fb_p2p_ping_pong){
		.from = number(fb_job_source(job, out, 0)),
		.to = number(fb_job_target(job, out, 0)),
		.landed = number(fb_job_target(job, in, 0)),
		.out = mail_of(view, mine), .in = mail_of(view, 1 - mine),
		.bytes = job->bytes, .epochs = own + FB_P2P_LINKS_EPOCHS,
		.times = own + FB_P2P_LINKS_TIMES, .rounds = (uint32_t)job->rounds,
		.first = mine == 0,
	};
}
