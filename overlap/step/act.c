/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's actions in a step, the same on processors and with a GPU; see run.h. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/system/temporary.h"
#include "overlap/step/run.h"

enum { CHUNK = 1 << 20 };

static int nap(const struct fb_step_config *c, double seconds)
{
	double until = fb_clock_now(c->clock) + seconds;

	while (fb_clock_now(c->clock) < until)
		sched_yield();
	return FB_OK;
}

/* A line of a log, which is a file that nobody keeps. */
static int print(const struct fb_task *t)
{
	static FILE *log;

	if (!log)
		log = tmpfile();
	if (!log || fprintf(log, "%s %d: loss %.6f\n", t->name, t->number, 0.5) < 0 || fflush(log))
		return fb_error(FB_EIO, "cannot write a line to a temporary file");
	return FB_OK;
}

/* Whole chunks, until there are so many bytes. */
static int fill(int file, const char *room, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += CHUNK)
		if (pwrite(file, room, CHUNK, (off_t)at) != CHUNK)
			return fb_error(FB_EIO, "cannot write %zu bytes of a file: %s", bytes,
					strerror(errno));
	if (fsync(file))
		return fb_error(FB_EIO, "fsync of a file: %s", strerror(errno));
	return FB_OK;
}

/*
 * Reads a file, which it creates at first use. It drops the file from the page cache, because a
 * data set would be larger than the cache. Or writes a new file and waits until it is on storage,
 * as for a checkpoint.
 */
static int use_file(const struct fb_step_config *c, const struct fb_task *t)
{
	static int file = -1;
	static char *room;
	size_t bytes = (size_t)t->work.elements;
	bool writes = t->action == FB_HOST_WRITE_FILE, made = file < 0;
	int err = FB_OK;

	if (made) {
		file = fb_temporary_file(c->storage_folder);
		room = calloc(1, CHUNK);
	}
	if (file < 0 || !room)
		return fb_error(FB_EIO, "cannot make a file in %s: %s",
				c->storage_folder ? c->storage_folder : "$TMPDIR or /tmp",
				strerror(errno));
	if (writes && ftruncate(file, 0))
		err = fb_error(FB_EIO, "cannot empty a file: %s", strerror(errno));
	if (!err && (writes || made))
		err = fill(file, room, bytes);
	if (!writes)
		(void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	for (size_t at = 0; at < bytes && !writes && !err; at += CHUNK)
		if (pread(file, room, CHUNK, (off_t)at) < 0)
			err = fb_error(FB_EIO, "cannot read a file: %s", strerror(errno));
	return err;
}

static int make_communicator(const struct fb_step_config *c)
{
	MPI_Comm made = MPI_COMM_NULL;

	MPI_Comm_dup(c->session ? c->session->world->comm : MPI_COMM_WORLD, &made);
	MPI_Comm_free(&made);
	return FB_OK;
}

/* Where this thread may run: on all processors, on the first of its own, or as before. */
static int bind(enum fb_host_action action)
{
	static __thread cpu_set_t before;
	static __thread bool known;
	cpu_set_t set;
	size_t first = 0;

	if (!known && sched_getaffinity(0, sizeof(before), &before))
		return FB_OK;
	known = true;
	set = before;
	CPU_ZERO(&set);
	while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &before))
		first++;
	for (size_t cpu = 0; action == FB_HOST_SPREAD && cpu < CPU_SETSIZE; cpu++)
		CPU_SET(cpu, &set);
	if (action == FB_HOST_ONE_CORE)
		CPU_SET(first, &set);
	(void)sched_setaffinity(0, sizeof(set), action == FB_HOST_REBIND ? &before : &set);
	return FB_OK;
}

int fb_step_act(const struct fb_step_config *config, const struct fb_task *task)
{
	switch (task->action) {
	case FB_HOST_NAP:
		return nap(config, task->work.seconds);
	case FB_HOST_PRINT:
		return print(task);
	case FB_HOST_READ_FILE:
	case FB_HOST_WRITE_FILE:
		return use_file(config, task);
	case FB_HOST_COMMUNICATOR:
		return make_communicator(config);
	case FB_HOST_SPREAD:
	case FB_HOST_ONE_CORE:
	case FB_HOST_REBIND:
		return bind(task->action);
	default:
		return FB_OK;
	}
}
