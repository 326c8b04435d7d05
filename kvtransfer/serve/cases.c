/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of serve; see serve.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/record/key.h"
#include "common/run/axes.h"
#include "common/transport/keys.h"
#include "kvtransfer/serve/serve.h"

enum { RATES = 64, POOL_REQUESTS = 8 };

const char *const fb_serve_operations[] = {"replay", "knee", "verdict", NULL};
const char *const fb_serve_policies[] = {"round_robin", "least_loaded", "prefix", NULL};

/* The program's own axes. */
struct keys {
	uint64_t arrivals, block, chunk, model, prefill, requests, router;
	double rate, scale;
	const char *trace;
};

#define KEY(name, type, names) {#name, type, offsetof(struct keys, name), names}

static const struct fb_key keys[] = {
	KEY(arrivals, FB_KEY_CHOICE, fb_arrivals_names),
	KEY(block, FB_KEY_U64, NULL),
	KEY(chunk, FB_KEY_U64, NULL),
	KEY(model, FB_KEY_CHOICE, fb_kv_model_names),
	KEY(prefill, FB_KEY_U64, NULL),
	KEY(rate, FB_KEY_F64, NULL),
	KEY(requests, FB_KEY_U64, NULL),
	KEY(router, FB_KEY_CHOICE, fb_serve_policies),
	KEY(scale, FB_KEY_F64, NULL),
	KEY(trace, FB_KEY_TEXT, NULL),
	{NULL, FB_KEY_U64, 0, NULL},
};

static const char *const algorithms[] = {"colocated", "disaggregated", "both", NULL};
static const char *const memories[] = {"host", "device", NULL};

struct fb_kv_backend *fb_serve_engine_of(struct fb_serve_state *state, const struct fb_case *c)
{
	const struct fb_serve_plan p = fb_serve_plan_of(state, c);
	uint32_t last = p.longest_input / (uint32_t)state->own->block_tokens;
	struct fb_kv_need need = {.pieces = 0};

	for (int l = 0; l < p.lists; l++) {
		uint32_t blocks = last + 1 - fb_serve_first(&p, l, p.longest_input);
		double pieces = (double)blocks * p.list[l].regions;

		need.pieces += pieces;
		need.bytes += pieces * (double)p.list[l].page_bytes;
	}
	return fb_kv_backend_of(&state->machine, c, &need);
}

int fb_serve_trace(const struct fb_serve_settings *own, bool search, uint64_t seed,
		   struct fb_trace *trace)
{
	/* Every rank makes the trace, so what a search has beyond --requests is bounded. */
	double most = fmax(65536, (double)own->requests);
	double more = (double)own->requests * FB_KNEE_MOST_REQUESTS;
	uint32_t count = search ? (uint32_t)fmin(more, most) : (uint32_t)own->requests;
	const struct fb_trace_config config = {
		.source = own->trace, .count = count, .scale = own->scale,
		.block_tokens = (uint32_t)own->block_tokens, .reuse = own->reuse, .seed = seed};

	return fb_trace_open(trace, &config);
}

struct fb_serve_plan fb_serve_plan_of(const struct fb_serve_state *state, const struct fb_case *c)
{
	const struct fb_serve_settings *own = state->own;
	const struct keys *k = FB_OWN_CONST(struct keys, c);
	struct fb_serve_plan p = {
		.mode = strcmp(c->algorithm, "colocated") ? FB_SERVE_DISAGGREGATED
							   : FB_SERVE_COLOCATED,
		.workers = state->machine.world->nranks - 1,
		.prefill = (int)k->prefill,
		.model = fb_kv_model_find(fb_kv_model_names[k->model]),
		.rate = k->rate,
		.policy = (enum fb_serve_policy)k->router,
		.arrivals = (enum fb_arrivals)k->arrivals,
	};

	while (p.operation < FB_SERVE_VERDICT &&
	       strcmp(fb_serve_operations[p.operation], c->operation))
		p.operation++;
	p.longest_input = state->longest_input[p.operation != FB_SERVE_REPLAY];
	p.longest_output = state->longest_output[p.operation != FB_SERVE_REPLAY];
	p.shape = fb_kv_model_shape(p.model, (uint32_t)fb_datatype_size(c->datatype));
	p.shape.block_tokens = (uint32_t)own->block_tokens;
	p.pool_blocks = own->pool_blocks
				? (uint32_t)own->pool_blocks
				: POOL_REQUESTS * (p.longest_input / p.shape.block_tokens + 1);
	fb_serve_lists(&p);
	return p;
}

/* Until the last arrival: of a replay, or of a search's first one, which has no fewer requests. */
static double arrivals_s(const struct fb_serve_state *state, const struct fb_serve_plan *p)
{
	bool search = p->operation != FB_SERVE_REPLAY;
	double n = fb_knee_requests(p->rate, state->own->ttft_s, (uint32_t)state->own->requests);

	return p->rate > 0 ? (fmin(n, state->requests[search]) - 1) / p->rate : state->recorded_s;
}

bool fb_serve_can(void *arg, const struct fb_case *c, char reason[FB_REASON_CHARS])
{
	struct fb_serve_state *state = arg;
	const struct fb_serve_settings *own = state->own;
	const struct fb_kv_backend *e = fb_serve_engine_of(state, c);
	const struct fb_serve_plan p = fb_serve_plan_of(state, c);
	uint64_t most = fb_kv_most_bytes(&state->machine, e->device);
	bool generated = false, apart = strcmp(c->algorithm, "colocated") != 0;
	char asked[FB_SIZE_CHARS], limit[FB_SIZE_CHARS];

	for (int i = 0; fb_trace_names[i]; i++)
		generated |= !strcmp(own->trace, fb_trace_names[i]);
	if (*e->why)
		snprintf(reason, FB_REASON_CHARS, "%s", e->why);
	else if (apart && p.prefill >= p.workers)
		snprintf(reason, FB_REASON_CHARS,
			 "%d ranks are needed: a router, %d for prompts and one that decodes",
			 p.prefill + 2, p.prefill);
	else if (!p.workers)
		snprintf(reason, FB_REASON_CHARS, "2 ranks are needed: a router and a worker");
	else if (c->cadence == FB_STREAMING && p.operation != FB_SERVE_REPLAY)
		snprintf(reason, FB_REASON_CHARS, "searches cannot run in batches");
	else if (generated && p.arrivals == FB_ARRIVE_TRACE)
		snprintf(reason, FB_REASON_CHARS, "a generated trace has no times of arrival");
	else if (p.rate <= 0 && p.arrivals != FB_ARRIVE_TRACE)
		snprintf(reason, FB_REASON_CHARS, "arrivals need a rate");
	else if (arrivals_s(state, &p) >= state->machine.settings->timeout_s)
		snprintf(reason, FB_REASON_CHARS,
			 "requests arrive in %.4g s, and --timeout ends a replay after %.4g s",
			 arrivals_s(state, &p), state->machine.settings->timeout_s);
	else if (p.bytes > most)
		snprintf(reason, FB_REASON_CHARS, "a worker's cache needs %s, its memory is %s",
			 fb_size_text((p.bytes >> 20 << 20) + (1 << 20), asked),
			 fb_size_text(most >> 20 << 20, limit));
	else if (p.pool_blocks * own->block_tokens < p.longest_input)
		snprintf(reason, FB_REASON_CHARS, "the longest prompt has %u tokens, a cache %llu",
			 p.longest_input,
			 (unsigned long long)p.pool_blocks * own->block_tokens);
	else
		return true;
	return false;
}

/* Without the time of the last answers, and as if the knee were at the rate that is given. */
void fb_serve_seconds(void *arg, const struct fb_case *c, double *sample, double *other)
{
	const struct fb_serve_state *state = arg;
	const struct fb_serve_plan p = fb_serve_plan_of(state, c);
	double replay = arrivals_s(state, &p);

	*other = p.operation == FB_SERVE_VERDICT ? FB_SERVE_MODES * replay : replay;
	*sample = p.operation == FB_SERVE_REPLAY ? replay : FB_KNEE_FEWEST * *other;
}

/* fb_axes_adjust_fn. */
static bool adjust(void *arg, struct fb_case *c)
{
	struct fb_serve_state *state = arg;
	bool verdict = !strcmp(c->operation, "verdict"), both = !strcmp(c->algorithm, "both");
	bool colocated = !strcmp(c->algorithm, "colocated"), device = !strcmp(c->memory, "device");
	char ignored[FB_REASON_CHARS];
	struct fb_kv_backend *e;

	if (verdict != both)
		return false;
	if (device && !state->machine.has_gpu && !strcmp(state->machine.settings->memory, "all"))
		return false;
	if (colocated) {
		if (FB_OWN_CONST(struct keys, c)->prefill != state->own->prefill.value[0])
			return false;
		c->engine = "none";
	}
	e = fb_serve_engine_of(state, c);
	if ((strcmp(e->name, c->engine) && strcmp(c->engine, "auto")) || e->device != device ||
	    (!colocated && !e->ops))
		return false;
	/* Without GPUs the rows say so. */
	if (device <= state->machine.has_gpu && e->left_out)
		return false;
	c->transport = e->ops ? e->ops->transport : "-";
	fb_transport_keys(c, state->machine.settings, device);
	c->launch = "blocking";
	if (fb_serve_can(state, c, ignored) && fb_serve_plan_of(state, c).bytes > e->part_bytes)
		e->part_bytes = fb_serve_plan_of(state, c).bytes;
	return true;
}

/* The rates of a list; returns how many, or 0 (printed). */
static size_t read_rates(const char *list, double rates[RATES])
{
	const char *cursor = list;
	size_t count = 0;

	while (count < RATES) {
		char item[64], *end = item;
		int got = fb_option_next_item(&cursor, item, sizeof(item));
		double rate = got == 1 ? strtod(item, &end) : 0;

		if (got == 0)
			return count;
		if (got != 1 || end == item || *end || !(rate >= 0 && rate < 1e6))
			break;
		rates[count++] = rate;
	}
	fb_option_reject(stderr, "rate", list, "requests a second, as 0.5,2,8; 0: as recorded");
	return 0;
}

int fb_serve_expand(struct fb_run *run, void *arg)
{
	struct fb_serve_state *state = arg;
	const struct fb_serve_settings *own = state->own;
	const char *engines[FB_KV_BACKENDS + 2];
	const struct fb_axes_accepted accepted = {
		.engines = engines, .algorithms = algorithms, .memories = memories};
	size_t models = 0, at[6] = {0};
	const char *slash = strrchr(own->trace, '/');
	double rates[RATES];
	int err = FB_OK;

	while (fb_kv_model_names[models])
		models++;
	fb_kv_backend_names(&state->machine, engines);
	const size_t count[] = {models, FB_SERVE_OPERATIONS, FB_SERVE_POLICIES, FB_ARRIVALS,
				own->prefill.count,
				read_rates(own->rates, rates)};
	if (!count[5])
		return FB_EINPUT;
	do {
		struct fb_case base = {.operation = fb_serve_operations[at[1]],
				       .registration = "none"};

		if (!(own->models >> at[0] & 1) || !(own->operations >> at[1] & 1) ||
		    !(own->policies >> at[2] & 1) || !(own->arrivals >> at[3] & 1))
			continue;
		*FB_OWN(struct keys, &base) = (struct keys){
			.arrivals = at[3],
			.block = own->block_tokens,
			.chunk = own->chunk,
			.model = at[0],
			.prefill = own->prefill.value[at[4]],
			.rate = rates[at[5]],
			.requests = own->requests,
			.router = at[2],
			.scale = own->scale,
			.trace = slash ? slash + 1 : own->trace,
		};
		fb_keys_put(&base, keys);
		err = fb_axes_expand(run, &base, &accepted, adjust, state);
	} while (!err && fb_product_next(at, count, sizeof(count) / sizeof(count[0])));
	return err;
}
