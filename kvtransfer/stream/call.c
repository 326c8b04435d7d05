/* SPDX-License-Identifier: BSD-3-Clause */
/* How a request goes in stream, with overlap and without; see stream.h. */
#include "kvtransfer/stream/stream.h"

#include <math.h>

#include "common/base/error.h"
#include "common/base/spin.h"

/* What is done with the moves of a layer: posted by rank 0, unpacked by rank 1. */
enum act { POST, TEST, WAIT, UNPACK };

/* How far rank 1 is with a request, in layers. */
struct progress {
	uint32_t come, unpacked, decoded;
};

static double now(const struct fb_stream *s)
{
	return fb_handoff_now(s->base);
}

struct fb_kv_batch fb_stream_chunk(const struct fb_stream *s, uint32_t done)
{
	uint32_t left = s->tokens - done;

	return (struct fb_kv_batch){left < FB_KV_CHUNK ? left : FB_KV_CHUNK, done, 0, 0};
}

int fb_stream_compute(const struct fb_stream *s)
{
	int err = FB_OK;

	for (uint32_t done = 0; done < s->tokens && !err; done += FB_KV_CHUNK) {
		const struct fb_kv_batch batch = fb_stream_chunk(s, done);

		err = fb_kv_layer(s->compute, &batch);
	}
	return err;
}

struct fb_kv_batch fb_stream_others(const struct fb_stream *s)
{
	return (struct fb_kv_batch){0, 0, s->others, (uint64_t)s->others * s->tokens};
}

static int do_move(const struct fb_stream *s, const struct fb_handoff_link *link, uint32_t move,
		   enum act act)
{
	const struct fb_mover_ops *ops = fb_stream_mover(s)->ops;
	bool ignored;
	int err = FB_OK;

	if (act == TEST)
		return ops->test(link->move[move], &ignored);
	if (act == WAIT)
		return fb_move_wait(link->move[move]);
	err = fb_handoff_repack(s->base, link, move);
	return err || act == UNPACK ? err : ops->post(link->move[move]);
}

/* The layer's moves: one of each link that has the layer. */
static int do_layer(const struct fb_stream *s, uint32_t layer, enum act act)
{
	int err = FB_OK;

	for (int k = 0; k < s->base->links && !err; k++) {
		int move = fb_kv_model_layer(s->model, s->base->links, k, layer);

		if (move >= 0)
			err = do_move(s, &s->base->link[k], (uint32_t)move, act);
	}
	return err;
}

/* Notices of the requests before `call` (from 1), and of the first layers of this one. */
static uint64_t notices(const struct fb_stream *s, uint64_t call, uint32_t layers)
{
	return s->base->link[0].count_base +
	       ((call - 1) * s->model->layers + layers) * s->layer_moves;
}

/* Rank 0. Movers that need calls get one for each layer. */
static int send_layer(struct fb_stream *s, uint32_t l, bool posts)
{
	int err = fb_stream_compute(s);

	s->at[l].computed = now(s);
	if (posts && !err && !(err = do_layer(s, l, POST)))
		err = do_layer(s, l, TEST);
	s->at[l].posted = now(s);
	return err;
}

/* Rank 0: all of a request. */
static int send_layers(struct fb_stream *s, bool layerwise)
{
	uint32_t layers = s->model->layers;
	int err = FB_OK;

	s->began = now(s);
	for (uint32_t l = 0; l < layers && !err; l++)
		err = send_layer(s, l, layerwise);
	for (uint32_t l = 0; l < layers && !err && !layerwise; l++)
		err = do_layer(s, l, POST);
	for (uint32_t l = 0; l < layers && !err; l++)
		err = do_layer(s, l, WAIT);
	return err;
}

int fb_stream_serve(struct fb_stream *s)
{
	const struct fb_kv_batch batch = fb_stream_others(s);
	double began = now(s);
	int err = fb_kv_step(s->compute, &batch);

	s->steps_s += now(s) - began;
	s->steps++;
	return err;
}

/* Rank 1: until so many layers are there; decodes a layer of the first token when it may. */
static int receive(struct fb_stream *s, uint64_t call, uint32_t layers, struct progress *p)
{
	const struct fb_mover *mover = fb_stream_mover(s);
	const struct fb_kv_batch token = {0, 0, 1, s->tokens};
	int from = s->base->link[0].from, err = FB_OK;
	struct fb_spin spin = {.yields = mover->group->oversubscribed};
	uint64_t base = notices(s, call, 0), count = 0;
	const struct fb_wait wait = {from, FB_NOTE_PUT, notices(s, call, layers)};

	while (!err && p->come < layers) {
		err = mover->ops->arrived(fb_stream_mover(s), from, FB_NOTE_PUT, &count);
		if (!err && count > base)
			p->come = (uint32_t)((count - base) / s->layer_moves);
		for (; !err && p->unpacked < p->come; p->unpacked++) {
			err = do_layer(s, p->unpacked, UNPACK);
			s->at[p->unpacked].there = now(s);
		}
		if (err || p->come >= layers)
			break;
		if (s->others)
			err = fb_stream_serve(s);
		else if (s->early && p->decoded < p->come && ++p->decoded)
			err = fb_kv_layer(s->compute, &token);
		else
			err = fb_mover_again_for(fb_stream_mover(s), &spin, &wait, count);
	}
	return fb_mover_waited(fb_stream_mover(s), err);
}

/* Rank 1: the rest of the first token, and the leave for the next request. */
static int finish(struct fb_stream *s, struct progress *p)
{
	const struct fb_kv_batch token = {0, 0, 1, s->tokens};
	struct fb_move *leave = s->base->link[0].note;
	int err = FB_OK;

	for (; p->decoded < s->model->layers && !s->others && !err; p->decoded++)
		err = fb_kv_layer(s->compute, &token);
	if (!err)
		err = fb_stream_mover(s)->ops->post(leave);
	return err ? err : fb_move_wait(leave);
}

/* Of a rank's part. The other one waits for what it does. */
static void end(const struct fb_stream *s, int err)
{
	if (err)
		fb_fail(s->base->state->machine.session, "a request", err);
}

void fb_stream_request(struct fb_stream *s, bool layerwise)
{
	uint64_t call = ++s->base->handed;
	int rank = fb_stream_mover(s)->group->rank;
	struct progress p = {0, 0, 0};

	if (rank == 1) {
		end(s, receive(s, call, s->model->layers, &p));
		end(s, finish(s, &p));
	} else if (rank == 0) {
		end(s, fb_handoff_await_leave(s->base, call));
		end(s, send_layers(s, layerwise));
	}
}

void fb_stream_alone(struct fb_stream *s)
{
	const struct fb_group *w = fb_stream_mover(s)->group;
	uint64_t call = ++s->base->handed;
	struct progress p = {0, 0, 0};

	end(s, w->rank ? FB_OK : fb_handoff_await_leave(s->base, call));
	for (uint32_t l = 0; l < s->model->layers; l++) {
		MPI_Barrier(w->comm);
		if (w->rank == 0)
			end(s, send_layer(s, l, true));
		if (w->rank < 2)
			end(s, w->rank ? receive(s, call, l + 1, &p) : do_layer(s, l, WAIT));
	}
	MPI_Barrier(w->comm);
	if (w->rank == 1)
		end(s, finish(s, &p));
	MPI_Barrier(w->comm);
}

int fb_stream_run(void *instance, int calls)
{
	struct fb_stream *s = instance;
	const struct fb_stream_moment *last = &s->at[s->model->layers - 1];
	int rank = fb_stream_mover(s)->group->rank;

	for (int k = 0; k < calls; k++) {
		double *moments;

		s->calls += s->calls < FB_STREAM_MOST_CALLS;
		moments = s->call[s->calls - 1];
		fb_stream_request(s, s->layerwise);
		moments[0] = rank ? -HUGE_VAL : last->computed;
		moments[1] = rank == 1 ? last->there : -HUGE_VAL;
		moments[2] = rank ? -HUGE_VAL : last->computed - s->began;
	}
	return FB_OK;
}
