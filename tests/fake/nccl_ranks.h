/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ranks of the NCCL that is none leave in files for each other and for tests. */
#ifndef FB_TESTS_FAKE_NCCL_RANKS_H
#define FB_TESTS_FAKE_NCCL_RANKS_H

#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/fake/nccl_profiler.h"

/* With FB_FAKE_NCCL_LOG=FILE each process adds "NAME RANK/RANKS DEPTH-OF-GROUPS" to FILE.<pid>. */
static inline void fake_tell(const char *name, int rank, int nranks, int depth)
{
	const char *path = getenv("FB_FAKE_NCCL_LOG");
	char own[512];
	FILE *f;

	if (!path)
		return;
	snprintf(own, sizeof(own), "%s.%d", path, (int)getpid());
	f = fopen(own, "a");
	if (!f)
		abort();
	fprintf(f, "%s %d/%d %d\n", name, rank, nranks, depth);
	fclose(f);
}

/* With FB_FAKE_NCCL_MOST=N: whether the process has made as many communicators as it can. */
static inline bool fake_is_full(int made)
{
	const char *most = getenv("FB_FAKE_NCCL_MOST");

	return most && made >= atoi(most);
}

/*
 * ncclMemAlloc's memory, from a page on, as windows have to. With FB_FAKE_NCCL_MEMORY=N there are
 * no N bytes: NULL.
 */
static inline void *fake_memory(size_t bytes)
{
	const char *too_many = getenv("FB_FAKE_NCCL_MEMORY");

	if (too_many && bytes >= strtoul(too_many, NULL, 10))
		return NULL;
	return aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
}

/* Of ncclMemFree. The memory is kept until the next one, so that nothing else lies there. */
static char *fake_freed;

static inline int fake_free_memory(void *memory)
{
	free(fake_freed);
	fake_freed = memory;
	return 0;
}

/* Whether a call's buffer was freed, which is told as well. */
static inline bool fake_is_freed(const void *in, const void *out, int rank, int nranks)
{
	size_t bytes = fake_freed ? malloc_usable_size(fake_freed) : 0;

	if ((size_t)((const char *)in - fake_freed) >= bytes &&
	    (size_t)((const char *)out - fake_freed) >= bytes)
		return false;
	fake_tell("freed", rank, nranks, -1);
	return true;
}

/*
 * With FB_FAKE_NCCL_MEET=FOLDER making and ending communicators waits for all ranks, as NCCL's
 * does: for good, if one does not come. The same step of all ranks has the same number.
 */
static inline void fake_barrier(const char *what, int nranks, int rank)
{
	static int steps;
	const char *folder = getenv("FB_FAKE_NCCL_MEET");
	int met = 0, step = steps++;
	char name[512];

	snprintf(name, sizeof(name), "%s/%s.%d.%d", folder ? folder : "", what, step, rank);
	if (folder && close(creat(name, 0600)))
		abort();
	while (folder && met < nranks) {
		snprintf(name, sizeof(name), "%s/%s.%d.%d", folder, what, step, met);
		if (access(name, F_OK))
			usleep(1000);
		else
			met++;
	}
}

enum { FAKE_COMMS = 64, FAKE_PEERS = 16, FAKE_SENDS = 1, FAKE_RECEIVES = 2 };

/* Directions in which each communicator and peer are connected, and those of the group. */
static struct {
	int rank, steps[FAKE_PEERS];
	int connected[FAKE_PEERS], named[FAKE_PEERS];
} fake_comms[FAKE_COMMS];

/* What the peer's group names in the same step, which is waited for. */
static inline int fake_peer_names(const char *folder, int comm, int step, int peer, int rank)
{
	char name[512];

	for (int named = 1;; named = named % 3 + 1) {
		snprintf(name, sizeof(name), "%s/pair.%d.%d.%d.%d.%d", folder, comm, step, peer,
			 rank, named);
		if (!access(name, F_OK))
			return named;
		usleep(1000);
	}
}

/*
 * With FB_FAKE_NCCL_MEET two ranks are connected as 2.28.3 connects them: when a group first names
 * a direction between them, both say what their groups name, and wait for each other. If that
 * differs it is an error, NCCL's "Message truncated".
 */
static inline int fake_connect(void)
{
	const char *folder = getenv("FB_FAKE_NCCL_MEET");
	int code = 0;

	for (int i = 0; folder && i < FAKE_COMMS * FAKE_PEERS; i++) {
		__typeof__(fake_comms[0]) *c = &fake_comms[i / FAKE_PEERS];
		int peer = i % FAKE_PEERS, named = c->named[peer] & ~c->connected[peer], theirs;
		int comm = i / FAKE_PEERS, step = c->steps[peer];
		char name[512];

		c->named[peer] = 0;
		if (!named)
			continue;
		c->connected[peer] |= named;
		c->steps[peer]++;
		snprintf(name, sizeof(name), "%s/pair.%d.%d.%d.%d.%d", folder, comm, step, c->rank,
			 peer, named);
		if (close(creat(name, 0600)))
			abort();
		theirs = fake_peer_names(folder, comm, step, peer, c->rank);
		if (theirs != (named == 3 ? 3 : 3 - named))
			code = 3;
	}
	return code;
}

/* A send or receive, at a depth of groups. `comm` counts those that the process has made. */
static inline int fake_name(int comm, int rank, const char *name, int peer, int depth)
{
	bool sends = !strcmp(name, "Send");

	if ((!sends && strcmp(name, "Recv")) || peer == rank || comm >= FAKE_COMMS ||
	    peer >= FAKE_PEERS)
		return 0;
	fake_comms[comm].rank = rank;
	fake_comms[comm].named[peer] |= sends ? FAKE_SENDS : FAKE_RECEIVES;
	return depth ? 0 : fake_connect();
}

/*
 * Files that NCCL's rank 0 writes where it is asked to. It appends, so that a test sees how often
 * it was. For the topology all ranks exchange their names once more: those that are not asked hang
 * the others, as in NCCL.
 */
static inline void fake_dump(int nranks, int rank)
{
	static const char *const dumps[][2] = {
		{"NCCL_TOPO_DUMP_FILE", "<system version=\"1\"><cpu numaid=\"0\"/></system>"},
		{"NCCL_GRAPH_DUMP_FILE", "<graphs version=\"1\"></graphs>"}};

	if (getenv(dumps[0][0]))
		fake_barrier("topology", nranks, rank);
	for (int i = 0; i < 2; i++) {
		const char *path = rank ? NULL : getenv(dumps[i][0]);
		FILE *file = path ? fopen(path, "a") : NULL;

		if (file) {
			fprintf(file, "%s\n", dumps[i][1]);
			fclose(file);
		}
	}
}

/* What every making of a communicator does. */
static inline void fake_make(int nranks, int rank)
{
	const char *host = getenv("NCCL_HOSTID");

	fake_tell(host ? host : "make", rank, nranks, -1);
	fake_barrier("make", nranks, rank);
	fake_dump(nranks, rank);
	fake_profile_open(nranks, rank);
}

#endif
