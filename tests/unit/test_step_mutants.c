/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checker of steps accepts every schedule, and catches each thing that is broken in one rank:
 * every single dependency left out, every task left out, every span that names other memory, every
 * collective in another group, of another kind, or in another order, and a budget that is too
 * small.
 */
#include <string.h>

#include "common/base/error.h"
#include "overlap/step/check.h"
#include "tests/unit/check.h"
#include "tests/unit/step_example.h"

static int caught[7];

/* The graphs are broken now: they must be refused, with a reason. */
static void must_catch(const struct fb_dag *dags, int nranks, int kind, const char *what)
{
	char why[FB_DAG_WHY_CHARS];
	int err = fb_dag_check(dags, nranks, 0, why);

	caught[kind]++;
	if (!check_that(err == FB_EPLAN && why[0], what, __FILE__, __LINE__))
		printf("\tverdict %d: %s\n", err, why);
}

/* Each dependency of a rank that data needs, one by one. */
static void drop_dependencies(struct fb_dag *dags, int nranks, int rank)
{
	struct fb_dag *d = &dags[rank];

	for (int i = 0; i < d->ntasks; i++)
		for (int *at = &d->tasks[i].deps; *at != FB_NONE; at = &d->edges[*at].next) {
			int dropped = *at;

			if (dropped < d->wanted)
				continue;
			*at = d->edges[dropped].next;
			must_catch(dags, nranks, 0, "a dependency that is left out");
			*at = dropped;
		}
}

/* A task becomes one that does nothing. Each task that touches memory has a use. */
static void drop_tasks(struct fb_dag *dags, int nranks, int rank)
{
	struct fb_dag *d = &dags[rank];

	for (int i = 0; i < d->ntasks; i++) {
		struct fb_task *t = &d->tasks[i], kept = *t;
		bool copies = false;

		for (int a = t->accesses; a != FB_NONE; a = d->accesses[a].next)
			copies |= d->accesses[a].use == FB_ACCESS_TO;
		if (t->kind == FB_TASK_HOST)
			continue;
		if (t->kind == FB_TASK_COMPUTE ? !copies : d->partitions[t->partition].members < 2)
			continue;
		t->kind = FB_TASK_COMPUTE;
		t->accesses = FB_NONE;
		must_catch(dags, nranks, 1, "a task that is left out");
		*t = kept;
	}
}

/*
 * A span that is moved by one element, or names another buffer. What is read may lie in another
 * buffer as well, so only spans that are written must not.
 */
static void move_span(struct fb_dag *dags, int nranks, int rank, struct fb_span *span,
		      bool written)
{
	const struct fb_span kept = *span;
	const struct fb_dag *d = &dags[rank];

	span->first += span->first + span->count < d->buffers[span->buffer].count ? 1
		       : span->first ? (uint64_t)-1 : 0;
	if (span->first != kept.first)
		must_catch(dags, nranks, 2, "a span that is moved");
	*span = kept;
	for (int b = 0; b < d->nbuffers && written && nranks > 1; b++) {
		span->buffer = b;
		if (b != kept.buffer && span->first + span->count <= d->buffers[b].count)
			must_catch(dags, nranks, 3, "a span in another buffer");
	}
	*span = kept;
}

static void move_spans(struct fb_dag *dags, int nranks, int rank)
{
	struct fb_dag *d = &dags[rank];

	for (int i = 0; i < d->ntasks; i++) {
		struct fb_task *t = &d->tasks[i];

		for (int a = t->accesses; a != FB_NONE; a = d->accesses[a].next)
			if (d->accesses[a].use != FB_ACCESS_READ ||
			    d->accesses[a].content.data != FB_NONE)
				move_span(dags, nranks, rank, &d->accesses[a].span,
					  d->accesses[a].use == FB_ACCESS_TO);
		if (t->kind != FB_TASK_COLLECTIVE || d->partitions[t->partition].members < 2)
			continue;
		if (t->collective != FB_BROADCAST ||
		    t->root == d->partitions[t->partition].member)
			move_span(dags, nranks, rank, &t->in, false);
		if (t->collective != FB_BROADCAST ||
		    t->root != d->partitions[t->partition].member)
			move_span(dags, nranks, rank, &t->out, true);
	}
}

/* The collective of one rank is in another group or of another kind. */
static void change_collectives(struct fb_dag *dags, int nranks, int rank)
{
	struct fb_dag *d = &dags[rank];

	for (int i = 0; i < d->ntasks; i++) {
		struct fb_task *t = &d->tasks[i], kept = *t;

		if (t->kind != FB_TASK_COLLECTIVE || d->partitions[t->partition].members < 2)
			continue;
		for (int p = 0; p < d->npartitions; p++) {
			t->partition = p;
			/* Groups of as many other ranks as well: those of tensors and replicas. */
			if (memcmp(d->partitions[p].colour, d->partitions[kept.partition].colour,
				   (size_t)nranks * sizeof(int)))
				must_catch(dags, nranks, 4, "a collective in another group");
		}
		*t = kept;
		t->collective = t->collective == FB_ALL_REDUCE ? FB_BROADCAST : FB_ALL_REDUCE;
		must_catch(dags, nranks, 5, "another collective");
		*t = kept;
	}
}

/* Two collectives of a group change places on one rank. */
static void swap_collectives(struct fb_dag *dags, int nranks, int rank)
{
	struct fb_dag *d = &dags[rank];
	int before = FB_NONE;

	for (int i = 0; i < d->ntasks; i++) {
		struct fb_task *t = &d->tasks[i], *u = before == FB_NONE ? t : &d->tasks[before];
		const struct fb_task kept = *t, other = *u;

		if (t->kind != FB_TASK_COLLECTIVE || d->partitions[t->partition].members < 2)
			continue;
		before = i;
		/* The same layer is gathered twice in a row: that order is no mistake. */
		if (u == t || (!strcmp(u->name, t->name) && u->number == t->number))
			continue;
		t->in = other.in;
		t->out = other.out;
		t->collective = other.collective;
		t->count = other.count;
		t->counts = other.counts;
		t->partition = other.partition;
		u->in = kept.in;
		u->out = kept.out;
		u->collective = kept.collective;
		u->count = kept.count;
		u->counts = kept.counts;
		u->partition = kept.partition;
		must_catch(dags, nranks, 6, "collectives in another order");
		*t = kept;
		*u = other;
	}
}

static void test_step(const struct fb_schedule_program *program, int schedule, int shape,
		      int nranks)
{
	struct fb_overlap_settings own;
	struct fb_build b = step_build(program, schedule, shape, nranks, &own);
	struct fb_dag *dags = step_make(program, &b);
	char why[FB_DAG_WHY_CHARS];

	if (!dags)
		return;
	if (!check_that(fb_dag_check(dags, nranks, 0, why) == FB_OK, program->name, __FILE__,
			__LINE__))
		printf("\t%s, shape %d, %d ranks: %s\n", program->schedules[schedule], shape,
		       nranks, why);
	CHECK_INT(fb_dag_check(dags, nranks, dags[0].elements, why), FB_OK);
	CHECK_INT(fb_dag_check(dags, nranks, dags[0].elements - 1, why), FB_EPLAN);
	for (int r = 0; r < nranks; r += nranks > 1 ? nranks - 1 : 1) {
		drop_dependencies(dags, nranks, r);
		drop_tasks(dags, nranks, r);
		move_spans(dags, nranks, r);
		change_collectives(dags, nranks, r);
		swap_collectives(dags, nranks, r);
	}
	CHECK_INT(fb_dag_check(dags, nranks, 0, why), FB_OK);
	step_free(dags, nranks);
}

enum { KINDS = 7 };

static const char *const names[KINDS] = {"dependency left out", "task left out", "span moved",
					 "other buffer", "other group", "other collective",
					 "other order"};

/* One schedule in all shapes and on all numbers of ranks. It has mutants, or nothing was tested. */
static void test_schedule(const struct fb_schedule_program *program, int schedule)
{
	int before[KINDS], all = 0;

	memcpy(before, caught, sizeof(before));
	for (int shape = 0; shape < STEP_SHAPES; shape++)
		for (int nranks = 1; nranks <= 4; nranks++)
			test_step(program, schedule, shape, nranks);
	printf("%-16s %-16s", program->name, program->schedules[schedule]);
	for (int k = 0; k < KINDS; k++) {
		printf(" %6d", caught[k] - before[k]);
		all += caught[k] - before[k];
	}
	putchar('\n');
	CHECK(all > 0);
}

int main(void)
{
	printf("mutants caught: ");
	for (int k = 0; k < KINDS; k++)
		printf("%s%s", names[k], k + 1 < KINDS ? ", " : "\n");
	for (int i = 0; fb_schedule_programs[i]; i++)
		for (int s = 0; fb_schedule_programs[i]->schedules[s]; s++)
			test_schedule(fb_schedule_programs[i], s);
	for (int k = 0; k < KINDS; k++) {
		printf("%-24s %5d caught\n", names[k], caught[k]);
		CHECK(caught[k] > 0);
	}
	return check_done("step mutants");
}
