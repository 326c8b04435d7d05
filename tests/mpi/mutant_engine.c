/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks: 2
 *
 * all_reduce with engines that are wrong, to prove that verification catches them: the host
 * engine, and copies of it with one mistake each. tests/faults/mutants.sh runs them all and wants
 * every row to say `wrong`; run as a test by itself it uses the right one only.
 *
 * The list of engines below takes the place of the library's, which is therefore not linked.
 */
#include <stdlib.h>

#include "collectives/engine/host.h"
#include "collectives/program.h"
#include "common/base/error.h"
#include "tests/mpi/mutant_ports.h"

enum { ELEMENT_BYTES_MAX = 8 };

struct mutant_request {
	struct fb_request request;
	struct fb_request *inner; /* the host engine's */
	struct fb_port_ops sender, receiver;
	unsigned char before[ELEMENT_BYTES_MAX]; /* of the middle element, when it started */
	unsigned char first_left;                /* the output's first byte, when it ended */
	unsigned calls;                          /* that have ended */
	int fresh;                               /* starts on buffers that were filled anew */
	bool idle;                               /* this start did nothing */
};

static struct mutant_request *mutant_of(struct fb_request *request)
{
	return (struct mutant_request *)request;
}

static const struct host_request *host_of(const struct mutant_request *m)
{
	return (const struct host_request *)m->inner;
}

static char *output_of(const struct mutant_request *m)
{
	return fb_operation_out(host_of(m)->op, host_of(m)->engine->group->rank);
}

static size_t element_bytes(const struct mutant_request *m)
{
	return fb_datatype_size(host_of(m)->op->datatype);
}

static bool is_last_rank(const struct mutant_request *m)
{
	const struct fb_group *w = host_of(m)->engine->group;

	return w->rank == w->nranks - 1;
}

static int start_right(struct fb_request *request)
{
	return fb_engine_host.start(mutant_of(request)->inner);
}

static int wait_right(struct fb_request *request)
{
	return fb_engine_host.wait(mutant_of(request)->inner);
}

/* --- drop: the middle element stays as it was, on the last rank ----------------------------- */

static char *middle(const struct mutant_request *m)
{
	return output_of(m) + host_of(m)->op->count / 2 * element_bytes(m);
}

static int start_drop(struct fb_request *request)
{
	struct mutant_request *m = mutant_of(request);

	memcpy(m->before, middle(m), element_bytes(m));
	return start_right(request);
}

static int wait_drop(struct fb_request *request)
{
	struct mutant_request *m = mutant_of(request);
	int err = wait_right(request);

	if (!err && is_last_rank(m))
		memcpy(middle(m), m->before, element_bytes(m));
	return err;
}

/* --- bit: the last element is wrong by the least there is, on the last rank ----------------- */

static int wait_bit(struct fb_request *request)
{
	const struct mutant_request *m = mutant_of(request);
	int err = wait_right(request);

	if (!err && is_last_rank(m))
		output_of(m)[(host_of(m)->op->count - 1) * element_bytes(m)] ^= 1;
	return err;
}

/* --- seldom: the same in every seventh call only, of which the last is mostly none ---------- */

static int wait_seldom(struct fb_request *request)
{
	struct mutant_request *m = mutant_of(request);

	return ++m->calls % 7 ? wait_right(request) : wait_bit(request);
}

/* --- swap: two quarters of the result change places, on the last rank ----------------------- */

static int wait_swap(struct fb_request *request)
{
	const struct mutant_request *m = mutant_of(request);
	size_t quarter = host_of(m)->op->count / 4 * element_bytes(m);
	int err = wait_right(request);

	for (size_t i = 0; !err && is_last_rank(m) && i < quarter; i++) {
		char *a = output_of(m) + i, *b = a + 2 * quarter, held = *a;

		*a = *b;
		*b = held;
	}
	return err;
}

/*
 * --- stale: from the second check on nothing is done, on all ranks --------------------------
 *
 * Which is the last timed repetition; the first check and all the timing before find no fault.
 */

static int start_stale(struct fb_request *request)
{
	struct mutant_request *m = mutant_of(request);
	unsigned char first = (unsigned char)output_of(m)[0];

	m->fresh += !m->fresh || first != m->first_left;
	m->idle = m->fresh > 1;
	return m->idle ? FB_OK : start_right(request);
}

static int wait_stale(struct fb_request *request)
{
	struct mutant_request *m = mutant_of(request);
	int err = m->idle ? FB_OK : wait_right(request);

	m->first_left = (unsigned char)output_of(m)[0];
	return err;
}

/*
 * --- blind, of protocol direct: rank 1 takes every message as announced ----------------------
 *
 * Rank 0 counts its messages from a high number on, so all of them seem to have been announced,
 * and is late with them; but not with leave to push to it, for which rank 1 would still wait.
 */

static bool is_late(const struct fb_port *port)
{
	return !port->ops && port->peer % 2;
}

static void announce_all(const struct host_channel *ch)
{
	for (int i = 0; i < ch->plan->n_out_links; i++) {
		struct fb_shm_port *p = fb_shm_port(ch->out[i]);

		if (!is_late(&p->port))
			continue;
		p->messages = 1 << 30;
		atomic_store(&p->receiver->available, p->messages);
	}
}

static int start_blind(struct fb_request *request)
{
	const struct host_request *r = host_of(mutant_of(request));

	for (int c = 0; c < r->nchannels; c++)
		for (int i = 0; i < r->channels[c].plan->n_in_links; i++)
			if (is_late(r->channels[c].in[i]))
				fb_direct_credit(fb_shm_port(r->channels[c].in[i]));
	if (r->n_shm && is_late(r->shm_ports[0]))
		nap(r->shm_ports[0]);
	return start_right(request);
}

/* --- preparing them ------------------------------------------------------------------------- */

static void put(struct fb_port_ops *ops, const struct fb_port_ops *with)
{
	if (with->acquire)
		ops->acquire = with->acquire;
	if (with->commit)
		ops->commit = with->commit;
	if (with->peek)
		ops->peek = with->peek;
	if (with->release)
		ops->release = with->release;
}

static const struct mutant_port *find_port(const char *kind, const char *protocol)
{
	for (size_t i = 0; i < sizeof(mutant_ports) / sizeof(mutant_ports[0]); i++)
		if (!strcmp(mutant_ports[i].kind, kind) &&
		    !strcmp(mutant_ports[i].protocol, protocol))
			return &mutant_ports[i];
	return NULL;
}

static bool is_port_mutant(const char *engine)
{
	return !strcmp(engine, "blind") || !strcmp(engine, "early") ||
	       !strcmp(engine, "greedy") || !strcmp(engine, "tired");
}

/* The one mutant of ports that have no functions. */
static bool is_direct(const struct fb_case *c)
{
	return !strcmp(c->engine, "blind") && !strcmp(c->protocol, "direct");
}

/* Gives all ports of the request the mistake of the mutant. */
static void change_ports(struct mutant_request *m, const struct fb_case *c)
{
	const struct mutant_port *mutant = find_port(c->engine, c->protocol);
	const struct host_request *r = host_of(m);

	if (mutant && r->n_shm) {
		m->sender = m->receiver = *r->shm_ports[0]->ops;
		put(&m->sender, &mutant->sender);
		put(&m->receiver, &mutant->receiver);
	}
	for (int i = 0; i < r->nchannels; i++) {
		const struct host_channel *ch = &r->channels[i];

		if (is_direct(c))
			announce_all(ch);
		for (int k = 0; mutant && k < ch->plan->n_out_links; k++)
			ch->out[k]->ops = &m->sender;
		for (int k = 0; mutant && k < ch->plan->n_in_links; k++)
			ch->in[k]->ops = &m->receiver;
	}
}

static bool can(const struct fb_engine *engine, const struct fb_case *c,
		const struct fb_operation *op, char reason[FB_REASON_CHARS])
{
	if (is_port_mutant(c->engine) && !is_direct(c) && !find_port(c->engine, c->protocol)) {
		snprintf(reason, FB_REASON_CHARS, "no such mistake in protocol %s", c->protocol);
		return false;
	}
	return fb_engine_host.can(engine, c, op, reason);
}

static int prepare(struct fb_request *request, const struct fb_case *c,
		   const struct fb_operation *op)
{
	struct mutant_request *m = mutant_of(request);
	int err;

	m->inner = calloc(1, fb_engine_host.request_bytes);
	if (!m->inner)
		return FB_ENOMEM;
	m->inner->engine = request->engine;
	err = fb_engine_host.prepare(m->inner, c, op);
	if (!err)
		change_ports(m, c);
	return err;
}

static void describe(struct fb_request *request, struct fb_traits *traits)
{
	fb_engine_host.describe(mutant_of(request)->inner, traits);
}

static void release(struct fb_request *request)
{
	struct mutant_request *m = mutant_of(request);

	if (m->inner)
		fb_engine_host.release(m->inner);
	free(m->inner);
}

static int test_right(struct fb_request *request, bool *done)
{
	return fb_engine_host.test(mutant_of(request)->inner, done);
}

static int open_host(struct fb_engine *engine)
{
	return fb_engine_host.open(engine);
}

static void close_host(struct fb_engine *engine)
{
	fb_engine_host.close(engine);
}

#define MUTANT(name_, start_, wait_)                                                               \
	{                                                                                          \
		.name = (name_), .planned = true, .bytes = sizeof(struct host_engine),             \
		.request_bytes = sizeof(struct mutant_request), .open = open_host,                 \
		.close = close_host, .can = can, .prepare = prepare, .start = (start_),            \
		.test = test_right, .wait = (wait_), .describe = describe, .release = release      \
	}

static const struct fb_engine_ops mutants[] = {
	MUTANT("drop", start_drop, wait_drop), /* leaves an element out */
	MUTANT("bit", start_right, wait_bit), /* flips a bit */
	MUTANT("swap", start_right, wait_swap), /* swaps two chunks */
	MUTANT("stale", start_stale, wait_stale), /* does nothing in the last repetition */
	MUTANT("blind", start_blind, wait_right), /* does not wait for a message's flag */
	MUTANT("early", start_right, wait_right), /* raises a message's flag before the data */
	MUTANT("greedy", start_right, wait_right), /* does not wait for a free slot */
	MUTANT("tired", start_right, wait_right), /* sends no payload from the 13th message on */
	MUTANT("seldom", start_right, wait_seldom), /* flips a bit in every seventh call */
};

const struct fb_engine_ops *const fb_engines[] = {
	&fb_engine_host, &mutants[0], &mutants[1], &mutants[2], &mutants[3],
	&mutants[4],	 &mutants[5], &mutants[6], &mutants[7], &mutants[8], NULL,
};

static const struct fb_default defaults[] = {
	{"engine", "host"},
	{"bytes", "8,64K"},
	{"algorithm", "ring,recursive_doubling"},
	{"max-time", "20ms"},
	{NULL, NULL},
};

static const struct fb_collective_program program = {
	.collective = FB_ALL_REDUCE,
	.summary = "all_reduce by engines that make mistakes",
	.description = "Proves that verification catches them.",
	.defaults = defaults,
};

int main(int argc, char **argv)
{
	return fb_collective_main(&program, argc, argv);
}
