/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks: 1 2 4
 *
 * A program without substance, to test the harness around it: its operation copies a buffer,
 * and each "algorithm" is one way in which a program or a rank can behave. Run as a test it
 * measures a few good cases; tests/harness starts it with the bad ones.
 */
#include "common/base/error.h"
#include "common/run/axes.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum behaviour {
	COPY,	     /* good */
	SLEEP,	     /* good, and takes 1 ms */
	SLOW,	     /* good, and takes 300 ms: few samples */
	SPEEDING_UP, /* the first calls take longer: drift */
	WRONG,	     /* wrong data from the start, on the last rank */
	STALE,	     /* good at first, wrong data in the last repetition */
	SKIP,	     /* `can` says no */
	UNSUPPORTED, /* setup says no, on all ranks */
	BROKEN,	     /* setup fails on all ranks */
	LOPSIDED,    /* setup fails on the last rank only */
	UNMET,	     /* the same, and the others wait for it in setup */
	TOLD,	     /* setup waits on all ranks, and the last is told to end */
	FAILING,     /* the operation fails on the last rank */
	HANGING,     /* the last rank does not come back from the operation */
	STOPPED,     /* the last rank is stopped */
	KILLED,	     /* the last rank dies */
};

static const char *const algorithms[] = {
	[COPY] = "copy",
	[SLEEP] = "sleep",
	[SLOW] = "slow",
	[SPEEDING_UP] = "speeding-up",
	[WRONG] = "wrong",
	[STALE] = "stale",
	[SKIP] = "skip",
	[UNSUPPORTED] = "unsupported",
	[BROKEN] = "broken",
	[LOPSIDED] = "lopsided",
	[UNMET] = "unmet",
	[TOLD] = "told",
	[FAILING] = "failing",
	[HANGING] = "hanging",
	[STOPPED] = "stopped",
	[KILLED] = "killed",
	NULL,
};

static const char *const engines[] = {"dummy", NULL};

enum { TROUBLE_CALL = 30 }; /* the call at which a rank misbehaves: past the warm-up's start */

struct instance {
	enum behaviour behaviour;
	struct fb_data data;
	int rank;
	bool last;
	int calls, primes;
	size_t count;
	float *from, *to;
};

struct state {
	struct fb_run *run;
};

static int open_state(struct fb_run *run, void **state)
{
	struct state *s = malloc(sizeof(*s));

	if (!s)
		return fb_error(FB_ENOMEM, "out of memory");
	s->run = run;
	*state = s;
	return FB_OK;
}

static int expand(struct fb_run *run, void *state)
{
	const struct fb_case base = {.operation = "dummy",
				     .protocol = "-",
				     .transport = "-",
				     .memory = "-",
				     .registration = "-",
				     .launch = "-"};
	const struct fb_axes_accepted accepted = {.engines = engines,
						  .algorithms = algorithms,
						  .has_redop = true,
						  .has_in_place = true};

	(void)state;
	return fb_axes_expand(run, &base, &accepted, NULL, NULL);
}

static bool can(void *state, const struct fb_case *c, char reason[FB_REASON_CHARS])
{
	(void)state;
	if (strcmp(c->algorithm, algorithms[SKIP]))
		return true;
	snprintf(reason, FB_REASON_CHARS, "asked to be skipped, with a comma");
	return false;
}

static int setup(void *state, const struct fb_case *c, void **instance)
{
	const struct state *s = state;
	const struct fb_group *world = fb_run_world(s->run);
	struct instance *i = calloc(1, sizeof(*i));
	int err = FB_OK;

	if (!i)
		return FB_ENOMEM;
	while (strcmp(algorithms[i->behaviour], c->algorithm))
		i->behaviour++;
	i->rank = world->rank;
	i->last = world->rank == world->nranks - 1;
	i->count = c->bytes / sizeof(float);
	i->data = (struct fb_data){.seed = fb_run_settings(s->run)->seed,
				   .type = FB_F32,
				   .op = FB_SUM,
				   .nranks = world->nranks};
	i->from = calloc(2 * i->count + 1, sizeof(float));
	i->to = i->from + i->count;
	if (i->behaviour == UNSUPPORTED)
		err = FB_EUNSUPPORTED;
	if (i->behaviour == BROKEN ||
	    ((i->behaviour == LOPSIDED || i->behaviour == UNMET) && i->last))
		err = FB_ESYS;
	if (i->behaviour == TOLD && i->last)
		kill(getpid(), SIGTERM);
	while ((i->behaviour == TOLD || i->behaviour == UNMET) && !err)
		err = fb_alive(fb_run_session(s->run), "waiting for nobody");
	if (!i->from || err) {
		free(i->from);
		free(i);
		return err ? err : FB_ENOMEM;
	}
	*instance = i;
	return FB_OK;
}

static int prime(void *instance)
{
	struct instance *i = instance;

	i->primes++;
	fb_data_fill(&i->data, i->rank, 0, i->from, i->count);
	memset(i->to, fb_data_poison_byte(1), i->count * sizeof(float));
	return FB_OK;
}

static void sleep_us(long us)
{
	const struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

	nanosleep(&t, NULL);
}

/* What a rank does at the call of trouble; returns the call's result. */
static int trouble(enum behaviour behaviour)
{
	if (behaviour == FAILING)
		return FB_EPEER;
	if (behaviour == HANGING)
		for (;;)
			sleep_us(1000000);
	if (behaviour == STOPPED)
		raise(SIGSTOP);
	if (behaviour == KILLED)
		raise(SIGKILL);
	return FB_OK;
}

static int call(struct instance *i)
{
	i->calls++;
	if (i->behaviour == SLEEP)
		sleep_us(1000);
	if (i->behaviour == SLOW)
		sleep_us(300000);
	if (i->behaviour == SPEEDING_UP)
		sleep_us(i->calls < 25 ? 3000 : 1000);
	memcpy(i->to, i->from, i->count * sizeof(float));
	if (i->last && i->count &&
	    (i->behaviour == WRONG || (i->behaviour == STALE && i->primes > 1)))
		((unsigned char *)&i->to[i->count / 2])[0] ^= 1;
	return i->last && i->calls == TROUBLE_CALL ? trouble(i->behaviour) : FB_OK;
}

static int run(void *instance, int calls)
{
	int err = FB_OK;

	while (!err && calls-- > 0)
		err = call(instance);
	return err;
}

static int check(void *instance, int calls, struct fb_mismatch *bad)
{
	struct instance *i = instance;

	(void)calls;
	fb_data_check(&i->data, i->rank, 0, i->to, i->count, bad);
	return FB_OK;
}

static void describe(void *instance, struct fb_traits *traits)
{
	struct instance *i = instance;

	traits->algorithm_bytes = (double)(i->count * sizeof(float));
	traits->bus_factor = 0.5;
	traits->channels = 1;
	traits->extra[0] = i->calls;
	snprintf(traits->path, sizeof(traits->path), "memcpy");
	snprintf(traits->flags, sizeof(traits->flags), "dummy;own");
}

static void teardown(void *instance)
{
	struct instance *i = instance;

	free(i->from);
	free(i);
}

static int check_plan(void *state, const struct fb_case *c, FILE *report)
{
	(void)state;
	if (strcmp(c->algorithm, algorithms[WRONG]))
		return FB_OK;
	fprintf(report, "rank 0 reads what nobody wrote");
	return FB_EPLAN;
}

static const struct fb_column columns[] = {
	{.name = "calls",
	 .kind = FB_COLUMN_VALUE,
	 .type = FB_COLUMN_U64,
	 .unit = "",
	 .help = "calls of the operation on rank 0"},
};

static const struct fb_default defaults[] = {
	{"algorithm", "copy,sleep"},
	{"bytes", "0,8,4K"},
	{"max-time", "200ms"},
	{NULL, NULL},
};

static const struct fb_program program = {
	.name = "dummy",
	.summary = "a program without substance, to test the harness",
	.defaults = defaults,
	.columns = columns,
	.ncolumns = sizeof(columns) / sizeof(columns[0]),
	.open = open_state,
	.close = free,
	.expand = expand,
	.can = can,
	.setup = setup,
	.prime = prime,
	.run = run,
	.check = check,
	.describe = describe,
	.teardown = teardown,
	.check_plan = check_plan,
};

int main(int argc, char **argv)
{
	return fb_program_main(&program, argc, argv);
}
