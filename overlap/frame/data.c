/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The content of memory before a step, and the content that it must have afterwards.
 *
 * Each set of test data has a seed of its own, so that the expected content of an output does not
 * depend on how the step ran. Memory that no task writes keeps its poison value; the gaps between
 * buffers are checked for it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "overlap/frame/frame.h"

/* The test data of a set: each set has a seed of its own. */
static struct fb_data data_of(const struct fb_step_instance *i, int set)
{
	return (struct fb_data){
		.seed = i->data.seed + (uint64_t)set * 0x9e3779b97f4a7c15U,
		.type = i->key->datatype, .op = i->redop, .reduces = i->dag.members[set] > 1,
		.nranks = i->dag.members[set],
	};
}

static char *address(const struct fb_step_instance *i, const struct fb_span *span)
{
	const struct fb_collective_state *c = i->state->collective;
	char *part = fb_segment_part(&c->stores.segment[fb_store_of(&c->stores, i->key)],
				     i->dag.alone ? i->dag.buffers[span->buffer].place
						  : i->dag.rank);

	return part + (size_t)(i->dag.buffers[span->buffer].offset + span->first) *
		      i->build.element_bytes;
}

static const struct fb_memory_ops *memory_of(const struct fb_step_instance *i)
{
	const struct fb_collective_state *c = i->state->collective;

	return c->stores.segment[fb_store_of(&c->stores, i->key)].ops;
}

/* All memory is poisoned, gaps between buffers too; then inputs are written. */
int fb_step_prime(void *instance)
{
	struct fb_step_instance *i = instance;
	const struct fb_span all = {0, 0, 0};
	int err = memory_of(i)->set(address(i, &all) - (size_t)i->dag.buffers[0].offset *
				    i->build.element_bytes, fb_data_poison_byte(0),
				    fb_step_bytes(&i->dag, i->build.element_bytes));

	i->fresh = true;
	fb_data_renew(&i->data);
	/* Rank 0 writes inputs into memory that its owner poisons. */
	if (i->dag.alone)
		err = fb_group_agree(i->state->session->world, err);
	for (int k = 0; k < i->dag.ninputs && !err; k++) {
		const struct fb_place_content *in = &i->dag.inputs[k];
		const struct fb_data data = data_of(i, in->content.data);

		err = memory_of(i)->fill(&data, in->content.member, in->content.first,
					 address(i, &in->span), (size_t)in->span.count);
	}
	return err;
}

/* What lies in front of a buffer, or behind the last one, has to be as prime left it. */
static int check_gap(const struct fb_step_instance *i, int buffer, struct fb_mismatch *bad)
{
	const struct fb_dag_buffer *b = &i->dag.buffers[buffer], *before = b - 1;
	const struct fb_span first = {0, 0, 0};
	uint64_t begin = buffer ? before->offset + before->count : 0;
	uint64_t end = buffer < i->dag.nbuffers ? b->offset : i->dag.elements + FB_DAG_GAP;
	size_t size = i->build.element_bytes, n = (size_t)(end - begin) * size;
	unsigned char *gap = malloc(n);
	const char *memory = address(i, &first) - (size_t)i->dag.buffers[0].offset * size;
	int err = gap ? memory_of(i)->get(gap, memory + (size_t)begin * size, n) : FB_ENOMEM;

	for (size_t k = 0; k < n && !err; k++) {
		if (gap[k] == fb_data_poison_byte(0))
			continue;
		if (!bad->errors++)
			snprintf(bad->got, sizeof(bad->got), "outside of buffers");
	}
	free(gap);
	return err;
}

int fb_step_check(void *instance, int calls, struct fb_mismatch *bad)
{
	const struct fb_step_instance *i = instance;
	int err = FB_OK;

	(void)calls; /* a step leaves the same whatever was before it */
	for (int k = 0; k < i->dag.noutputs && !err; k++) {
		const struct fb_place_content *out = &i->dag.outputs[k];
		const struct fb_data data = data_of(i, out->content.data);
		int member = out->content.member;

		/* A sum of one contribution is that contribution. */
		if (member == FB_ALL_MEMBERS)
			member = data.reduces ? FB_REDUCED : 0;
		err = memory_of(i)->check(&data, member, out->content.first,
					  address(i, &out->span), (size_t)out->span.count, bad);
	}
	for (int b = 0; b <= i->dag.nbuffers && !err; b++) {
		const struct fb_dag_buffer *buffers = i->dag.buffers;

		/* Those of several ranks are at one place in each rank's memory. */
		if (!b || b == i->dag.nbuffers || buffers[b].offset != buffers[b - 1].offset)
			err = check_gap(i, b, bad);
	}
	return err;
}
