/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ranks of the NCCL that is none leave in files for each other and for tests. */
#ifndef FB_TESTS_FAKE_NCCL_RANKS_H
#define FB_TESTS_FAKE_NCCL_RANKS_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

/*
 * With FB_FAKE_NCCL_MEET=FOLDER making and ending communicators waits for all ranks, as NCCL's
 * does: for good, if one does not come. The same step of all ranks has the same number.
 */
static inline void fake_meet(const char *what, int nranks, int rank)
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

/*
 * Files that NCCL's rank 0 writes where it is asked to. It appends, so that a test sees how often
 * it was. For the topology all ranks exchange theirs once more: those that are not asked hang the
 * others, as in NCCL.
 */
static inline void fake_dump(int nranks, int rank)
{
	static const char *const dumps[][2] = {
		{"NCCL_TOPO_DUMP_FILE", "<system version=\"1\"><cpu numaid=\"0\"/></system>"},
		{"NCCL_GRAPH_DUMP_FILE", "<graphs version=\"1\"></graphs>"}};

	if (getenv(dumps[0][0]))
		fake_meet("topology", nranks, rank);
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
	fake_meet("make", nranks, rank);
	fake_dump(nranks, rank);
}

#endif
