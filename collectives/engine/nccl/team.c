/* SPDX-License-Identifier: BSD-3-Clause */
/* The GPUs of a process and their threads; see team.h. */
#include "collectives/engine/nccl/team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/spin.h"
#include "common/cuda/gpu_stream.h"
#include "common/library/nccl/comm.h"

enum { LOOKS = 1 << 14 }; /* before a thread goes to sleep */

const char *const fb_nccl_methods[] = {
	[FB_NCCL_ALL] = "init_all", [FB_NCCL_THREADS] = "threads", [FB_NCCL_GROUP] = "group",
	[FB_NCCL_METHODS] = NULL,
};

enum fb_nccl_method fb_nccl_method_of(const char *name)
{
	int i = 0;

	while (fb_nccl_methods[i] && strcmp(fb_nccl_methods[i], name))
		i++;
	return (enum fb_nccl_method)i;
}

enum fb_nccl_method fb_nccl_method_of_launch(const char *launch, bool *graph)
{
	*graph = !strcmp(launch, "graph") || !strcmp(launch, "graph_threads");
	if (*graph)
		return launch[strlen("graph")] ? FB_NCCL_THREADS : FB_NCCL_GROUP;
	return fb_nccl_method_of(launch);
}

/* A GPU and the thread that drives it. */
struct member {
	struct fb_nccl_team *team;
	struct fb_gpu gpu;
	pthread_t thread;
	int number, err;
};

struct fb_nccl_team {
	const struct fb_group *group;
	struct member *member; /* [gpus] */
	int gpus, usual;       /* the device that was current before */
	int started;           /* threads, of members from 1 on */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	atomic_uint turn;      /* a job for each; written under the lock */
	atomic_int busy;       /* threads that have not ended it */
	int (*job)(void *arg, int member); /* NULL: the end */
	void *arg;
};

int fb_nccl_team_size(const struct fb_gpu *gpu, const struct fb_group *group, int asked,
		      char reason[FB_REASON_CHARS])
{
	int processes, facts[2]; /* the least share, and whether all have as many as asked */

	MPI_Comm_size(group->node_comm, &processes);
	facts[0] = gpu->devices / processes;
	facts[1] = asked * processes <= gpu->devices;
	MPI_Allreduce(MPI_IN_PLACE, facts, 2, MPI_INT, MPI_MIN, group->comm);
	if (facts[1] && facts[0])
		return asked ? asked : facts[0];
	snprintf(reason, FB_REASON_CHARS, "a process sees %d GPUs, too few for %d processes of its "
		 "host with %d each", gpu->devices, processes, asked ? asked : 1);
	MPI_Bcast(reason, FB_REASON_CHARS, MPI_CHAR, 0, group->comm);
	return 0;
}

/* Waits for the turn behind `seen`: polls first, then sleeps. */
static unsigned await(struct fb_nccl_team *t, unsigned seen)
{
	struct fb_spin spin = {.yields = t->group->oversubscribed};

	for (int i = 0; i < LOOKS && atomic_load(&t->turn) == seen; i++)
		(void)fb_spin_again(&spin);
	pthread_mutex_lock(&t->lock);
	while (atomic_load(&t->turn) == seen)
		pthread_cond_wait(&t->wake, &t->lock);
	pthread_mutex_unlock(&t->lock);
	return seen + 1;
}

static void *drive(void *arg)
{
	struct member *m = arg;
	struct fb_nccl_team *t = m->team;
	int entered = fb_gpu_enter(m->gpu.device);

	for (unsigned turn = await(t, 0); t->job; turn = await(t, turn)) {
		m->err = entered ? entered : t->job(t->arg, m->number);
		atomic_fetch_sub(&t->busy, 1);
	}
	return NULL;
}

/* Hands a job to all threads; NULL ends them. */
static void hand_out(struct fb_nccl_team *t, int (*job)(void *arg, int member), void *arg)
{
	t->job = job;
	t->arg = arg;
	atomic_store(&t->busy, t->started);
	pthread_mutex_lock(&t->lock);
	atomic_fetch_add(&t->turn, 1);
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

int fb_nccl_team_open(struct fb_nccl_team **team, const struct fb_gpu *gpu,
		      const struct fb_group *group, int gpus)
{
	struct fb_nccl_team *t = calloc(1, sizeof(*t));
	int local;

	if (!t)
		return fb_error(FB_ENOMEM, "out of memory for %d GPUs", gpus);
	t->member = calloc((size_t)gpus, sizeof(*t->member));
	if (!t->member) {
		free(t);
		return fb_error(FB_ENOMEM, "out of memory for %d GPUs", gpus);
	}
	t->group = group;
	t->gpus = gpus;
	t->usual = gpu->device;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->wake, NULL);
	MPI_Comm_rank(group->node_comm, &local);
	for (int i = 0; i < gpus; i++) {
		t->member[i] = (struct member){.team = t, .gpu = *gpu, .number = i};
		t->member[i].gpu.device = local * gpus + i;
	}
	for (int i = 1; i < gpus; i++) {
		if (pthread_create(&t->member[i].thread, NULL, drive, &t->member[i])) {
			fb_nccl_team_close(t);
			return fb_error(FB_ESYS, "no thread for GPU %d of %d", i, gpus);
		}
		t->started++;
	}
	*team = t;
	return FB_OK;
}

void fb_nccl_team_close(struct fb_nccl_team *team)
{
	if (!team)
		return;
	hand_out(team, NULL, NULL);
	for (int i = 1; i <= team->started; i++)
		pthread_join(team->member[i].thread, NULL);
	pthread_cond_destroy(&team->wake);
	pthread_mutex_destroy(&team->lock);
	free(team->member);
	free(team);
}

const struct fb_gpu *fb_nccl_team_gpu(const struct fb_nccl_team *team, int member)
{
	return &team->member[member].gpu;
}

/* The caller's thread has member 0, or all of them. */
static int do_own(struct fb_nccl_team *t, int members, int (*job)(void *arg, int member), void *arg)
{
	int err = FB_OK;

	for (int i = 0; i < members && !err; i++) {
		err = fb_gpu_enter(t->member[i].gpu.device);
		if (!err)
			err = job(arg, i);
	}
	return err;
}

int fb_nccl_team_each(struct fb_nccl_team *t, bool threads, int (*job)(void *arg, int member),
		      void *arg)
{
	struct fb_spin spin = {.yields = t->group->oversubscribed};
	int err, other;

	if (threads)
		hand_out(t, job, arg);
	err = do_own(t, threads ? 1 : t->gpus, job, arg);
	/* Needs no limit: the watchdog ends the job if a thread hangs. */
	while (threads && atomic_load(&t->busy))
		(void)fb_spin_again(&spin);
	for (int i = 1; i < t->gpus && threads && !err; i++)
		err = t->member[i].err;
	other = fb_gpu_enter(t->usual);
	return err ? err : other;
}

/* --- communicators ---------------------------------------------------------------------------- */

struct making {
	const struct fb_nccl_team *team;
	const struct fb_nccl *nccl;
	struct fb_nccl_id id;
	fb_nccl_comm *comm;
};

static int init_one(void *arg, int member)
{
	struct making *m = arg;
	const struct fb_group *group = m->team->group;
	struct fb_nccl_config config = fb_nccl_config_plain(m->nccl);
	int gpus = m->team->gpus, rank = group->rank * gpus + member;

	return fb_nccl_error(m->nccl, NULL,
			     fb_nccl_init_rank(m->nccl, &m->comm[member], group->nranks * gpus,
					       m->id, rank, &config), "CommInitRank");
}

static int init_all(struct making *m)
{
	int gpus = m->team->gpus, *device = calloc((size_t)gpus, sizeof(*device)), err;

	if (!device)
		return fb_error(FB_ENOMEM, "out of memory for %d GPUs", gpus);
	for (int i = 0; i < gpus; i++)
		device[i] = m->team->member[i].gpu.device;
	err = fb_nccl_error(m->nccl, NULL, m->nccl->CommInitAll(m->comm, gpus, device),
			    "CommInitAll");
	free(device);
	return err;
}

int fb_nccl_team_together(struct fb_nccl_team *team, const struct fb_nccl *nccl,
			  enum fb_nccl_method way, int (*job)(void *arg, int member), void *arg)
{
	bool threads = way == FB_NCCL_THREADS;
	int err = FB_OK, end = FB_OK;

	if (!threads)
		err = fb_nccl_error(nccl, NULL, nccl->GroupStart(), "GroupStart");
	if (err)
		return err;
	err = fb_nccl_team_each(team, threads, job, arg);
	if (!threads)
		end = fb_nccl_error(nccl, NULL, nccl->GroupEnd(), "GroupEnd");
	return err ? err : end;
}

int fb_nccl_team_init(struct fb_nccl_team *team, const struct fb_nccl *nccl,
		      enum fb_nccl_method way, fb_nccl_comm *comm)
{
	const struct fb_group *group = team->group;
	struct making m = {.team = team, .nccl = nccl, .comm = comm};
	int err = FB_OK;

	memset(comm, 0, (size_t)team->gpus * sizeof(*comm));
	if (group->rank == 0 && way != FB_NCCL_ALL)
		err = fb_nccl_error(nccl, NULL, nccl->GetUniqueId(&m.id), "GetUniqueId");
	err = fb_group_agree(group, err);
	if (err)
		return err;
	MPI_Bcast(&m.id, sizeof(m.id), MPI_BYTE, 0, group->comm);
	err = way == FB_NCCL_ALL ? init_all(&m)
				 : fb_nccl_team_together(team, nccl, way, init_one, &m);
	err = fb_group_agree(group, err);
	for (int i = 0; err && i < team->gpus; i++) {
		if (comm[i])
			(void)nccl->CommAbort(comm[i]);
		comm[i] = NULL;
	}
	return err;
}

/* In a group, as all ranks of a communicator are to be ended together. */
int fb_nccl_team_destroy(const struct fb_nccl_team *team, const struct fb_nccl *nccl,
			 fb_nccl_comm *comm)
{
	int err = fb_nccl_error(nccl, NULL, nccl->GroupStart(), "GroupStart"), end;

	if (err)
		return err;
	for (int i = 0; i < team->gpus && !err; i++) {
		if (comm[i])
			err = fb_nccl_error(nccl, NULL, nccl->CommDestroy(comm[i]), "CommDestroy");
		comm[i] = NULL;
	}
	end = fb_nccl_error(nccl, NULL, nccl->GroupEnd(), "GroupEnd");
	return err ? err : end;
}
