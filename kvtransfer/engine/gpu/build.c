/* SPDX-License-Identifier: BSD-3-Clause */
/* Launches of the GPU engines; see build.h. */
#include "kvtransfer/engine/gpu/build.h"

enum { MOST_TEAM = 32 };

_Static_assert(sizeof(struct fb_kv_piece) == 32, "the kernels read pieces of 32 bytes");
_Static_assert(sizeof(struct fb_kv_launch) <= 4000, "a kernel's parameters");

uint32_t fb_kv_cut(const struct fb_kv_pair *pair, struct fb_kv_piece *to)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < pair->runs; r++) {
		const struct fb_kv_run *run = &pair->run[r];

		for (uint64_t done = 0; done < run->bytes; done += FB_KV_PIECE, n++) {
			uint64_t rest = run->bytes - done;

			if (!to)
				continue;
			to[n] = (struct fb_kv_piece){
				.src = run->src + done, .dst = run->dst + done,
				.at = run->at + done,
				.bytes = rest < FB_KV_PIECE ? rest : FB_KV_PIECE,
			};
		}
	}
	return n;
}

char *fb_kv_done_flag(const struct fb_segment *flags, int rank, int from)
{
	return fb_segment_part(flags, rank) + (size_t)from * FB_KV_FLAG_BYTES;
}

char *fb_kv_free_flag(const struct fb_segment *flags, int nranks, int rank, int by)
{
	return fb_segment_part(flags, rank) + (size_t)(nranks + by) * FB_KV_FLAG_BYTES;
}

static uint64_t number(const void *address)
{
	return (uint64_t)(uintptr_t)address;
}

/* Pages of a rank from a step's first region on. */
static uint64_t pages(const struct fb_kv_job *job, int rank, enum fb_kv_side side, uint32_t step)
{
	return number(fb_kv_region_of(job, rank, side, step * job->step_regions));
}

static void add_addresses(const struct fb_kv_job *job, const struct fb_kv_pair *pair,
			  enum fb_kv_work work, uint32_t step, struct fb_kv_way *way)
{
	uint32_t region = step * job->step_regions;
	uint64_t src = pages(job, fb_kv_sender(job, pair), FB_KV_PREFILL, step);
	uint64_t dst = pages(job, fb_kv_receiver(job, pair), FB_KV_DECODE, step);
	uint64_t out = number(fb_kv_out(job, pair, region));
	uint64_t in = number(fb_kv_in(job, pair, region));
	const struct {
		uint64_t from, to;
	} ends[] = {
		[FB_KV_GATHER_OUT] = {src, out}, [FB_KV_PUSH_PAGES] = {src, dst},
		[FB_KV_PUSH_PACKED] = {src, in}, [FB_KV_PUSH_OUT] = {out, in},
		[FB_KV_AWAIT] = {in, in},        [FB_KV_SCATTER_IN] = {in, dst},
	};

	way->from = ends[work].from;
	way->to = ends[work].to;
	way->from_stride = work == FB_KV_SCATTER_IN
				   ? pair->region_bytes
				   : fb_kv_region_bytes(&job->plan.shape, FB_KV_PREFILL);
	way->to_stride = work == FB_KV_GATHER_OUT || work == FB_KV_PUSH_PACKED
				 ? pair->region_bytes
				 : fb_kv_region_bytes(&job->plan.shape, FB_KV_DECODE);
}

/* What is waited for, and what is counted, of a pair. */
static void add_counters(const struct fb_kv_view *view, const struct fb_kv_pair *pair,
			 enum fb_kv_work work, uint32_t step, bool last, struct fb_kv_way *way)
{
	const struct fb_kv_job *job = view->job;
	int from = fb_kv_sender(job, pair), to = fb_kv_receiver(job, pair);
	bool pushes = work == FB_KV_PUSH_PAGES || work == FB_KV_PUSH_PACKED ||
		      work == FB_KV_PUSH_OUT;

	if (!view->flags || work == FB_KV_GATHER_OUT)
		return;
	if (pushes) {
		/* Pages need no leave: each call writes the same bytes to the same places. */
		if (work != FB_KV_PUSH_PAGES && step == 0)
			way->await = number(fb_kv_free_flag(view->flags, job->nranks, from, to));
		way->post = number(fb_kv_done_flag(view->flags, to, from));
		return;
	}
	if (work == FB_KV_AWAIT)
		way->await = number(fb_kv_done_flag(view->flags, to, from));
	if (last)
		way->post = number(fb_kv_free_flag(view->flags, job->nranks, from, to));
}

/* Threads for a piece: one for each 16 bytes of a run, up to a warp. */
static uint32_t team_for(const struct fb_kv_job *job, bool plain)
{
	uint64_t mean = plain ? FB_KV_PIECE : UINT64_MAX;
	uint32_t team = 1;

	for (uint32_t p = 0; p < job->plan.pairs && !plain; p++) {
		const struct fb_kv_pair *pair = &job->plan.pair[p];

		if (pair->runs && pair->region_bytes / pair->runs < mean)
			mean = pair->region_bytes / pair->runs;
	}
	while (team < MOST_TEAM && team * UINT64_C(16) < mean)
		team *= 2;
	return team;
}

bool fb_kv_build(const struct fb_kv_view *view, enum fb_kv_work work, uint32_t step,
		 uint64_t call, bool last, struct fb_kv_launch *launch)
{
	const struct fb_kv_job *job = view->job;
	bool sends = work < FB_KV_AWAIT, plain = work == FB_KV_PUSH_OUT;

	*launch = (struct fb_kv_launch){
		.regions = plain ? 1 : job->step_regions,
		.team = team_for(job, plain), .pieces = 1,
		.from_packed = work == FB_KV_SCATTER_IN,
		.to_packed = work == FB_KV_GATHER_OUT || work == FB_KV_PUSH_PACKED,
		.await_blocks = sends ? view->local_blocks : view->push_blocks,
		.await_value = sends ? call - 1 : (call - 1) * job->steps + step + 1,
		.post_value = sends ? (call - 1) * job->steps + step + 1 : call,
		.posts = work == FB_KV_AWAIT ? view->local_blocks : 1,
	};
	for (uint32_t p = 0; p < job->plan.pairs && launch->ways < FB_KV_MOST_WAYS; p++) {
		const struct fb_kv_pair *pair = &job->plan.pair[p];
		struct fb_kv_way *way = &launch->way[launch->ways];
		uint32_t parts;

		if ((sends ? fb_kv_sender(job, pair) : fb_kv_receiver(job, pair)) != job->rank)
			continue;
		add_addresses(job, pair, work, step, way);
		add_counters(view, pair, work, step, last, way);
		way->bytes = plain ? pair->region_bytes * job->step_regions : 0;
		way->piece = plain || work == FB_KV_AWAIT ? 0 : view->pieces[p].address;
		way->pieces = way->piece ? view->pieces[p].count : 0;
		parts = plain ? (uint32_t)((way->bytes + FB_KV_PIECE - 1) / FB_KV_PIECE)
			      : way->pieces;
		launch->pieces = parts > launch->pieces ? parts : launch->pieces;
		launch->ways++;
	}
	return launch->ways > 0;
}

uint32_t fb_kv_blocks_of(const struct fb_kv_view *view, enum fb_kv_work work)
{
	if (work == FB_KV_AWAIT)
		return 1;
	return work == FB_KV_GATHER_OUT || work == FB_KV_SCATTER_IN ? view->local_blocks
								     : view->push_blocks;
}

int fb_kv_push_tasks(const struct fb_kv_job *job, unsigned phases,
		     struct fb_kv_task task[FB_KV_STEP_TASKS])
{
	int n = 0;

	if (phases == FB_KV_ALL && job->mode != FB_KV_PACK) {
		task[n++] = (struct fb_kv_task){job->mode == FB_KV_DIRECT ? FB_KV_PUSH_PAGES
									  : FB_KV_PUSH_PACKED,
						true, false};
		return n;
	}
	if (phases & FB_KV_GATHER)
		task[n++] = (struct fb_kv_task){FB_KV_GATHER_OUT, false, false};
	if (phases & FB_KV_MOVE)
		task[n++] = (struct fb_kv_task){FB_KV_PUSH_OUT, true, false};
	return n;
}

int fb_kv_receive_tasks(const struct fb_kv_job *job, unsigned phases, uint32_t step,
			struct fb_kv_task task[FB_KV_STEP_TASKS])
{
	bool moves = phases & FB_KV_MOVE, last = moves && step + 1 == job->steps;
	bool scatters = (phases & FB_KV_SCATTER) &&
			(job->mode != FB_KV_DIRECT || phases != FB_KV_ALL);
	int n = 0;

	if (moves)
		task[n++] = (struct fb_kv_task){FB_KV_AWAIT, true, last && !scatters};
	if (scatters)
		task[n++] = (struct fb_kv_task){FB_KV_SCATTER_IN, moves, last};
	return n;
}

void fb_kv_strip_at(const struct fb_kv_job *job, const struct fb_kv_pair *pair, uint32_t first,
		    struct fb_kv_strip *strip)
{
	const struct fb_kv_shape *s = &job->plan.shape;
	const struct fb_kv_run *run = &pair->run[first];
	bool hnd = s->layout == FB_KV_HND;

	*strip = (struct fb_kv_strip){.src = run->src, .dst = run->dst, .bytes = run->bytes,
				      .rows = 1};
	/* From token to token in NHD; from head to head in HND, in a block filled in part. */
	strip->src_pitch = fb_kv_row(s) * (hnd ? s->block_tokens : fb_kv_heads(s, FB_KV_PREFILL));
	strip->dst_pitch = fb_kv_row(s) * (hnd ? s->block_tokens : fb_kv_heads(s, FB_KV_DECODE));
	if (strip->bytes > strip->src_pitch || strip->bytes > strip->dst_pitch)
		return;
	for (; first + strip->rows < pair->runs; strip->rows++) {
		const struct fb_kv_run *next = run + strip->rows;

		if (next->bytes != run->bytes ||
		    next->src != run->src + strip->rows * strip->src_pitch ||
		    next->dst != run->dst + strip->rows * strip->dst_pitch)
			break;
	}
}
