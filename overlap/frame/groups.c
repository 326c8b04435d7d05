/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of ranks with their engines, opened once for all steps; see frame.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "overlap/frame/frame.h"

static const char *engine_of(const struct fb_partition *partition, const char *engine)
{
	return partition->engine ? partition->engine : engine;
}

/* Those of a partition, which have been opened; NULL: they have not. */
static struct fb_step_groups *find_groups(const struct fb_step_state *s,
					  const struct fb_partition *partition,
					  const char *engine)
{
	size_t bytes = (size_t)s->session->world->nranks * sizeof(*partition->colour);

	for (size_t i = 0; i < s->ngroups; i++)
		if (!strcmp(s->groups[i]->engine, engine_of(partition, engine)) &&
		    !strcmp(s->groups[i]->name, partition->name) &&
		    !memcmp(s->groups[i]->colour, partition->colour, bytes))
			return s->groups[i];
	return NULL;
}

/* Room for one more, and its colours. */
static struct fb_step_groups *add(struct fb_step_state *s, const struct fb_partition *partition,
				  const char *engine)
{
	size_t bytes = (size_t)s->session->world->nranks * sizeof(*partition->colour);
	struct fb_step_groups **more = realloc(s->groups, (s->ngroups + 1) * sizeof(*more));
	struct fb_step_groups *g = calloc(1, sizeof(*g));

	if (more)
		s->groups = more;
	if (g)
		g->colour = malloc(bytes);
	if (!more || !g || !g->colour) {
		free(g);
		return NULL;
	}
	memcpy(g->colour, partition->colour, bytes);
	g->name = partition->name;
	g->engine = engine;
	s->groups[s->ngroups++] = g;
	return g;
}

/* Collective over the world. */
static int open_groups(struct fb_step_state *s, const struct fb_partition *partition,
		       const char *engine, struct fb_step_groups **result)
{
	const struct fb_group *w = s->session->world;
	const int colour = partition->colour[w->rank];
	struct fb_step_groups *g = add(s, partition, engine);
	int err = fb_group_agree(w, g ? FB_OK : FB_ENOMEM);

	if (err || !g)
		return fb_error(err, "out of memory for groups of ranks");
	err = fb_group_split(w, colour, &g->group);
	if (err)
		return err;
	if (colour >= 0)
		err = fb_collectives_open(&g->collectives, s->session, &g->group, engine);
	*result = g;
	return fb_group_agree(w, err);
}

int fb_step_groups_open(struct fb_step_state *s, const struct fb_dag *dag, const char *engine,
			struct fb_step_groups **groups)
{
	int err = FB_OK;

	for (int p = 0; p < dag->npartitions && !err; p++) {
		struct fb_step_groups *g = find_groups(s, &dag->partitions[p], engine);

		if (!g)
			err = open_groups(s, &dag->partitions[p],
					  engine_of(&dag->partitions[p], engine), &g);
		if (groups)
			groups[p] = g;
	}
	return err;
}

void fb_step_groups_close(struct fb_step_state *s)
{
	while (s->ngroups) {
		struct fb_step_groups *g = s->groups[--s->ngroups];

		fb_collectives_close(&g->collectives);
		fb_group_close(&g->group);
		free(g->colour);
		free(g);
	}
	free(s->groups);
}

struct fb_counts fb_step_counts(const struct fb_dag *dag, int task)
{
	const struct fb_task *t = &dag->tasks[task];
	struct fb_counts counts = {.nranks = dag->partitions[t->partition].members,
				   .max = t->count};

	/* The step owns what it points to, and engines only read it. */
	memcpy(&counts.elements, &t->counts, sizeof(t->counts));
	if (t->counts)
		fb_traffic_sizes(&counts);
	return counts;
}

struct fb_operation fb_step_operation(const struct fb_dag *dag, int task, const struct fb_case *c,
				      const struct fb_counts *counts)
{
	const struct fb_task *t = &dag->tasks[task];
	size_t size = fb_datatype_size(c->datatype);

	return (struct fb_operation){
		.collective = t->collective, .datatype = c->datatype,
		.redop = c->redop >= 0 && fb_collective_info(t->collective)->reduces
				 ? (enum fb_redop)c->redop : FB_SUM,
		.ctas.policy = dag->lanes[t->lane].background ? 0 : dag->nccl_policy,
		.root = t->root, .count = t->count, .counts = t->counts ? counts : NULL,
		.in_place = fb_span_same(&t->in, &t->out),
		.in_offset = (size_t)(dag->buffers[t->in.buffer].offset + t->in.first) * size,
		.out_offset = (size_t)(dag->buffers[t->out.buffer].offset + t->out.first) * size,
	};
}

/* Elements of a rank's input, or output, of the task's collective. */
static uint64_t buffer_elements(const struct fb_task *t, int n, int rank, bool out)
{
	uint64_t sum = 0;

	if (!t->counts)
		return (uint64_t)fb_collective_blocks(t->collective, out, rank, n, t->root) *
		       t->count;
	for (int peer = 0; peer < n; peer++)
		sum += t->counts[out ? peer * n + rank : rank * n + peer];
	return sum;
}

/*
 * Elements of the largest buffer that any rank has in the task's collective. Ranks' buffers may
 * differ in size, and all ranks have to choose the same algorithm, so they choose by this size.
 */
static uint64_t largest_buffer(const struct fb_dag *dag, const struct fb_task *t)
{
	int n = dag->partitions[t->partition].members;
	uint64_t most = 0;

	for (int i = 0; i < 2 * n; i++) {
		uint64_t elements = buffer_elements(t, n, i / 2, i % 2);

		most = elements > most ? elements : most;
	}
	return most;
}

struct fb_case fb_step_case(const struct fb_step_state *s, const struct fb_dag *dag, int task,
			    const struct fb_case *c)
{
	const struct fb_task *t = &dag->tasks[task];
	const struct fb_collective_info *info = fb_collective_info(t->collective);
	const struct fb_step_groups *g;
	struct fb_case key = *c;

	key.operation = info->name;
	key.bytes = largest_buffer(dag, t) * fb_datatype_size(c->datatype);
	key.in_place = fb_span_same(&t->in, &t->out);
	key.alone = dag->serial && !dag->lanes[t->lane].background;
	key.redop = info->reduces ? c->redop : -1;
	key.root = info->has_root ? t->root : -1;
	if (dag->lanes[t->lane].background)
		fb_step_background_case(s, engine_of(&dag->partitions[t->partition], c->engine),
					&key);
	/* This group is within one node, so it uses only the shared-memory half of shm+NETWORK. */
	g = find_groups(s, &dag->partitions[t->partition], key.engine);
	if (g && g->group.nnodes == 1 && s->session->world->nnodes > 1 &&
	    !strncmp(key.transport, "shm+", 4))
		key.transport = "shm";
	return key;
}

bool fb_step_can_communicate(struct fb_step_state *s, const struct fb_dag *dag,
			     const struct fb_case *c, char *reason)
{
	for (int i = 0; i < dag->ntasks; i++) {
		const struct fb_task *t = &dag->tasks[i], *before = i ? t - 1 : NULL;
		struct fb_counts counts;
		struct fb_step_groups *g;
		struct fb_operation op;
		struct fb_case key;

		if (t->kind != FB_TASK_COLLECTIVE || !fb_dag_takes_part(dag, i) ||
		    (before && before->kind == t->kind && before->count == t->count &&
		     before->collective == t->collective && before->partition == t->partition))
			continue;
		g = find_groups(s, &dag->partitions[t->partition], c->engine);
		if (!g) {
			snprintf(reason, FB_REASON_CHARS, "engine %s cannot run on a part of the "
							  "ranks, which this program needs",
				 c->engine);
			return false;
		}
		if (g->collectives.ops->device != fb_engine_find(c->engine)->device) {
			snprintf(reason, FB_REASON_CHARS, "engines %s and %s have no common memory",
				 c->engine, g->engine);
			return false;
		}
		counts = fb_step_counts(dag, i);
		op = fb_step_operation(dag, i, c, &counts);
		op.segment = &s->collective->stores.segment[fb_store_of(&s->collective->stores, c)];
		if (dag->lanes[t->lane].background &&
		    !fb_step_background_can(s, g->engine, reason))
			return false;
		key = fb_step_case(s, dag, i, c);
		if (!fb_collectives_can(&g->collectives, &key, &op, reason))
			return false;
	}
	return true;
}
