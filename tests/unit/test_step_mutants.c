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

enum kind {
	DEPENDENCY, TASK, SPAN, BUFFER, GROUP, COLLECTIVE, ORDER, KINDS
};

static const char *const names[KINDS] = {
	[DEPENDENCY] = "dependency left out", [TASK] = "task left out", [SPAN] = "span moved",
	[BUFFER] = "other buffer", [GROUP] = "other group", [COLLECTIVE] = "other collective",
	[ORDER] = "other order"};

/*
 * Every schedule has mutants of all kinds but for these. Where all groups are of the same ranks
 * there is no other group, and where one task is behind the other on one lane no dependency is
 * needed.
 */
static const struct {
	const char *program, *schedule; /* schedule NULL: all of the program */
	unsigned lacks;                 /* bits of enum kind */
} exceptions[] = {
	{"ddp", NULL, 1 << GROUP},
	{"ddp", "compute", 1 << DEPENDENCY | 1 << COLLECTIVE | 1 << ORDER},
	{"moe", NULL, 1 << GROUP},
	{"context_parallel", NULL, 1 << GROUP},
	{"hazards", NULL, 1 << GROUP},
	{"hazards", "one_lane", 1 << DEPENDENCY},
	{"graph", NULL, 1 << GROUP},
	{"contention", NULL, 1 << DEPENDENCY | 1 << GROUP},
	{"dataparallel", NULL, 1 << GROUP},
	{"dataparallel", "one_process", 1 << COLLECTIVE | 1 << ORDER},
	{"staging", NULL, 1 << DEPENDENCY | 1 << GROUP | 1 << COLLECTIVE | 1 << ORDER},
};

static int caught[KINDS];

/* The graphs are broken now: they must be refused, with a reason. */
static void must_catch(const struct fb_dag *dags, int nranks, enum kind kind, const char *what)
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
			must_catch(dags, nranks, DEPENDENCY, "a dependency that is left out");
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
		must_catch(dags, nranks, TASK, "a task that is left out");
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
		must_catch(dags, nranks, SPAN, "a span that is moved");
	*span = kept;
	for (int b = 0; b < d->nbuffers && written && nranks > 1; b++) {
		span->buffer = b;
		if (b != kept.buffer && span->first + span->count <= d->buffers[b].count)
			must_catch(dags, nranks, BUFFER, "a span in another buffer");
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
				must_catch(dags, nranks, GROUP, "a collective in another group");
		}
		*t = kept;
		t->collective = t->collective == FB_ALL_REDUCE ? FB_BROADCAST : FB_ALL_REDUCE;
		must_catch(dags, nranks, COLLECTIVE, "another collective");
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
		must_catch(dags, nranks, ORDER, "collectives in another order");
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
	uint64_t budget;

	if (!dags)
		return;
	if (!check_that(fb_dag_check(dags, nranks, 0, why) == FB_OK, program->name, __FILE__,
			__LINE__))
		printf("\t%s, shape %d, %d ranks: %s\n", program->schedules[schedule], shape,
		       nranks, why);
	budget = fb_schedule_budget(program, &b, &dags[0]);
	if (!check_that(fb_dag_check(dags, nranks, budget, why) == FB_OK,
			"the schedule's own budget", __FILE__, __LINE__))
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

static bool has_kind(const char *program, const char *schedule, int kind)
{
	for (size_t e = 0; e < sizeof(exceptions) / sizeof(exceptions[0]); e++)
		if (!strcmp(exceptions[e].program, program) && exceptions[e].lacks >> kind & 1 &&
		    (!exceptions[e].schedule || !strcmp(exceptions[e].schedule, schedule)))
			return false;
	return true;
}

#ifdef __SANITIZE_ADDRESS__ /* ten times slower, and the same code; some kinds need four ranks */
enum { MOST_RANKS = 2, ALL_KINDS = false };
#else
enum { MOST_RANKS = 4, ALL_KINDS = true };
#endif

/* One schedule in all shapes and on all numbers of ranks: mutants of just the kinds it can have. */
static void test_schedule(const struct fb_schedule_program *program, int schedule)
{
	int before[KINDS];

	memcpy(before, caught, sizeof(before));
	for (int shape = 0; shape < STEP_SHAPES; shape++)
		for (int nranks = 1; nranks <= MOST_RANKS; nranks++)
			test_step(program, schedule, shape, nranks);
	printf("%-16s %-16s", program->name, program->schedules[schedule]);
	for (int k = 0; k < KINDS; k++) {
		bool any = caught[k] > before[k];

		printf(" %6d", caught[k] - before[k]);
		if (ALL_KINDS &&
		    !check_that(any == has_kind(program->name, program->schedules[schedule], k),
				names[k], __FILE__, __LINE__))
			printf("\t%s %s: %s mutants of this kind\n", program->name,
			       program->schedules[schedule], any ? "unexpected" : "no");
	}
	putchar('\n');
}

/* If a step is large beside gaps and rounding, its budget leaves less room than a tenth. */
static void test_budget(const struct fb_schedule_program *program)
{
	struct fb_overlap_settings own;
	struct fb_build b = step_build(program, 0, 0, 2, &own);
	struct fb_dag *dags;
	char why[FB_DAG_WHY_CHARS];
	uint64_t budget;

	own.hidden = b.tokens = 2048;
	b.elements = program->bytes(&b) ? program->bytes(&b) / b.element_bytes : 1 << 22;
	dags = step_make(program, &b);
	budget = dags ? fb_schedule_budget(program, &b, &dags[0]) : 0;
	CHECK(dags && fb_dag_check(dags, b.nranks, budget, why) == FB_OK);
	CHECK(dags && budget - dags[0].elements < dags[0].elements / 10);
	step_free(dags, b.nranks);
}

int main(void)
{
	printf("mutants caught: ");
	for (int k = 0; k < KINDS; k++)
		printf("%s%s", names[k], k + 1 < KINDS ? ", " : "\n");
	for (int i = 0; fb_schedule_programs[i]; i++) {
		if (fb_schedule_programs[i]->most)
			test_budget(fb_schedule_programs[i]);
		for (int s = 0; fb_schedule_programs[i]->schedules[s]; s++)
			test_schedule(fb_schedule_programs[i], s);
	}
	for (int k = 0; k < KINDS; k++) {
		printf("%-24s %5d caught\n", names[k], caught[k]);
		CHECK(caught[k] > 0);
	}
	return check_done("step mutants");
}
