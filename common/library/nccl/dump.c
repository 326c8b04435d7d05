/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL's own files of topology and graphs; see dump.h. */
#include "common/library/nccl/dump.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
	const char *variable, *file;
} dumps[] = {
	{"NCCL_TOPO_DUMP_FILE", "nccl-topology.xml"},
	{"NCCL_GRAPH_DUMP_FILE", "nccl-graph.xml"},
};
enum { DUMPS = sizeof(dumps) / sizeof(dumps[0]) };

static char *paths[DUMPS]; /* NULL: not wanted, or written */
static int world;
static bool begun;

void fb_nccl_dump_to(const char *folder, int nranks)
{
	for (size_t i = 0; i < DUMPS; i++)
		if (getenv(dumps[i].variable))
			return;
	world = nranks;
	for (size_t i = 0; i < DUMPS && !paths[i]; i++)
		if (asprintf(&paths[i], "%s/%s", folder, dumps[i].file) < 0)
			paths[i] = NULL;
}

void fb_nccl_dump_begin(const struct fb_group *group)
{
	int wanted = group->nranks == world;

	for (size_t i = 0; i < DUMPS; i++)
		wanted = wanted && paths[i];
	MPI_Allreduce(MPI_IN_PLACE, &wanted, 1, MPI_INT, MPI_MIN, group->comm);
	begun = wanted != 0;
	for (size_t i = 0; begun && i < DUMPS; i++)
		if (paths[i])
			(void)setenv(dumps[i].variable, paths[i], 1);
}

void fb_nccl_dump_end(void)
{
	for (size_t i = 0; begun && i < DUMPS; i++) {
		if (paths[i])
			(void)unsetenv(dumps[i].variable);
		free(paths[i]);
		paths[i] = NULL;
	}
}
