/* SPDX-License-Identifier: BSD-3-Clause */
/* Making moves of mover copy: chooses the form and makes its lists; see copy.c. */
#include <stdio.h>
#include <stdlib.h>

#include "common/cuda/cuda_error.h"
#include "common/mover/gpu/copy.h"

/*
 * A copy of two dimensions costs a few microseconds of the processor, an entry of a batch less than
 * one. So form strided is better if each of its copies replaces so many runs in the mean.
 */
enum { RUNS_OF_STRIP = 4 };

void fb_copy_release(struct fb_move *move)
{
	struct fb_copy_move *c = (struct fb_copy_move *)move;

	if (c->graph)
		(void)cudaGraphExecDestroy(c->graph);
	free((void *)c->from);
	free((void *)c->to);
	free(c->bytes);
	free(c->strip);
	fb_gpu_move_free(move);
}

/* Counts the runs of neighbours of all transfers; writes them to the lists if these exist. */
static size_t list_runs(struct fb_copy_move *c)
{
	const struct fb_move *move = &c->move.move;
	size_t n = 0;

	for (uint32_t i = 0; i < move->transfers; i++) {
		const struct fb_transfer *t = &move->transfer[i];
		struct fb_runs runs = {.walk = {.transfer = t}};
		uint64_t local, remote, bytes;

		for (; (bytes = fb_runs_next(&runs, &local, &remote)); n++) {
			struct fb_copy_ends e;

			if (!c->bytes)
				continue;
			e = fb_copy_ends_of(t, move->mover->group->rank, local - t->local_at,
				    remote - t->remote_at);
			c->from[n] = e.from;
			c->to[n] = e.to;
			c->bytes[n] = bytes;
		}
	}
	return n;
}

static int make_batch(struct fb_copy_move *c)
{
	size_t n = list_runs(c);

	c->from = calloc(n + 1, sizeof(*c->from));
	c->to = calloc(n + 1, sizeof(*c->to));
	c->bytes = calloc(n + 1, sizeof(*c->bytes));
	if (!c->from || !c->to || !c->bytes)
		return fb_error(FB_ENOMEM, "out of memory for %zu copies", n);
	c->count = list_runs(c);
	c->copies = n;
	return FB_OK;
}

/* Counts the copies of the strided form; writes them to the list if it exists. */
static size_t list_strips(struct fb_copy_move *c)
{
	const struct fb_move *move = &c->move.move;
	size_t n = 0;

	c->copies = 0;
	for (uint32_t i = 0; i < move->transfers; i++) {
		const struct fb_transfer *t = &move->transfer[i];
		struct fb_copy_strip one = {.transfer = t};
		uint64_t strips;
		bool lines = fb_move_strips(t, &strips);

		c->copies += lines ? strips : strips * t->repeats;
		for (uint64_t k = 0; k < (lines ? t->pieces : 1); k += one.strip.pieces) {
			if (lines)
				fb_move_strip_at(t, k, &one.strip);
			else
				one.strip.pieces = 1;
			if (c->strip)
				c->strip[n] = one;
			n += !lines || one.strip.bytes;
		}
	}
	return n;
}

static int make_strips(struct fb_copy_move *c)
{
	size_t n = list_strips(c);

	c->strip = calloc(n + 1, sizeof(*c->strip));
	if (!c->strip)
		return fb_error(FB_ENOMEM, "out of memory for %zu copies", n);
	c->count = list_strips(c);
	return FB_OK;
}

/* Chooses a form for AUTO; see RUNS_OF_STRIP and copy.c. */
static enum fb_copy_form choose(struct fb_copy_move *c)
{
	uint64_t runs = list_runs(c);

	(void)list_strips(c);
	if (runs > 1 && c->copies * RUNS_OF_STRIP > runs && CUDART_VERSION >= 12080)
		return FB_COPY_BATCH;
	return FB_COPY_STRIDED;
}

/* The graph has copies only, because the numbers in waits and notices differ in each post. */
static int make_graph(struct fb_copy_move *c)
{
	const struct fb_move *move = &c->move.move;
	cudaStream_t stream = ((const struct fb_gpu_mover *)move->mover)->look;
	cudaGraph_t graph = NULL;
	uint64_t bytes = 0;
	int err, other;

	for (uint32_t i = 0; i < move->transfers; i++)
		bytes += fb_transfer_bytes(&move->transfer[i]);
	if (!bytes)
		return FB_OK;
	err = FB_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	if (err)
		return err;
	err = fb_copy_all(c, stream);
	other = FB_CUDA(cudaStreamEndCapture(stream, &graph));
	err = err ? err : other;
	if (!err)
		err = FB_CUDA(cudaGraphInstantiate(&c->graph, graph, 0));
	if (graph)
		(void)cudaGraphDestroy(graph);
	return err;
}

void fb_copy_form(const struct fb_move *move, char *text, size_t chars)
{
	const struct fb_copy_move *c = (const struct fb_copy_move *)move;

	snprintf(text, chars, "%s", move->mover->ops->forms[c->form]);
	if (c->form == FB_COPY_STRIDED || c->form == FB_COPY_BATCH)
		snprintf(text, chars, "%s of %llu %s", move->mover->ops->forms[c->form],
			 (unsigned long long)c->copies, c->copies > 1 ? "copies" : "copy");
}

int fb_copy_prepare(struct fb_mover *mover, const struct fb_move *given, const char *form,
		    struct fb_move **move)
{
	int err = fb_gpu_move_new(mover, given, sizeof(struct fb_copy_move), move);
	struct fb_copy_move *c;

	if (err)
		return err;
	c = (struct fb_copy_move *)*move;
	c->form = (enum fb_copy_form)fb_mover_form(mover->ops, form);
	c->chosen = c->form == FB_COPY_AUTO;
	if (c->chosen)
		c->form = choose(c);
	if (c->form == FB_COPY_STRIDED)
		err = make_strips(c);
	if (c->form == FB_COPY_BATCH)
		err = CUDART_VERSION >= 12080 ? make_batch(c) : FB_EUNSUPPORTED;
	if (c->form == FB_COPY_GRAPH)
		err = make_graph(c);
	if (err)
		fb_copy_release(*move);
	return err;
}
