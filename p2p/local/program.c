/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions that make copies between a processor and its GPU a program of the harness; see
 * local.h. The column `operation` is the direction, `memory` the host's side.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/path.h"
#include "common/run/run.h" /* fb_run.program, for its own options' values */
#include "p2p/local/local.h"
#include "p2p/program.h" /* the columns of engines on GPUs */

enum {
	AREA_BYTES = 4 << 20, /* of a copy at each end: beyond that messages share regions */
	PAGE = 4096,
	ROUNDS = 500,
};

struct instance {
	struct fb_local_state *state;
	const struct fb_case *key;
	struct fb_local_job job;
	struct fb_data data;
	struct fb_local_host host; /* sources, then targets */
	struct fb_segment device;  /* targets, then sources */
	size_t area;               /* bytes of all regions of a copy */
	struct fb_local_request *request; /* NULL: copies are `map`'s */
	struct fb_gdr_map map;
	char where[FB_PLACED_CHARS]; /* of --numa; empty: nothing was asked for */
};

static void close_program(void *arg)
{
	struct fb_local_state *state = arg;

	fb_gdr_close(&state->gdr);
	fb_gpu_view_close(&state->gpu);
	fb_stores_close(&state->stores);
	free(state);
}

/* Without it the rows say why: the reason of the first rank that has none. Collective. */
static void open_gdr(struct fb_local_state *state)
{
	int err;

	if (!fb_option_names(state->settings->engine, "gdrcopy") || !state->has_gpu) {
		snprintf(state->no_gdr, sizeof(state->no_gdr), "%s", state->no_gpu);
		return;
	}
	err = fb_gdr_open(&state->gdr, state->own->gdrcopy_library, state->no_gdr,
			  sizeof(state->no_gdr));
	(void)fb_group_agree_why(state->world, err, state->no_gdr, sizeof(state->no_gdr));
}

static int open_program(struct fb_run *run, void **result)
{
	struct fb_local_state *state = calloc(1, sizeof(*state));
	int err = fb_group_agree(fb_run_world(run), state ? FB_OK : FB_ENOMEM);

	if (err || !state) {
		free(state);
		return fb_error(err, "out of memory");
	}
	state->session = fb_run_session(run);
	state->world = fb_run_world(run);
	state->settings = fb_run_settings(run);
	state->own = run->program->option_values;
	err = fb_gpu_view_open(&state->gpu, state->session, state->world, state->no_gpu);
	state->has_gpu = !err;
	if (err && err != FB_EUNSUPPORTED) {
		free(state);
		return err;
	}
	open_gdr(state);
	err = fb_stores_open(&state->stores, state->world, state->own->numa);
	state->stores.huge_pages = true; /* these are not shared */
	if (err) {
		close_program(state);
		return err;
	}
	*result = state;
	return FB_OK;
}

/* --- one case --------------------------------------------------------------------------------- */

static void lay_out(struct instance *i)
{
	struct fb_local_job *job = &i->job;

	job->stride = ((size_t)job->bytes + PAGE - 1) / PAGE * PAGE;
	job->regions = job->stride < AREA_BYTES ? (int)(AREA_BYTES / job->stride) : 1;
	if (job->regions > job->window)
		job->regions = job->window;
	i->area = job->stride * (size_t)job->regions;
}

/* Which copies there are; host and device memory exist. */
static void list_copies(struct instance *i)
{
	enum fb_local_direction d = fb_local_direction_of(i->key);
	char *host = i->host.memory, *device = fb_segment_part(&i->device, i->state->world->rank);
	const struct fb_local_copy to = {host, device, true, false};
	const struct fb_local_copy from = {device + i->area, host + i->area, false, true};
	const struct fb_local_copy within = {device + i->area, device, false, false};
	struct fb_local_job *job = &i->job;

	if (d == FB_LOCAL_H2D || d == FB_LOCAL_BOTH || d == FB_LOCAL_PING_PONG)
		job->copy[job->ncopies++] = to;
	if (d == FB_LOCAL_D2H || d == FB_LOCAL_BOTH || d == FB_LOCAL_PING_PONG)
		job->copy[job->ncopies++] = from;
	if (d == FB_LOCAL_D2D)
		job->copy[job->ncopies++] = within;
}

static void free_instance(struct instance *i)
{
	fb_local_memory_put(&i->host);
	fb_gdr_unmap(&i->map);
	fb_segment_close(&i->device);
	(void)fb_place_leave(&i->state->stores.places,
			     fb_places_of(&i->state->stores.places, i->key));
	free(i);
}

static void fill_in(struct instance *i, struct fb_local_state *state, const struct fb_case *c)
{
	bool ping_pong = fb_local_direction_of(c) == FB_LOCAL_PING_PONG;

	i->state = state;
	i->key = c;
	i->job = (struct fb_local_job){
		.bytes = c->bytes, .kernel = !strcmp(c->engine, "cuda"),
		.mapped = !strcmp(c->engine, "gdrcopy"),
		.window = (int)FB_OWN_CONST(struct fb_local_keys, c)->window,
		.rounds = ping_pong ? (int)state->own->rounds : 0,
	};
	if (ping_pong && !i->job.rounds)
		i->job.rounds = ROUNDS;
	i->data = (struct fb_data){.seed = state->settings->seed, .type = c->datatype,
				   .op = FB_SUM, .nranks = state->world->nranks};
	lay_out(i);
}

/* Host memory, got by a thread in its place. */
static int get_host(struct instance *i)
{
	const struct fb_places *places = &i->state->stores.places;
	const struct fb_place *place = fb_places_of(places, i->key);
	int err = fb_place_enter(places, place);

	if (!err && place->memory >= 0 && fb_numa_prefer(place->memory))
		err = fb_error(FB_ESYS, "rank %d: no memory of NUMA node %d",
			       i->state->world->rank, place->memory);
	if (!err)
		err = fb_local_memory_get(&i->host, fb_local_memory_of(i->key), 2 * i->area);
	if (place->memory >= 0)
		(void)fb_numa_prefer(-1);
	return err;
}

static int open_copies(struct instance *i, const struct fb_case *c)
{
	struct fb_local_state *state = i->state;

	if (i->job.mapped)
		return fb_gdr_map(&i->map, &state->gdr,
				  fb_segment_part(&i->device, state->world->rank), 2 * i->area);
	return fb_local_open(&i->request, &state->gpu, &i->job, c, state->session);
}

/* Where all ranks' threads and host memory really are. Collective. */
static void say_where(struct instance *i)
{
	const struct fb_places *places = &i->state->stores.places;
	const struct fb_place *place = fb_places_of(places, i->key);
	uint64_t pages = place->memory < 0 ? 0 : fb_numa_pages(i->host.memory, 2 * i->area);

	fb_placed_where(places, place, true, pages, i->where);
}

static int set_up(void *arg, const struct fb_case *c, void **result)
{
	struct fb_local_state *state = arg;
	struct instance *i = calloc(1, sizeof(*i));
	int err = fb_group_agree(state->world, i ? FB_OK : FB_ENOMEM);

	if (err || !i) {
		free(i);
		return err;
	}
	fill_in(i, state, c);
	err = fb_group_agree(state->world, get_host(i));
	if (!err)
		err = fb_gpu_segment_open(&i->device, &state->gpu, FB_GPU_DEVICE, 2 * i->area);
	if (!err) {
		list_copies(i);
		err = fb_group_agree(state->world, open_copies(i, c));
	}
	if (err) {
		fb_local_close(i->request);
		free_instance(i);
		return err;
	}
	say_where(i);
	*result = i;
	return FB_OK;
}

static void tear_down(void *instance)
{
	struct instance *i = instance;

	fb_local_close(i->request);
	MPI_Barrier(i->state->world->comm);
	free_instance(i);
}

static const struct fb_memory_ops *ops_of(const struct instance *i, bool host)
{
	return host ? &fb_memory_host : i->device.ops;
}

/* Index of a region's first element in the rank's data; regions have no element in common. */
static uint64_t first_of(const struct instance *i, int copy, int k, size_t elements)
{
	return ((uint64_t)copy * (uint64_t)i->job.regions + (uint64_t)k) * elements;
}

static int prime(void *instance)
{
	struct instance *i = instance;
	size_t elements = (size_t)i->job.bytes / fb_datatype_size(i->data.type);
	int rank = i->state->world->rank, err = FB_OK;

	fb_data_renew(&i->data);
	for (int c = 0; c < i->job.ncopies; c++) {
		const struct fb_local_copy *copy = &i->job.copy[c];

		for (int k = 0; k < i->job.regions && !err; k++) {
			size_t at = (size_t)k * i->job.stride;

			err = ops_of(i, copy->from_host)->fill(&i->data, rank,
							       first_of(i, c, k, elements),
							       copy->from + at, elements);
			if (!err)
				err = ops_of(i, copy->to_host)->set(
					copy->to + at, fb_data_poison_byte((unsigned)rank),
					(size_t)i->job.bytes);
		}
	}
	return err;
}

static int check(void *instance, int calls, struct fb_mismatch *bad)
{
	const struct instance *i = instance;
	size_t elements = (size_t)i->job.bytes / fb_datatype_size(i->data.type);
	int rank = i->state->world->rank, err = FB_OK;

	(void)calls;
	for (int c = 0; c < i->job.ncopies; c++)
		for (int k = 0; k < i->job.regions && !err; k++)
			err = ops_of(i, i->job.copy[c].to_host)->check(
				&i->data, rank, first_of(i, c, k, elements),
				i->job.copy[c].to + (size_t)k * i->job.stride, elements, bad);
	return err;
}

static int ready(void *instance, int calls)
{
	const struct instance *i = instance;

	return i->job.mapped ? FB_OK : fb_local_ready(i->request, calls);
}

/* Copies of the processor's own. */
static int run_mapped(const struct instance *i, int calls)
{
	const struct fb_local_job *job = &i->job;
	const struct fb_local_copy *copy = &job->copy[0];
	int err = FB_OK;

	for (int call = 0; call < calls; call++)
		for (int k = 0; k < job->window && !err; k++) {
			size_t at = (size_t)(k % job->regions) * job->stride;

			err = copy->from_host
				      ? fb_gdr_write(&i->map, copy->to + at, copy->from + at,
						     (size_t)job->bytes)
				      : fb_gdr_read(&i->map, copy->to + at, copy->from + at,
						    (size_t)job->bytes);
		}
	return err;
}

static int run(void *instance, int calls)
{
	const struct instance *i = instance;

	return i->job.mapped ? run_mapped(i, calls) : fb_local_run(i->request, calls);
}

static void describe(void *instance, struct fb_traits *traits)
{
	struct instance *i = instance;
	const struct fb_local_job *job = &i->job;
	bool both = !job->rounds && job->ncopies == 2;
	bool within = !job->copy[0].from_host && !job->copy[0].to_host;
	char by[48] = "", pages[FB_PAGES_CHARS] = "", known[FB_PLACED_CHARS + FB_PAGES_CHARS + 4];
	char way[FB_PATH_CHARS];

	traits->operations = job->rounds ? 2 * job->rounds : job->window;
	traits->algorithm_bytes = (double)job->bytes * (both ? 2 : 1);
	traits->bus_factor = both ? 0.5 : 1;
	traits->bound_us = nan("");
	traits->channels = job->mapped ? 1 : fb_local_channels(i->request);
	if (job->mapped)
		snprintf(by, sizeof(by), "processor, GDRCopy %d.%d", i->state->gdr.major,
			 i->state->gdr.minor);
	if (fb_memory_kinds[i->host.kind].pages != FB_PAGES_NORMAL)
		fb_pages_text("/proc/self/smaps", i->host.memory, pages);
	snprintf(known, sizeof(known), "%s%s%s", i->where, *i->where && *pages ? ", " : "", pages);
	snprintf(way, sizeof(way), "%s, %s",
		 job->mapped ? by : job->kernel ? "kernels" : "copy engine",
		 within ? "device memory" : "host to GPU link");
	fb_path_text(way, known, traits->path);
	snprintf(traits->flags, sizeof(traits->flags), "%s",
		 i->state->gpu.shared ? "gpu-shared" : "");
	if (!job->mapped)
		fb_local_columns(i->request, traits->extra);
}

int fb_local_main(const struct fb_local_program *program, int argc, char **argv)
{
	struct fb_local_settings settings = {0};
	static const struct fb_option options[] = {
		FB_OPTION_GROUP("Traffic"),
		FB_OPTION_U64(struct fb_local_settings, window, 0, "window", "N", "0", 0, 4096,
			      "copies in a call; 0: 64, less for large ones"),
		FB_OPTION_U64(struct fb_local_settings, rounds, 0, "rounds", "N", "0", 0, 100000,
			      "round trips in a call of ping_pong; 0: 500"),
		FB_PLACES_OPTION(struct fb_local_settings, numa),
		FB_OPTION_STRING(struct fb_local_settings, gdrcopy_library, 0, "gdrcopy-library",
				 "FILE", "libgdrapi.so.2", NULL,
				 "the GDRCopy to load: a path, or a name that the linker finds"),
		FB_OPTION_END,
	};
	const struct fb_program harness = {
		.name = program->name,
		.summary = program->summary,
		.description = program->description,
		.options = options,
		.option_values = &settings,
		.defaults = program->defaults,
		.columns = fb_p2p_gpu_columns,
		.ncolumns = FB_P2P_GPU_COLUMNS,
		.open = open_program,
		.close = close_program,
		.expand = fb_local_expand,
		.can = fb_local_can,
		.setup = set_up,
		.prime = prime,
		.ready = ready,
		.run = run,
		.check = check,
		.describe = describe,
		.teardown = tear_down,
	};

	return fb_program_main(&harness, argc, argv);
}
