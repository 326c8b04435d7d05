/* SPDX-License-Identifier: BSD-3-Clause */
/* The run's facts, gathered from all ranks into environment.csv; see run.h, environment.h. */
#include "common/base/error.h"
#include "common/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* "n1:0-3 n2:4-7": helps a reader to find the host of a slow rank. Nothing on one host. */
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
	/* All ranks take part or none. Without memory the launch only lacks this fact. */
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

/* Copies the hosts' state to facts of this launch, because later launches replace it. */
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
	if (run->world.rank == 0)
		fb_environment_misspelt(environ);
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
static int write_file(const struct fb_run *run, const char *bytes, const int *begin)
{
	size_t n = (size_t)run->world.nranks;
	const char **packed = calloc(n, sizeof(*packed));
	size_t *lengths = calloc(n, sizeof(*lengths));
	char own[FB_FACT_KEY_CHARS], *path = NULL;
	int err = FB_ENOMEM;

	if (!packed || !lengths || asprintf(&path, "%s/environment.csv", run->settings.csv) < 0) {
		fb_error(err, "out of memory for environment.csv");
		path = NULL;
		goto free_lists;
	}
	for (size_t r = 0; r < n; r++) {
		packed[r] = bytes + begin[r];
		lengths[r] = (size_t)(begin[r + 1] - begin[r]);
	}
	err = fb_environment_write(path, fb_session_prefix(&run->session, own), packed, lengths, n);
free_lists:
	free(path);
	free(lengths);
	free(packed);
	return err;
}

int fb_run_write_facts(struct fb_run *run)
{
	char *mine = NULL, *all = NULL;
	int *begin = NULL;
	size_t bytes = 0;
	int err = fb_group_agree(&run->world, fb_facts_pack(&run->facts, &mine, &bytes));

	if (!err)
		err = fb_group_gather(&run->world, mine, bytes, &all, &begin);
	if (!err && begin)
		err = write_file(run, all, begin);
	err = fb_group_agree(&run->world, err);
	free(begin);
	free(all);
	free(mine);
	return err;
}
