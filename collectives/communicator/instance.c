/* SPDX-License-Identifier: BSD-3-Clause */
/* A case of the program communicator from setup to teardown; see state.h. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives/communicator/state.h"
#include "common/base/error.h"
#include "common/measure/clock.h"
#include "common/measure/stats.h"

enum { STEPS = 3, MOST_SAMPLES = 65536, MEMORIES = 2 };

/* Resources of a process that can run out. */
struct holding {
	double device, host, sockets;
};

struct instance {
	struct fb_life_context context;
	struct fb_life_state *state;
	double (*us)[STEPS]; /* [most], of this rank's repetitions, in order; later the slowest's */
	size_t n;
	struct holding taken; /* by the communicators, after the first call on each */
	struct holding before; /* at the begin of the first repetition */
	double (*held)[MEMORIES]; /* [most] more than `before`, like `us`; NULL if !life->keeps */
	int looks;
};

/* Without sockets. From /proc; 0 where it says nothing. */
static struct holding read_memory(const struct fb_life_context *c)
{
	struct holding now = {.device = c->gpu ? (double)fb_gpu_free_bytes() : 0};
	long whole, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%ld %ld", &whole, &resident) == 2)
		now.host = (double)resident * (double)sysconf(_SC_PAGESIZE);
	if (f)
		fclose(f);
	return now;
}

static struct holding look(const struct fb_life_context *c)
{
	struct holding now = read_memory(c);
	char path[300], target[32];
	DIR *folder = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (folder && (entry = readdir(folder)) != NULL) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		now.sockets += n > 7 && !strncmp(target, "socket:", 7);
	}
	if (folder)
		closedir(folder);
	return now;
}

/* --- setup ------------------------------------------------------------------------------------ */

static void close_parts(struct fb_life_context *c)
{
	for (int p = 0; p < c->parts; p++) {
		struct fb_life_part *part = &c->part[p];

		if (!part->in)
			continue;
		fb_segment_close(&part->segment);
		fb_collectives_close(&part->engine);
		fb_group_close(&part->group);
	}
}

static int open_memory(struct fb_life_context *c, struct fb_life_part *part, size_t bytes)
{
	struct fb_engine *engine = part->engine.engine;

	if (!strcmp(c->key->memory, "nccl"))
		return engine->ops->segment(engine, &part->segment, bytes);
	if (!strcmp(c->key->memory, "device"))
		return fb_gpu_segment_open(&part->segment, &part->engine.gpu, FB_GPU_DEVICE, bytes);
	return fb_segment_open(&part->segment, &part->group, bytes, FB_PAGES_NORMAL);
}

/* Collective over the world, of which a rank need not be in the group. */
static int open_part(struct fb_life_context *c, int p, int colour)
{
	struct fb_life_part *part = &c->part[p];
	int err = fb_group_split(c->world, colour, &part->group);

	if (err)
		return err;
	part->in = colour >= 0;
	if (!part->in)
		return FB_OK;
	part->op = fb_life_operation(c->key);
	part->op.segment = &part->segment;
	part->data = (struct fb_data){.seed = c->session->settings->seed, .type = FB_F32,
				      .op = FB_SUM, .reduces = true};
	err = fb_collectives_open(&part->engine, c->session, &part->group, c->key->engine);
	if (err)
		return err;
	part->data.nranks = fb_engine_ranks(part->engine.engine);
	return open_memory(c, part, fb_buffers_layout(&part->op, part->data.nranks));
}

static int open_parts(struct fb_life_context *c, const struct fb_life_grid *grid)
{
	int last = c->world->nranks - 1, err = FB_OK;

	for (int p = 0; p < c->parts && !err; p++) {
		int colour = fb_life_grid_colour(grid, p, c->world->rank);

		if (c->life->members == FB_LIFE_SHRUNK && c->world->rank == last)
			colour = -1;
		err = fb_group_agree(c->world, open_part(c, p, colour));
	}
	return err;
}

void fb_life_tear_down(void *arg)
{
	struct instance *i = arg;
	struct fb_life_context *c = &i->context;

	/* Communicators that were misused on purpose cannot be ended in order. */
	if (c->life->end && i->state->options->misuse == FB_MISUSE_NONE)
		c->life->end(c);
	MPI_Barrier(c->world->comm);
	close_parts(c);
	free(i->held);
	free(i->us);
	free(i);
}

int fb_life_set_up(void *arg, const struct fb_case *key, void **result)
{
	struct fb_life_state *s = arg;
	struct instance *i = calloc(1, sizeof(*i));
	struct fb_life_grid grid;
	struct fb_life_context *c;
	int err = fb_group_agree(s->world, i ? FB_OK : FB_ENOMEM);

	if (err || !i) {
		free(i);
		return err;
	}
	i->state = s;
	c = &i->context;
	*c = (struct fb_life_context){.session = s->session, .world = s->world, .key = key,
				      .life = fb_life_of(key), .nccl = &s->nccl};
	for (int e = 0; fb_engines[e]; e++)
		if (!strcmp(fb_engines[e]->name, key->engine) && s->engine[e].has_gpu)
			c->gpu = &s->engine[e].gpu;
	fb_life_keys(key, &c->count, &grid);
	if (s->world->rank == s->world->nranks - 1) {
		c->unregistered = s->options->misuse == FB_MISUSE_REGISTER;
		c->shifted = s->options->misuse == FB_MISUSE_OFFSET;
	}
	c->parts = grid.size[0] * grid.size[1] * grid.size[2] > 1 ? FB_LIFE_PARTS : 1;
	i->us = calloc(MOST_SAMPLES, sizeof(*i->us));
	if (c->life->keeps)
		i->held = calloc(MOST_SAMPLES, sizeof(*i->held));
	err = i->us && (i->held || !c->life->keeps) ? FB_OK : FB_ENOMEM;
	err = fb_group_agree(s->world, err);
	if (!err)
		err = open_parts(c, &grid);
	if (!err && c->life->begin)
		err = fb_group_agree(s->world, c->life->begin(c));
	if (err) {
		fb_life_tear_down(i);
		return err;
	}
	*result = i;
	return FB_OK;
}

/* --- repetitions ------------------------------------------------------------------------------ */

static int prime_rank(void *arg, int rank)
{
	const struct fb_life_part *part = arg;

	return fb_buffers_prime(&part->op, &part->data, rank);
}

int fb_life_prime(void *arg)
{
	struct instance *i = arg;
	int err = FB_OK;

	for (int p = 0; p < i->context.parts && !err; p++) {
		struct fb_life_part *part = &i->context.part[p];

		if (!part->in || !part->segment.ops)
			continue;
		fb_data_renew(&part->data);
		err = fb_engine_each_rank(part->engine.engine, prime_rank, part);
	}
	return err;
}

/* The call is still made, with the addresses that the memory had. */
static void free_memory(struct fb_life_part *part)
{
	/* A GPU would keep memory of closed segments, mapped as it is, for the next ones. */
	fb_gpu_kept_close(part->engine.gpu.kept);
	part->engine.gpu.kept = NULL;
	fb_segment_free_memory(&part->segment);
}

/* The last rank does what must not be done; true: it leaves this step out. */
static bool misuses(struct instance *i, int step)
{
	struct fb_life_context *c = &i->context;
	int misuse = i->state->options->misuse;

	if (misuse == FB_MISUSE_NONE || c->world->rank != c->world->nranks - 1)
		return false;
	for (int p = 0; misuse == FB_MISUSE_BUFFER && step == 1 && p < c->parts; p++)
		if (c->part[p].segment.ops)
			free_memory(&c->part[p]);
	return misuse == FB_MISUSE_CREATE || (misuse == FB_MISUSE_DESTROY && step == 2);
}

static int repeat(struct instance *i)
{
	struct fb_life_context *c = &i->context;
	const struct {
		int (*act)(struct fb_life_context *);
		const char *doing;
	} part[STEPS] = {{c->life->create, "creating communicators"},
			 {c->life->call, "first call on communicators"},
			 {c->life->destroy, "destroying communicators"}};
	/* The first repetition of a process also loads what CUDA and NCCL keep from then on. */
	bool looks = i->looks < (c->life->anew ? 2 : 1);
	double us[STEPS] = {0};
	struct holding before = {0}, after;
	int err = FB_OK;

	if (looks)
		before = look(c);
	if (!i->looks)
		i->before = before;
	for (int step = 0; step < STEPS && !err; step++) {
		uint64_t start;

		if (!part[step].act || misuses(i, step))
			continue;
		err = fb_alive(c->session, part[step].doing);
		start = fb_clock_ticks(c->session->clock);
		if (!err)
			err = part[step].act(c);
		us[step] = 1e6 * fb_clock_seconds(c->session->clock,
						  fb_clock_ticks(c->session->clock) - start);
		if (step == 1 && looks) {
			after = look(c);
			i->taken = (struct holding){before.device - after.device,
						    after.host - before.host,
						    after.sockets - before.sockets};
			i->looks++;
		}
	}
	if (i->n == MOST_SAMPLES) {
		i->n /= 2;
		memmove(i->us, i->us + i->n, i->n * sizeof(*i->us));
		if (i->held)
			memmove(i->held, i->held + i->n, i->n * sizeof(*i->held));
	}
	if (i->held) {
		after = read_memory(c);
		i->held[i->n][0] = i->before.device - after.device;
		i->held[i->n][1] = after.host - i->before.host;
	}
	memcpy(i->us[i->n++], us, sizeof(us));
	return err;
}

int fb_life_run(void *arg, int calls)
{
	int err = FB_OK;

	for (int call = 0; call < calls && !err; call++)
		err = repeat(arg);
	return err;
}

bool fb_life_anew(void *arg)
{
	return ((const struct instance *)arg)->context.life->anew;
}

struct checking {
	const struct fb_life_part *part;
	int calls;
	struct fb_mismatch *bad;
};

static int check_rank(void *arg, int rank)
{
	const struct checking *c = arg;

	return fb_buffers_check(&c->part->op, &c->part->data, rank, c->calls, c->bad);
}

int fb_life_check(void *arg, int calls, struct fb_mismatch *bad)
{
	struct instance *i = arg;
	int err = FB_OK;

	for (int p = 0; p < i->context.parts && !err; p++) {
		const struct fb_life_part *part = &i->context.part[p];
		struct checking checking = {part, calls, bad};

		if (part->in && part->segment.ops)
			err = fb_engine_each_rank(part->engine.engine, check_rank, &checking);
	}
	return err;
}

/* --- the row ---------------------------------------------------------------------------------- */

void fb_life_describe(void *arg, struct fb_traits *traits)
{
	struct instance *i = arg;
	const struct fb_life_context *c = &i->context;

	traits->algorithm_bytes = nan("");
	traits->bound_us = nan("");
	snprintf(traits->path, sizeof(traits->path), "%s", c->path);
	MPI_Allreduce(MPI_IN_PLACE, i->us, (int)(i->n * STEPS), MPI_DOUBLE, MPI_MAX,
		      c->world->comm);
	if (i->held)
		MPI_Allreduce(MPI_IN_PLACE, i->held, (int)(i->n * MEMORIES), MPI_DOUBLE, MPI_MAX,
			      c->world->comm);
	MPI_Allreduce(MPI_IN_PLACE, &i->taken, 3, MPI_DOUBLE, MPI_MAX, c->world->comm);
	if (c->gpu)
		traits->extra[FB_DEVICE_BYTES] = i->taken.device;
	traits->extra[FB_HOST_BYTES] = i->taken.host;
	traits->extra[FB_SOCKETS] = i->taken.sockets;
}

/* The medians of a value's first and last third of n; `room` is for 2 n + 1 numbers. */
static void put_thirds(const double *first, size_t stride, size_t n, double *room, double *early,
		       double *late)
{
	size_t third = n / 3;

	for (size_t k = 0; k < n; k++)
		room[k] = first[k * stride];
	if (!third)
		return;
	*early = fb_median(room, third, room + n + 1);
	*late = fb_median(room + n - third, third, room + n + 1);
}

void fb_life_summarise(void *arg, const double *samples_us, size_t n, struct fb_traits *traits)
{
	struct instance *i = arg;
	struct fb_life_context *c = &i->context;
	const bool has[STEPS] = {c->life->create != NULL, c->life->call != NULL,
				 c->life->destroy != NULL};
	double *room;
	struct fb_summary s;

	(void)samples_us;
	/* The row's samples are the newest ones. */
	n = n < i->n ? n : i->n;
	room = malloc(3 * (n + 1) * sizeof(*room));
	for (int step = 0; step < STEPS && room; step++) {
		double *extra = &traits->extra[FB_CREATE_US + 3 * step];

		for (size_t k = 0; k < n; k++)
			room[k] = i->us[i->n - n + k][step];
		if (!has[step] || fb_summarise(room, n, room + n + 1, &s))
			continue;
		extra[0] = s.median;
		extra[1] = s.p95;
		extra[2] = s.max;
		if (step == 0)
			put_thirds(i->us[i->n - n], STEPS, n, room,
				   &traits->extra[FB_CREATE_EARLY_US],
				   &traits->extra[FB_CREATE_LATE_US]);
	}
	for (int m = c->gpu ? 0 : 1; m < MEMORIES && i->held && room; m++)
		put_thirds(&i->held[i->n - n][m], MEMORIES, n, room,
			   &traits->extra[FB_DEVICE_EARLY_BYTES + 2 * m],
			   &traits->extra[FB_DEVICE_LATE_BYTES + 2 * m]);
	free(room);
}
