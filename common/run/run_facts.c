/* SPDX-License-Identifier: BSD-3-Clause */
/* The run's facts, gathered from all ranks into environment.csv; see run.h, environment.h. */
#include "common/base/error.h"
#include "common/run/run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_option(void *arg, const char *name, const char *value)
{
	char key[96];

	snprintf(key, sizeof(key), "option.%s", name);
	fb_launch_fact(arg, key, "%s", value);
}

static void add_selftest(struct fb_run *run)
{
	struct fb_facts found = {.item = NULL};

	fb_selftest_facts(&run->test, &run->clock, &found);
	for (size_t i = 0; i < found.count; i++)
		fb_launch_fact(&run->session, found.item[i].key, "%s", found.item[i].value);
	run->facts.failed |= found.failed;
	fb_facts_free(&found);
}

/* Prints the ranks from `first` on that are on its host, as "0-3,8". */
static void put_ranks(FILE *out, const char *hosts, size_t chars, int nranks, int first)
{
	const char *comma = "";

	for (int r = first, end; r < nranks; r = end) {
		end = r + 1;
		if (strcmp(hosts + (size_t)r * chars, hosts + (size_t)first * chars))
			continue;
		while (end < nranks &&
		       !strcmp(hosts + (size_t)end * chars, hosts + (size_t)first * chars))
			end++;
		fprintf(out, "%s%d", comma, r);
		if (end > r + 1)
			fprintf(out, "-%d", end - 1);
		comma = ",";
	}
}

/* "n1:0-3 n2:4-7", for whoever looks for the host of a slow rank. One host says nothing. */
static void add_hosts(struct fb_run *run)
{
	const struct fb_group *world = &run->world;
	size_t chars = sizeof(world->host), bytes;
	char *hosts, *text = NULL;
	FILE *out;

	if (fb_group_one_host(world))
		return;
	hosts = malloc((size_t)world->nranks * chars);
	out = open_memstream(&text, &bytes);
	/* All take part or none; a rank without memory for this has had none for its facts. */
	if (fb_group_agree(world, hosts && out ? FB_OK : FB_ENOMEM) == FB_OK) {
		MPI_Allgather(world->host, (int)chars, MPI_CHAR, hosts, (int)chars, MPI_CHAR,
			      world->comm);
		for (int r = 0; r < world->nranks; r++) {
			const char *host = hosts + (size_t)r * chars;
			int before = 0;

			while (strcmp(hosts + (size_t)before * chars, host))
				before++;
			if (before < r)
				continue;
			fprintf(out, "%s%s:", r ? " " : "", host);
			put_ranks(out, hosts, chars, world->nranks, r);
		}
	}
	if (out && fclose(out) == 0 && *text)
		fb_facts_add(&run->facts, "run.ranks_of_hosts", "%s", text);
	free(text);
	free(hosts);
}

/* What hosts were like when the launch began, also for when others have begun. */
static void keep_moment(struct fb_run *run)
{
	size_t count = run->facts.count;

	for (size_t i = 0; i < count; i++)
		if (!strncmp(run->facts.item[i].key, "host.", 5))
			fb_launch_fact(&run->session, run->facts.item[i].key, "%s",
				       run->facts.item[i].value);
}

void fb_run_facts(struct fb_run *run)
{
	struct fb_facts *facts = &run->facts;
	char name[FB_RUN_CHARS] = "";

	if (run->world.rank == 0)
		snprintf(name, sizeof(name), "%s", run->recorder.run);
	MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, run->world.comm);
	fb_environment_collect(facts, "");
	keep_moment(run);
	fb_facts_add(facts, "run.name", "%s", name);
	fb_facts_add(facts, "run.ranks", "%d", run->world.nranks);
	fb_facts_add(facts, "run.nodes", "%d", run->world.nnodes);
	add_hosts(run);
	fb_facts_add(facts, "run.cpus", "%d", run->world.cpus);
	fb_facts_add(facts, "run.oversubscribed", "%s", run->world.oversubscribed ? "yes" : "no");
	fb_facts_add(facts, "mpi.library", "%s", run->world.library);
	fb_facts_add(facts, "mpi.thread_level", "%s",
		     fb_group_thread_level(run->world.thread_level));
	fb_launch_fact(&run->session, "cases", "%zu", run->count);
	fb_option_list(run->chain, add_option, &run->session);
	add_selftest(run);
}

/* Rank 0: splits the gathered bytes and writes the file. */
static int write_file(const struct fb_run *run, const char *bytes, const int *length)
{
	size_t n = (size_t)run->world.nranks, at = 0, chars = strlen(run->settings.csv) + 32;
	const char **packed = calloc(n, sizeof(*packed));
	size_t *lengths = calloc(n, sizeof(*lengths));
	char *path = malloc(chars);
	char own[FB_FACT_KEY_CHARS];
	int err = FB_ENOMEM;

	if (!packed || !lengths || !path) {
		fb_error(err, "out of memory for environment.csv");
		goto free_lists;
	}
	for (size_t r = 0; r < n; r++) {
		packed[r] = bytes + at;
		lengths[r] = (size_t)length[r];
		at += lengths[r];
	}
	snprintf(path, chars, "%s/environment.csv", run->settings.csv);
	err = fb_environment_write(path, fb_session_prefix(&run->session, own), packed, lengths, n);
free_lists:
	free(path);
	free(lengths);
	free(packed);
	return err;
}

/* Rank 0: room for all, and where each rank's part starts. */
static int place(const struct fb_group *world, const int *length, int *start, char **all)
{
	size_t total = 0;

	for (int r = 0; r < world->nranks; r++) {
		if (total > INT_MAX)
			return fb_error(FB_ENOMEM, "the facts of %d ranks exceed 2 GiB",
					world->nranks);
		start[r] = (int)total;
		total += (size_t)length[r];
	}
	*all = malloc(total ? total : 1);
	return *all ? FB_OK : fb_error(FB_ENOMEM, "out of memory for %zu bytes of facts", total);
}

int fb_run_write_facts(struct fb_run *run)
{
	const struct fb_group *world = &run->world;
	int *length = calloc(2 * (size_t)world->nranks, sizeof(*length));
	char *mine = NULL, *all = NULL;
	size_t bytes = 0;
	int own, err = FB_ENOMEM;

	if (!length)
		fb_error(err, "out of memory for the lengths of %d ranks' facts", world->nranks);
	else
		err = fb_facts_pack(&run->facts, &mine, &bytes);
	err = fb_group_agree(world, err);
	if (err || !length)
		goto free_parts;
	own = (int)bytes;
	MPI_Gather(&own, 1, MPI_INT, length, 1, MPI_INT, 0, world->comm);
	if (world->rank == 0)
		err = place(world, length, length + world->nranks, &all);
	err = fb_group_agree(world, err);
	if (err)
		goto free_parts;
	MPI_Gatherv(mine, own, MPI_CHAR, all, length, length + world->nranks, MPI_CHAR, 0,
		    world->comm);
	if (world->rank == 0)
		err = write_file(run, all, length);
	err = fb_group_agree(world, err);
free_parts:
	free(all);
	free(mine);
	free(length);
	return err;
}
