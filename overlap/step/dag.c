/* SPDX-License-Identifier: BSD-3-Clause */
/* Building a step; see dag.h. */
#include "overlap/step/dag.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* Room for one more element of *array, which has n; sizes double. False without memory. */
static bool grow(struct fb_dag *dag, void *array, int n, size_t size)
{
	void **at = array, *more;

	if (dag->err)
		return false;
	if (n & (n - 1))
		return true;
	more = realloc(*at, (size_t)(n ? 2 * n : 1) * size);
	if (!more) {
		dag->err = FB_ENOMEM;
		return false;
	}
	*at = more;
	return true;
}

#define GROW(dag, array, n) grow((dag), (void *)&(dag)->array, (dag)->n, sizeof(*(dag)->array))

void fb_dag_open(struct fb_dag *dag, int rank, int nranks)
{
	*dag = (struct fb_dag){.rank = rank, .nranks = nranks};
}

void fb_dag_close(struct fb_dag *dag)
{
	for (int i = 0; i < dag->npartitions; i++)
		free(dag->partitions[i].colour);
	for (int i = 0; i < dag->ncounts; i++)
		free(dag->counts[i]);
	free(dag->tasks);
	free(dag->accesses);
	free(dag->edges);
	free(dag->lanes);
	free(dag->buffers);
	free(dag->partitions);
	free(dag->inputs);
	free(dag->outputs);
	free(dag->counts);
	free(dag->members);
	*dag = (struct fb_dag){.rank = 0};
}

int fb_dag_lane(struct fb_dag *dag, const char *name, bool communicates)
{
	if (!GROW(dag, lanes, nlanes))
		return 0;
	dag->lanes[dag->nlanes] = (struct fb_dag_lane){
		.name = name, .communicates = communicates, .place = dag->rank};
	return dag->nlanes++;
}

int fb_dag_device_lane(struct fb_dag *dag, const char *name, int place)
{
	int lane = fb_dag_lane(dag, name, false);

	if (!dag->err)
		dag->lanes[lane].place = place;
	return lane;
}

int fb_dag_buffer(struct fb_dag *dag, const char *name, uint64_t count)
{
	if (!GROW(dag, buffers, nbuffers))
		return 0;
	dag->buffers[dag->nbuffers] = (struct fb_dag_buffer){name, count,
							     dag->elements + FB_DAG_GAP, dag->rank};
	dag->elements += FB_DAG_GAP + (count + FB_DAG_ALIGN - 1) / FB_DAG_ALIGN * FB_DAG_ALIGN;
	return dag->nbuffers++;
}

int fb_dag_spread(struct fb_dag *dag, const char *name, uint64_t count)
{
	int first = fb_dag_buffer(dag, name, count);

	for (int r = 1; r < dag->nranks && !dag->err; r++) {
		if (!GROW(dag, buffers, nbuffers))
			return 0;
		dag->buffers[dag->nbuffers++] = dag->buffers[first];
	}
	for (int r = 0; r < dag->nranks && !dag->err; r++)
		dag->buffers[first + r].place = r;
	return first;
}

int fb_dag_partition(struct fb_dag *dag, const char *name, const int *colour)
{
	struct fb_partition *p;

	if (!GROW(dag, partitions, npartitions))
		return 0;
	p = &dag->partitions[dag->npartitions];
	*p = (struct fb_partition){.name = name, .member = FB_NONE};
	p->colour = malloc((size_t)dag->nranks * sizeof(*colour));
	if (!p->colour) {
		dag->err = FB_ENOMEM;
		return 0;
	}
	memcpy(p->colour, colour, (size_t)dag->nranks * sizeof(*colour));
	for (int r = 0; r < dag->nranks && colour[dag->rank] >= 0; r++) {
		if (r == dag->rank)
			p->member = p->members;
		p->members += colour[r] == colour[dag->rank];
	}
	return dag->npartitions++;
}

int fb_dag_axis(struct fb_dag *dag, const char *name, int stride, int size)
{
	int *colour = calloc((size_t)dag->nranks, sizeof(*colour)), partition;

	if (!colour) {
		dag->err = FB_ENOMEM;
		return 0;
	}
	for (int r = 0; r < dag->nranks; r++)
		colour[r] = r / (stride * size) * stride + r % stride;
	partition = fb_dag_partition(dag, name, colour);
	free(colour);
	return partition;
}

int fb_dag_data(struct fb_dag *dag, int members)
{
	if (!GROW(dag, members, ndata))
		return 0;
	dag->members[dag->ndata] = members;
	return dag->ndata++;
}

struct fb_span fb_dag_whole(const struct fb_dag *dag, int buffer)
{
	return (struct fb_span){buffer, 0, dag->err ? 0 : dag->buffers[buffer].count};
}

void fb_dag_input(struct fb_dag *dag, struct fb_span span, struct fb_content content)
{
	if (GROW(dag, inputs, ninputs))
		dag->inputs[dag->ninputs++] = (struct fb_place_content){span, content};
}

void fb_dag_output(struct fb_dag *dag, struct fb_span span, struct fb_content content)
{
	if (GROW(dag, outputs, noutputs))
		dag->outputs[dag->noutputs++] = (struct fb_place_content){span, content};
}

/* Adds a task of any kind. A later call may move the array: do not keep the pointer. */
static struct fb_task *add(struct fb_dag *dag, enum fb_task_kind kind, int lane, const char *name,
			   int number)
{
	struct fb_task *t;

	if (!GROW(dag, tasks, ntasks))
		return NULL;
	t = &dag->tasks[dag->ntasks++];
	*t = (struct fb_task){.kind = kind, .lane = lane, .name = name, .number = number,
			      .deps = FB_NONE, .accesses = FB_NONE, .last_access = FB_NONE};
	return t;
}

int fb_dag_compute(struct fb_dag *dag, int lane, const char *name, int number,
		   struct fb_work work)
{
	struct fb_task *t = add(dag, FB_TASK_COMPUTE, lane, name, number);

	if (!t)
		return 0;
	t->work = work;
	return dag->ntasks - 1;
}

static void add_access(struct fb_dag *dag, int task, struct fb_access access)
{
	struct fb_task *t;

	if (!GROW(dag, accesses, naccesses))
		return;
	t = &dag->tasks[task];
	access.next = FB_NONE;
	dag->accesses[dag->naccesses] = access;
	if (t->last_access == FB_NONE)
		t->accesses = dag->naccesses;
	else
		dag->accesses[t->last_access].next = dag->naccesses;
	t->last_access = dag->naccesses++;
}

static void carry(struct fb_dag *dag, int task, struct fb_span from, struct fb_span to,
		  enum fb_access_use use)
{
	static const struct fb_content none = {.data = FB_NONE};

	add_access(dag, task, (struct fb_access){FB_ACCESS_FROM, from, none, FB_NONE});
	add_access(dag, task, (struct fb_access){use, to, none, FB_NONE});
}

void fb_dag_copy(struct fb_dag *dag, int task, struct fb_span from, struct fb_span to)
{
	carry(dag, task, from, to, FB_ACCESS_TO);
}

void fb_dag_add(struct fb_dag *dag, int task, struct fb_span from, struct fb_span to)
{
	carry(dag, task, from, to, FB_ACCESS_ADD);
}

void fb_dag_read(struct fb_dag *dag, int task, struct fb_span span,
		 const struct fb_content *content)
{
	struct fb_access a = {.use = FB_ACCESS_READ, .span = span, .content = {.data = FB_NONE}};

	if (content)
		a.content = *content;
	add_access(dag, task, a);
}

int fb_dag_collective(struct fb_dag *dag, int lane, const char *name, int number,
		      enum fb_collective collective, int partition, int root, struct fb_span in,
		      struct fb_span out)
{
	struct fb_task *t = add(dag, FB_TASK_COLLECTIVE, lane, name, number);
	const struct fb_collective_info *info = fb_collective_info(collective);
	int members;

	if (!t)
		return 0;
	members = dag->partitions[partition].members;
	t->collective = collective;
	t->partition = partition;
	t->root = root;
	t->in = in;
	t->out = out;
	/* The smaller of the two is one block, except where both have one for each member. */
	t->count = in.count < out.count ? in.count : out.count;
	if (info->in == FB_BLOCK_PER_RANK && info->out == FB_BLOCK_PER_RANK && members)
		t->count = in.count / (uint64_t)members;
	return dag->ntasks - 1;
}

int fb_dag_all_to_all_v(struct fb_dag *dag, int lane, const char *name, int number, int partition,
			const uint64_t *counts, struct fb_span in, struct fb_span out)
{
	int task = fb_dag_collective(dag, lane, name, number, FB_ALL_TO_ALL_V, partition, 0, in,
				     out);
	size_t n;
	uint64_t *own;

	if (!GROW(dag, counts, ncounts))
		return 0;
	n = (size_t)dag->partitions[partition].members;
	n *= n;
	own = malloc((n ? n : 1) * sizeof(*own));
	if (!own) {
		dag->err = FB_ENOMEM;
		return 0;
	}
	dag->counts[dag->ncounts++] = own;
	dag->tasks[task].counts = own;
	dag->tasks[task].counted = dag->partitions[partition].members;
	dag->tasks[task].count = 0;
	for (size_t i = 0; i < n; i++) {
		own[i] = counts[i];
		if (own[i] > dag->tasks[task].count)
			dag->tasks[task].count = own[i];
	}
	return task;
}

int fb_dag_host(struct fb_dag *dag, int lane, const char *name, enum fb_host_action action,
		double seconds)
{
	struct fb_task *t = add(dag, FB_TASK_HOST, lane, name, 0);

	if (!t)
		return 0;
	t->action = action;
	t->work.seconds = seconds;
	return dag->ntasks - 1;
}

void fb_dag_after(struct fb_dag *dag, int task, int before)
{
	if (!GROW(dag, edges, nedges))
		return;
	dag->edges[dag->nedges] = (struct fb_edge){before, dag->tasks[task].deps};
	dag->tasks[task].deps = dag->nedges++;
}

bool fb_dag_takes_part(const struct fb_dag *dag, int task)
{
	const struct fb_task *t = &dag->tasks[task];

	return t->kind != FB_TASK_COLLECTIVE || dag->partitions[t->partition].members > 0;
}

uint64_t fb_task_block_at(const struct fb_task *t, int members, int from, int to, bool in)
{
	uint64_t at = 0;

	if (!t->counts)
		return (uint64_t)(in ? to : from) * t->count;
	for (int i = 0; i < (in ? to : from); i++)
		at += in ? t->counts[from * members + i] : t->counts[i * members + to];
	return at;
}
