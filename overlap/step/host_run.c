/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A step on processors; see run.h.
 *
 * A task is done when its entry in `done` has reached the number of the step. Threads wait for
 * tasks of other lanes by polling these entries, so there are no locks. Between steps threads
 * sleep. fb_host_run_ready wakes them before the barrier, so that the time of waking up is not
 * measured.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/spin.h"
#include "overlap/step/run.h"

/*
 * A lane. One that only computes gets a thread; on others the caller's thread runs everything.
 */
struct lane {
	struct fb_host_run *run;
	int *tasks; /* [ntasks], in order */
	int ntasks, next;
	bool started;   /* its next task is a collective under way */
	bool computes;  /* and does nothing else */
	bool threaded;
	double begin;   /* of that collective */
	pthread_t thread;
};

struct fb_host_run {
	struct fb_step_config config;
	struct lane *lanes;
	int *order;               /* [ntasks]: of all lanes */
	_Atomic uint64_t *done;   /* [ntasks] */
	_Atomic uint64_t step;    /* number of the newest one */
	_Atomic int err;
	_Atomic unsigned idle;    /* threads that have finished the newest step */
	unsigned threads, parts;
	struct fb_task_time *times;
	uint64_t awake;           /* steps up to this one are waited for without sleeping */
	_Atomic bool over;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
};

static double now(const struct fb_host_run *h)
{
	return fb_clock_now(h->config.clock);
}

static bool is_done(const struct fb_host_run *h, int task, uint64_t step)
{
	return atomic_load_explicit(&h->done[task], memory_order_acquire) >= step;
}

static void set_done(struct fb_host_run *h, int task, uint64_t step)
{
	atomic_store_explicit(&h->done[task], step, memory_order_release);
}

/* Keeps the first error; everybody then stops waiting. */
static void fail(struct fb_host_run *h, int err)
{
	int none = FB_OK;

	if (err)
		atomic_compare_exchange_strong(&h->err, &none, err);
}

static bool may_run(const struct fb_host_run *h, const struct lane *l, uint64_t step)
{
	const struct fb_dag *d = h->config.dag;
	int task = l->tasks[l->next];

	if (l->next && !is_done(h, l->tasks[l->next - 1], step))
		return false;
	for (int e = d->tasks[task].deps; e != FB_NONE; e = d->edges[e].next)
		if (!is_done(h, d->edges[e].before, step))
			return false;
	return true;
}

static void copy(const struct fb_host_run *h, const struct fb_access *from,
		 const struct fb_access *to)
{
	char *a = fb_step_address(&h->config, &from->span);
	char *b = fb_step_address(&h->config, &to->span);

	if (to->use == FB_ACCESS_ADD)
		fb_combine(h->config.datatype, FB_SUM)(b, b, a, (size_t)from->span.count);
	else
		memcpy(b, a, (size_t)from->span.count * h->config.element_bytes);
}

static int progress(struct fb_host_run *h, uint64_t step);

/* Runs a task that is no collective. With polls it progresses collectives between its parts. */
static int run_task(struct fb_host_run *h, int task, uint64_t step)
{
	const struct fb_dag *d = h->config.dag;
	const struct fb_task *t = &d->tasks[task];
	unsigned parts = h->config.polls ? h->config.polls : 1;
	int err = FB_OK;

	if (t->kind == FB_TASK_HOST && h->parts & FB_PART_HOST)
		err = fb_step_act(&h->config, t);
	for (unsigned p = 0; p < parts && t->work.kind != FB_WORK_NONE && !err &&
	     h->parts & FB_PART_COMPUTE; p++) {
		err = h->config.hooks->compute(h->config.hooks->arg, task, p, parts);
		if (!err && h->config.polls && p + 1 < parts)
			err = progress(h, step);
	}
	for (int a = t->accesses; a != FB_NONE && h->parts & FB_PART_COPY;
	     a = d->accesses[a].next)
		if (d->accesses[a].use == FB_ACCESS_FROM)
			copy(h, &d->accesses[a], &d->accesses[d->accesses[a].next]);
	return err;
}

/* Runs the lane's next task, which may run and is no collective. */
static int run_next(struct fb_host_run *h, struct lane *l, uint64_t step)
{
	int task = l->tasks[l->next++], err;
	double begin = now(h);

	err = run_task(h, task, step);
	if (h->times)
		h->times[task] = (struct fb_task_time){begin, now(h)};
	set_done(h, task, step);
	return err;
}

/* Begins or moves on the collective that is the lane's next task. */
static int drive(struct fb_host_run *h, struct lane *l, uint64_t step)
{
	const struct fb_step_hooks *hooks = h->config.hooks;
	int task = l->tasks[l->next], err = FB_OK;
	bool done = !fb_step_communicates(h->config.dag, task, h->parts);

	if (!done && !l->started) {
		l->begin = now(h);
		l->started = true;
		err = hooks->start(hooks->arg, task);
	}
	if (!done && !err)
		err = hooks->test(hooks->arg, task, &done);
	if (err || !done)
		return err;
	if (h->times && l->started)
		h->times[task] = (struct fb_task_time){l->begin, now(h)};
	l->started = false;
	l->next++;
	set_done(h, task, step);
	return FB_OK;
}

static bool is_collective(const struct fb_host_run *h, const struct lane *l)
{
	return l->next < l->ntasks &&
	       h->config.dag->tasks[l->tasks[l->next]].kind == FB_TASK_COLLECTIVE;
}

/* The caller's thread: all collectives that may run. */
static int progress(struct fb_host_run *h, uint64_t step)
{
	int err = FB_OK;

	for (int i = 0; i < h->config.dag->nlanes && !err; i++) {
		struct lane *l = &h->lanes[i];

		while (!l->threaded && is_collective(h, l) && !err &&
		       (l->started || may_run(h, l, step))) {
			int before = l->next;

			err = drive(h, l, step);
			if (l->next == before)
				break;
		}
	}
	return err;
}

/* The thread of a computing lane: one step. */
static int compute_lane(struct fb_host_run *h, struct lane *l, uint64_t step)
{
	struct fb_spin spin = {.yields = h->config.yields};
	int err = FB_OK;

	for (l->next = 0; l->next < l->ntasks && !err;) {
		if (may_run(h, l, step)) {
			err = run_next(h, l, step);
			continue;
		}
		(void)fb_spin_again(&spin);
		err = atomic_load_explicit(&h->err, memory_order_relaxed);
	}
	return err;
}

static void *thread_main(void *arg)
{
	struct lane *l = arg;
	struct fb_host_run *h = l->run;

	for (uint64_t step = 1;; step++) {
		struct fb_spin spin = {.yields = h->config.yields};

		pthread_mutex_lock(&h->mutex);
		while (!atomic_load(&h->over) && step > h->awake)
			pthread_cond_wait(&h->wake, &h->mutex);
		pthread_mutex_unlock(&h->mutex);
		while (!atomic_load_explicit(&h->over, memory_order_relaxed) &&
		       atomic_load_explicit(&h->step, memory_order_acquire) < step)
			(void)fb_spin_again(&spin);
		if (atomic_load(&h->over))
			return NULL;
		fail(h, compute_lane(h, l, step));
		atomic_fetch_add_explicit(&h->idle, 1, memory_order_release);
	}
}

/* Whether the caller's thread has nothing more to do in this step. */
static bool through(const struct fb_host_run *h)
{
	for (int i = 0; i < h->config.dag->nlanes; i++)
		if (!h->lanes[i].threaded && h->lanes[i].next < h->lanes[i].ntasks)
			return false;
	return atomic_load_explicit(&h->idle, memory_order_acquire) == h->threads;
}

/* With polls: the first task in the step's own order that may run and is no collective. */
static struct lane *runnable(struct fb_host_run *h, uint64_t step)
{
	struct lane *first = NULL;

	for (int i = 0; i < h->config.dag->nlanes; i++) {
		struct lane *l = &h->lanes[i];

		if (!l->threaded && l->next < l->ntasks && !is_collective(h, l) &&
		    (!first || l->tasks[l->next] < first->tasks[first->next]) &&
		    may_run(h, l, step))
			first = l;
	}
	return first;
}

void fb_host_run_ready(struct fb_host_run *h)
{
	uint64_t next = atomic_load_explicit(&h->step, memory_order_relaxed) + 1;

	if (!h->threads || h->awake >= next)
		return;
	pthread_mutex_lock(&h->mutex);
	h->awake = next;
	pthread_cond_broadcast(&h->wake);
	pthread_mutex_unlock(&h->mutex);
}

int fb_host_run_step(struct fb_host_run *h, unsigned parts, struct fb_task_time *times)
{
	uint64_t step = atomic_load_explicit(&h->step, memory_order_relaxed) + 1;
	struct fb_spin spin = {.yields = h->config.yields};

	fb_host_run_ready(h);
	h->parts = parts;
	h->times = times;
	for (int i = 0; times && i < h->config.dag->ntasks; i++)
		times[i] = (struct fb_task_time){(double)NAN, (double)NAN};
	for (int i = 0; i < h->config.dag->nlanes; i++)
		if (!h->lanes[i].threaded)
			h->lanes[i].next = 0;
	atomic_store_explicit(&h->idle, 0, memory_order_relaxed);
	atomic_store_explicit(&h->step, step, memory_order_release);
	while (!through(h)) {
		struct lane *l = runnable(h, step);

		fail(h, progress(h, step));
		if (l)
			fail(h, run_next(h, l, step));
		else if (fb_spin_again(&spin) && h->config.session)
			fail(h, fb_alive(h->config.session, "running a step"));
		if (atomic_load_explicit(&h->err, memory_order_relaxed))
			break;
	}
	return atomic_load(&h->err);
}

/* A lane's tasks, in order; whether it computes, and so gets a thread. */
static void fill_lane(struct fb_host_run *h, int number, int *tasks)
{
	const struct fb_dag *d = h->config.dag;
	struct lane *l = &h->lanes[number];

	*l = (struct lane){.run = h, .tasks = tasks};
	for (int i = 0; i < d->ntasks; i++) {
		if (d->tasks[i].lane != number)
			continue;
		l->tasks[l->ntasks++] = i;
		l->computes |= d->tasks[i].kind == FB_TASK_COMPUTE;
	}
	for (int i = 0; i < l->ntasks; i++)
		if (d->tasks[l->tasks[i]].kind == FB_TASK_COLLECTIVE)
			l->computes = false;
}

static int start_threads(struct fb_host_run *h)
{
	for (int i = 0; i < h->config.dag->nlanes && !h->config.polls; i++) {
		struct lane *l = &h->lanes[i];

		if (!l->computes)
			continue;
		l->threaded = true;
		if (pthread_create(&l->thread, NULL, thread_main, l)) {
			l->threaded = false;
			return fb_error(FB_ESYS, "cannot make a thread to compute in");
		}
		h->threads++;
	}
	return FB_OK;
}

int fb_host_run_open(struct fb_host_run **run, const struct fb_step_config *config)
{
	size_t tasks = (size_t)config->dag->ntasks, lanes = (size_t)config->dag->nlanes;
	struct fb_host_run *h = calloc(1, sizeof(*h));
	int used = 0, err = FB_OK;

	if (!h)
		return fb_error(FB_ENOMEM, "out of memory for a step");
	h->config = *config;
	pthread_mutex_init(&h->mutex, NULL);
	pthread_cond_init(&h->wake, NULL);
	h->lanes = calloc(lanes + 1, sizeof(*h->lanes));
	h->order = calloc(tasks + 1, sizeof(*h->order));
	h->done = calloc(tasks + 1, sizeof(*h->done));
	if (!h->lanes || !h->order || !h->done)
		err = fb_error(FB_ENOMEM, "out of memory for a step");
	for (int i = 0; i < config->dag->nlanes && !err; i++) {
		fill_lane(h, i, h->order + used);
		used += h->lanes[i].ntasks;
	}
	if (!err)
		err = start_threads(h);
	if (err) {
		fb_host_run_close(h);
		return err;
	}
	*run = h;
	return FB_OK;
}

void fb_host_run_close(struct fb_host_run *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->mutex);
	atomic_store(&h->over, true);
	pthread_cond_broadcast(&h->wake);
	pthread_mutex_unlock(&h->mutex);
	for (int i = 0; h->lanes && i < h->config.dag->nlanes; i++)
		if (h->lanes[i].threaded)
			pthread_join(h->lanes[i].thread, NULL);
	pthread_mutex_destroy(&h->mutex);
	pthread_cond_destroy(&h->wake);
	free(h->lanes);
	free(h->order);
	free(h->done);
	free(h);
}
