/* SPDX-License-Identifier: BSD-3-Clause */
/* How a request goes in stream, and its parts, which setup measures alone; see stream.h. */
#include "kvtransfer/stream/stream.h"

#include <math.h>

#include "common/base/error.h"
#include "common/base/spin.h"

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
		   enum fb_stream_act act)
{
	const struct fb_mover_ops *ops = fb_stream_mover(s)->ops;
	bool ignored;
	int err = FB_OK;

	if (act == FB_STREAM_TEST)
		return ops->test(link->move[move], &ignored);
	if (act == FB_STREAM_WAIT)
		return fb_move_wait(link->move[move]);
	err = fb_handoff_repack(s->base, link, move);
	return err || act == FB_STREAM_UNPACK ? err : ops->post(link->move[move]);
}

int fb_stream_layer(const struct fb_stream *s, uint32_t layer, enum fb_stream_act act)
{
	int err = FB_OK;

	for (int k = 0; k < s->base->links && !err; k++) {
		int move = fb_kv_model_layer(s->model, s->base->links, k, layer);

		if (move >= 0)
			err = do_move(s, &s->base->link[k], (uint32_t)move, act);
	}
	return err;
}

uint64_t fb_stream_notices(const struct fb_stream *s, uint64_t call, uint32_t layers)
{
	return s->base->link[0].count_base +
	       ((call - 1) * s->model->layers + layers) * s->layer_moves;
}

/* Rank 0: computes and posts. */
static int send_layers(struct fb_stream *s, bool layerwise, double *computed, double *compute_s)
{
	uint32_t layers = s->model->layers;
	double began = now(s);
	int err = FB_OK;

	for (uint32_t l = 0; l < layers && !err; l++) {
		err = fb_stream_compute(s);
		/* Movers that need calls get one for each layer. */
		if (layerwise && !err && !(err = fb_stream_layer(s, l, FB_STREAM_POST)))
			err = fb_stream_layer(s, l, FB_STREAM_TEST);
	}
	*computed = now(s);
	*compute_s = *computed - began;
	for (uint32_t l = 0; l < layers && !err && !layerwise; l++)
		err = fb_stream_layer(s, l, FB_STREAM_POST);
	for (uint32_t l = 0; l < layers && !err; l++)
		err = fb_stream_layer(s, l, FB_STREAM_WAIT);
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

/* Rank 1: until all layers are there; decodes a layer of the first token as soon as it may. */
static int receive_layers(struct fb_stream *s, uint64_t call, double *there)
{
	struct fb_handoff_link *link = &s->base->link[0];
	const struct fb_kv_batch token = {0, 0, 1, s->tokens};
	struct fb_spin spin = {.yields = fb_stream_mover(s)->group->oversubscribed};
	uint64_t base = fb_stream_notices(s, call, 0), count = 0;
	uint32_t decoded = 0, unpacked = 0, come = 0, layers = s->model->layers;
	const struct fb_wait wait = {link->from, FB_NOTE_PUT, fb_stream_notices(s, call, layers)};
	int err = FB_OK;

	while (!err && come < layers) {
		err = fb_stream_mover(s)->ops->arrived(fb_stream_mover(s), link->from, FB_NOTE_PUT,
						       &count);
		if (!err && count > base)
			come = (uint32_t)((count - base) / s->layer_moves);
		while (!err && unpacked < come)
			err = fb_stream_layer(s, unpacked++, FB_STREAM_UNPACK);
		if (!err && s->others && come < layers)
			err = fb_stream_serve(s);
		else if (!err && s->early && decoded < come && ++decoded)
			err = fb_kv_layer(s->compute, &token);
		else if (!err)
			err = fb_mover_again_for(fb_stream_mover(s), &spin, &wait, count);
	}
	*there = now(s);
	for (; decoded < layers && !s->others && !err; decoded++)
		err = fb_kv_layer(s->compute, &token);
	if (!err)
		err = fb_stream_mover(s)->ops->post(link->note);
	return err ? err : fb_move_wait(link->note);
}

int fb_stream_request(struct fb_stream *s, bool layerwise, double moments[3])
{
	uint64_t call = ++s->base->handed;
	int rank = fb_stream_mover(s)->group->rank, err;

	moments[0] = moments[1] = moments[2] = -HUGE_VAL;
	if (rank > 1)
		return FB_OK;
	if (rank == 1)
		return receive_layers(s, call, &moments[1]);
	err = fb_handoff_await_leave(s->base, call);
	return err ? err : send_layers(s, layerwise, &moments[0], &moments[2]);
}

int fb_stream_run(void *instance, int calls)
{
	struct fb_stream *s = instance;
	int err = FB_OK;

	for (int k = 0; k < calls && !err; k++) {
		s->calls += s->calls < FB_STREAM_MOST_CALLS;
		err = fb_stream_request(s, s->layerwise, s->call[s->calls - 1]);
	}
	return err;
}
