/* SPDX-License-Identifier: BSD-3-Clause */
/* The run's cases: adding, ordering, resuming; and what programs may ask. See run.h. */
#include "common/base/error.h"
#include "common/base/rng.h"
#include "common/record/variant.h"
#include "common/run/run.h"

#include <stdlib.h>
#include <string.h>

const struct fb_group *fb_run_world(const struct fb_run *run)
{
	return &run->world;
}

const struct fb_settings *fb_run_settings(const struct fb_run *run)
{
	return &run->settings;
}

const struct fb_session *fb_run_session(const struct fb_run *run)
{
	return &run->session;
}

int fb_run_open_session(struct fb_run *run)
{
	run->session = (struct fb_session){
		.program = run->program ? run->program->name : "-",
		.world = &run->world,
		.settings = &run->settings,
		.own = run->program ? run->program->option_values : NULL,
		.clock = &run->clock,
		.watchdog = run->watchdog,
		.facts = &run->facts,
		.counters = &run->counters,
	};
	fb_counters_open(&run->counters, &run->world);
	return fb_session_open(&run->session);
}

void fb_run_worsen(struct fb_run *run, int exit_code)
{
	if (exit_code > run->exit_code)
		run->exit_code = exit_code;
}

const char *fb_case_text(const struct fb_case *c, char buf[FB_CASE_CHARS])
{
	char root[24] = "";

	if (c->root >= 0)
		snprintf(root, sizeof(root), " root %d", c->root);
	snprintf(buf, FB_CASE_CHARS, "%s %s %s %s %s %s %s %s%s%s%s %llu B%s%s%s", c->operation,
		 c->engine, c->algorithm, c->protocol, c->transport, c->memory,
		 fb_datatype_name(c->datatype),
		 c->redop >= 0 ? fb_redop_name((enum fb_redop)c->redop) : "-", root,
		 c->in_place ? " in place" : "", c->cadence == FB_STREAMING ? " streaming" : "",
		 (unsigned long long)c->bytes, strcmp(c->launch, "blocking") ? " " : "",
		 strcmp(c->launch, "blocking") ? c->launch : "", c->variant[0] ? " " : "");
	if (c->variant[0]) {
		size_t used = strlen(buf);

		snprintf(buf + used, FB_CASE_CHARS - used, "%s", c->variant);
	}
	return buf;
}

/* The run's own copy of a text; there are few different ones. NULL where memory is out. */
static const char *intern(struct fb_run *run, const char *text)
{
	char **texts, *copy;

	if (!text)
		text = "-";
	for (size_t i = 0; i < run->ntexts; i++)
		if (!strcmp(run->texts[i], text))
			return run->texts[i];
	copy = strdup(text);
	texts = copy ? realloc(run->texts, (run->ntexts + 1) * sizeof(*texts)) : NULL;
	if (!texts) {
		free(copy);
		return NULL;
	}
	run->texts = texts;
	run->texts[run->ntexts++] = copy;
	return copy;
}

static uint64_t hash_case(const struct fb_case *c)
{
	const char *const texts[] = {c->program,  c->operation, c->engine, c->algorithm,
				     c->protocol, c->transport, c->memory, c->registration,
				     c->launch,	  c->variant};
	uint64_t hash = fb_mix64(c->bytes);

	hash = fb_mix64(hash + (uint64_t)c->cadence);
	hash = fb_mix64(hash + (uint64_t)c->datatype);
	hash = fb_mix64(hash + (uint64_t)(c->redop + 1));
	hash = fb_mix64(hash + (uint64_t)(c->root + 1));
	hash = fb_mix64(hash + (c->in_place ? 1 : 0));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		hash = fb_hash64(texts[i], strlen(texts[i]), hash);
	return hash;
}

static int reserve(struct fb_run *run)
{
	size_t capacity = run->capacity ? 2 * run->capacity : 64;
	struct fb_case *cases;
	uint64_t *hashes;

	if (run->count < run->capacity)
		return FB_OK;
	cases = realloc(run->cases, capacity * sizeof(*cases));
	if (!cases)
		return FB_ENOMEM;
	run->cases = cases;
	hashes = realloc(run->hashes, capacity * sizeof(*hashes));
	if (!hashes)
		return FB_ENOMEM;
	run->hashes = hashes;
	if (run->finished) {
		bool *finished = realloc(run->finished, capacity);

		if (!finished)
			return FB_ENOMEM;
		memset(finished + run->capacity, 0, capacity - run->capacity);
		run->finished = finished;
	}
	run->capacity = capacity;
	return FB_OK;
}

/* Adds the keys of --tag to the program's own. */
static int add_tag(const struct fb_run *run, struct fb_case *c)
{
	const char *tag = run->settings.tag;
	char why[96];

	if (!tag || !fb_variant_add(c->variant, tag, why, sizeof(why)))
		return FB_OK;
	return fb_option_reject(run->world.rank == 0 ? stderr : NULL, "tag", tag, why);
}

bool fb_run_known(struct fb_run *run, const struct fb_case *c, struct fb_csv_median *median)
{
	const struct fb_settings *s = &run->settings;
	struct {
		struct fb_csv_median median;
		bool known;
	} of_rank_0 = {.known = false};

	if (!s->csv || !s->resume)
		return false;
	if (run->world.rank == 0) {
		struct fb_row row = fb_row_empty(c);

		row.ranks = (uint64_t)run->world.nranks;
		row.nodes = (uint64_t)run->world.nnodes;
		of_rank_0.known = fb_csv_times(s->csv, run->program->name, s->launch_index, &row,
					       &of_rank_0.median);
	}
	MPI_Bcast(&of_rank_0, sizeof(of_rank_0), MPI_BYTE, 0, run->world.comm);
	if (median)
		*median = of_rank_0.median;
	return of_rank_0.known;
}

static int add_case(struct fb_run *run, const struct fb_case *c, bool cold)
{
	struct fb_case copy = *c;
	const char **const texts[] = {&copy.operation,	  &copy.engine,	   &copy.algorithm,
				      &copy.protocol,	  &copy.transport, &copy.memory,
				      &copy.registration, &copy.launch};
	uint64_t hash;

	copy.cold = cold;
	if (cold)
		fb_variant_put(&copy, "cache=cold");
	if (*copy.overfull) {
		if (run->world.rank == 0)
			fb_error(FB_EINPUT, "column `variant` of a row has room for %d characters: "
				 "beside %s there is none for %s: expected fewer options, or "
				 "shorter values", FB_VARIANT_CHARS - 1, copy.variant,
				 copy.overfull);
		return FB_EINPUT;
	}
	/* A case that was copied from an added one has these keys already. */
	if (c->program != run->program->name && add_tag(run, &copy))
		return FB_EINPUT;
	copy.program = run->program->name;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		*texts[i] = intern(run, *texts[i]);
		if (!*texts[i])
			goto no_memory;
	}
	hash = hash_case(&copy);
	for (size_t i = 0; i < run->count; i++)
		if (run->hashes[i] == hash)
			return FB_OK;
	if (reserve(run))
		goto no_memory;
	run->cases[run->count] = copy;
	if (run->finished) /* added while the program runs: fb_program.more */
		run->finished[run->count] = fb_run_known(run, &copy, NULL);
	run->hashes[run->count++] = hash;
	return FB_OK;
no_memory:
	return fb_error(FB_ENOMEM, "out of memory for %zu cases", run->count + 1);
}

int fb_run_add(struct fb_run *run, const struct fb_case *c)
{
	int err = FB_OK;

	if (run->settings.cache != FB_CACHE_COLD)
		err = add_case(run, c, false);
	if (!err && run->settings.cache & FB_CACHE_COLD)
		err = add_case(run, c, true);
	return err;
}

int fb_run_shuffle(struct fb_run *run)
{
	unsigned long long hash = run->count, ends[2];
	struct fb_rng rng;

	for (size_t i = 0; i < run->count; i++)
		hash = fb_mix64(hash + run->hashes[i]);
	ends[0] = hash;
	ends[1] = ~hash;
	MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_UNSIGNED_LONG_LONG, MPI_MAX, run->world.comm);
	if (ends[0] != ~ends[1]) {
		if (run->world.rank == 0)
			fb_error(FB_EINPUT, "the ranks have made different lists of cases: "
				 "expected the same environment on all hosts");
		return FB_EINPUT;
	}
	fb_rng_seed(&rng, run->settings.seed ^ run->settings.launch_index);
	fb_shuffle(run->cases, run->count, sizeof(*run->cases), &rng);
	return FB_OK;
}

/*
 * Rank 0: finds the cases that the folder has already. Without --resume there must be none: a
 * second row of the same launch would look like a second launch to whoever reads the file.
 */
static int read_finished(struct fb_run *run)
{
	const struct fb_settings *s = &run->settings;
	struct fb_finished set = {0};
	size_t found = 0;
	bool moved;
	int err = fb_under_way_move(s->csv, run->program->name, s->launch_index,
				    run->program->columns, run->program->ncolumns, NULL,
				    false, &moved);

	if (!err)
		err = fb_csv_finished(&set, s->csv, run->program->name, s->launch_index);
	if (err)
		return err;
	for (size_t i = 0; i < run->count; i++) {
		struct fb_row row = fb_row_empty(&run->cases[i]);

		row.ranks = (uint64_t)run->world.nranks;
		row.nodes = (uint64_t)run->world.nnodes;
		run->finished[i] = fb_finished_has(&set, &row);
		found += run->finished[i] ? 1 : 0;
	}
	run->rows_before = set.rows;
	fb_finished_free(&set);
	if (found == 0 || s->resume)
		return FB_OK;
	return fb_error(FB_EINPUT,
			"--csv %s: the folder has %zu of the %zu rows of launch %llu "
			"already: use --resume, another --launch-index or another folder",
			s->csv, found, run->count, (unsigned long long)s->launch_index);
}

int fb_run_resume(struct fb_run *run)
{
	int err = FB_OK;

	run->finished = calloc(run->capacity + 1, sizeof(*run->finished));
	if (!run->finished)
		err = fb_error(FB_ENOMEM, "out of memory for %zu cases", run->count);
	else if (run->world.rank == 0)
		err = read_finished(run);
	err = fb_group_agree(&run->world, err);
	if (!err && run->finished)
		MPI_Bcast(run->finished, (int)(run->count * sizeof(*run->finished)), MPI_BYTE, 0,
			  run->world.comm);
	return err;
}

void fb_run_free(struct fb_run *run)
{
	for (size_t i = 0; i < run->ntexts; i++)
		free(run->texts[i]);
	free(run->texts);
	free(run->cases);
	free(run->hashes);
	free(run->finished);
	free(run->extra);
	free(run->table);
	free(run->own_table);
	fb_facts_free(&run->facts);
}
