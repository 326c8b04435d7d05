/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks before the first measurement that all ranks are in one job with as many ranks as the
 * launcher has started, and run the same program with the same options. See run.h.
 */
#include "common/base/error.h"
#include "common/run/run.h"
#include "common/system/launcher.h"

#include <stdlib.h>
#include <string.h>

/* Options that name devices, which may have other names on another host: they may differ. */
static const char *const of_host[] = {"rdma-device", "rdma-gid-index", "tcp-interface"};

int fb_run_check_launcher(const struct fb_run *run)
{
	const char *variable = NULL;
	int size = fb_launcher_size(&variable);

	if (run->world.nranks > 1 || size <= 1)
		return FB_OK;
	if (fb_launcher_rank() > 0)
		return FB_EINPUT;
	return fb_error(FB_EINPUT,
			"the launcher has started %d ranks (%s), but each of them is a job of its "
			"own: expected the launcher of the MPI library that the program uses, "
			"which is %s",
			size, variable, run->world.library);
}

static void put(void *arg, const char *name, const char *value)
{
	FILE *out = arg;

	for (size_t i = 0; i < sizeof(of_host) / sizeof(of_host[0]); i++)
		if (!strcmp(name, of_host[i]))
			return;
	fprintf(out, "%s%c%s%c", name, 0, value, 0);
}

/* Everything that has to be equal, as NAME NUL VALUE NUL ...; the caller frees it. NULL: none. */
static char *pack(const struct fb_run *run, size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);

	if (!out)
		return NULL;
	fprintf(out, "program%c%s%c", 0, run->program->name, 0);
	fb_option_list(run->chain, put, out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* The first option in which two lists differ: its name and both values. */
static void say_difference(const struct fb_run *run, const char *first, size_t first_bytes,
			   const char *own, size_t bytes)
{
	const char *a = first, *b = own;

	while (a < first + first_bytes && b < own + bytes) {
		const char *one = a + strlen(a) + 1, *other = b + strlen(b) + 1;

		if (strcmp(a, b) || strcmp(one, other)) {
			fb_error(FB_EINPUT, "%s%s: rank 0 has '%.80s', rank %d on %s has '%.80s': "
				 "expected the same on all ranks",
				 strcmp(a, "program") ? "option --" : "", a, one, run->world.rank,
				 run->world.host, other);
			return;
		}
		a = one + strlen(one) + 1;
		b = other + strlen(other) + 1;
	}
	fb_error(FB_EINPUT, "rank %d on %s runs another version of the program than rank 0",
		 run->world.rank, run->world.host);
}

int fb_run_first_rank(const struct fb_run *run, bool mine)
{
	int rank = mine ? run->world.rank : run->world.nranks;

	MPI_Allreduce(MPI_IN_PLACE, &rank, 1, MPI_INT, MPI_MIN, run->world.comm);
	return rank;
}

int fb_run_check_options(const struct fb_run *run)
{
	const struct fb_group *world = &run->world;
	size_t bytes = 0;
	char *own = pack(run, &bytes), *first = NULL;
	unsigned long length = (unsigned long)bytes;
	bool differs;
	int err, rank;

	MPI_Bcast(&length, 1, MPI_UNSIGNED_LONG, 0, world->comm);
	first = malloc(length + 1);
	err = fb_group_agree(world, own && first ? FB_OK : FB_ENOMEM);
	if (err || !own || !first) {
		if (world->rank == 0)
			fb_error(err, "out of memory for the options");
		goto free_lists;
	}
	if (world->rank == 0)
		memcpy(first, own, bytes);
	MPI_Bcast(first, (int)length, MPI_CHAR, 0, world->comm);
	differs = length != bytes || memcmp(first, own, bytes) != 0;
	rank = fb_run_first_rank(run, differs);
	if (rank == world->rank)
		say_difference(run, first, length, own, bytes);
	err = rank < world->nranks ? FB_EINPUT : FB_OK;
free_lists:
	free(first);
	free(own);
	return err;
}
