/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads how much memory a host has; see memory.h. */
#include "common/memory/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Reads the first line of a kernel's file; empty if there is no such file. */
static void read_line(const char *path, char *text, int n)
{
	FILE *file = fopen(path, "re");

	text[0] = '\0';
	if (!file)
		return;
	if (!fgets(text, n, file))
		text[0] = '\0';
	fclose(file);
}

/* The machine's memory, or the container's share of it where that is less. */
static uint64_t host_bytes(void)
{
	static const char *const limits[] = {"/sys/fs/cgroup/memory.max",
					     "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
	uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		char text[64];
		uint64_t limit;

		read_line(limits[i], text, sizeof(text));
		if (sscanf(text, "%" SCNu64, &limit) == 1 && limit < bytes)
			bytes = limit;
	}
	return bytes;
}

/* The chosen word is in brackets: "always within_size [advise] never deny force". */
static bool gives_huge_pages(void)
{
	char text[128];

	read_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled", text, sizeof(text));
	return text[0] && !strstr(text, "[never]") && !strstr(text, "[deny]");
}

void fb_memory_survey(const struct fb_group *world, uint64_t *limit, bool *huge_pages)
{
	int ranks;
	uint64_t facts[2];

	MPI_Comm_size(world->node_comm, &ranks);
	facts[0] = host_bytes() / 4 * 3 / (uint64_t)ranks;
	facts[1] = gives_huge_pages();
	MPI_Allreduce(MPI_IN_PLACE, facts, 2, MPI_UINT64_T, MPI_MIN, world->comm);
	*limit = facts[0] & ~(((uint64_t)1 << 20) - 1); /* whole MiB, for messages */
	*huge_pages = facts[1] != 0;
}
