/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces of requests; see trace.h.
 *
 * Generated lengths are log-normal with the medians and tails that the published traces have
 * (Azure's of 2023, Mooncake's conversation trace of FAST 25). Files: Mooncake's has an object a
 * line with timestamp (ms), input_length, output_length and hash_ids, each of 512 tokens; Azure's
 * has lines of TIMESTAMP,ContextTokens,GeneratedTokens under a header.
 */
#include "kvtransfer/serve/trace.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/rng.h"

enum { MOONCAKE_TOKENS = 512, PREFIXES = 16, MOST_IDS = 1 << 14, LINE_CHARS = 1 << 18 };

const char *const fb_arrivals_names[] = {"poisson", "gamma", "fixed", "trace", NULL};
const char *const fb_trace_names[] = {"azure-conv", "azure-code", "mooncake", NULL};

/* Medians and standard deviations of logarithms, and the longest prompt. */
static const struct lengths {
	double input, input_sigma, output, output_sigma, longest;
} lengths[] = {
	{1020, 0.602, 129, 0.992, 14050},
	{1469, 0.697, 13, 1.236, 7437},
	{6909, 1.074, 229, 0.900, 126195},
};

static double normal(struct fb_rng *rng)
{
	double u = 1 - fb_rng_unit(rng), v = fb_rng_unit(rng);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Marsaglia and Tsang's method; mean `shape`. */
static double gamma_of(struct fb_rng *rng, double shape)
{
	double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / sqrt(9 * d);
	double boost = shape < 1 ? pow(1 - fb_rng_unit(rng), 1 / shape) : 1;

	for (;;) {
		double x = normal(rng), v = 1 + c * x, u = 1 - fb_rng_unit(rng);

		v = v * v * v;
		if (v > 0 && log(u) < x * x / 2 + d - d * v + d * log(v))
			return d * v * boost;
	}
}

static uint32_t scaled(double tokens, double scale)
{
	double n = floor(tokens * scale + 0.5);

	return n < 1 ? 1 : n > 1e9 ? 1000000000 : (uint32_t)n;
}

/* Sets lengths and makes room for the blocks' hashes; block b is what `id` makes of it. */
static int set(struct fb_trace *t, struct fb_request *r, const struct fb_trace_config *config,
	       double input, double output)
{
	r->input = scaled(input, config->scale);
	r->output = scaled(output, config->scale);
	r->blocks = (r->input + config->block_tokens - 1) / config->block_tokens;
	r->hash = calloc(r->blocks, sizeof(*r->hash));
	t->longest_input = r->input > t->longest_input ? r->input : t->longest_input;
	t->longest_output = r->output > t->longest_output ? r->output : t->longest_output;
	return r->hash ? FB_OK : fb_error(FB_ENOMEM, "out of memory for a trace");
}

static void own_hashes(struct fb_request *r, uint32_t first, uint64_t salt)
{
	for (uint32_t b = first; b < r->blocks; b++)
		r->hash[b] = fb_mix64(salt + fb_mix64(b));
}

static int generate(struct fb_trace *t, const struct fb_trace_config *config, int which)
{
	const struct lengths *l = &lengths[which];
	struct fb_rng rng;

	fb_rng_seed(&rng, config->seed);
	for (uint32_t i = 0; i < config->count; i++) {
		struct fb_request *r = &t->request[t->count++];
		double input = l->input * exp(l->input_sigma * normal(&rng));
		double output = l->output * exp(l->output_sigma * normal(&rng));
		bool shares = fb_rng_unit(&rng) < config->reuse;
		uint64_t prefix = fb_rng_below(&rng, PREFIXES);
		int err = set(t, r, config, input < l->longest ? input : l->longest, output);

		if (err)
			return err;
		/* The first half is that of all prompts with this prefix. */
		own_hashes(r, 0, fb_mix64(config->seed) + 1000 + prefix);
		own_hashes(r, shares ? r->blocks / 2 : 0, fb_mix64(config->seed + 1) + i);
	}
	return FB_OK;
}

/* --- files ------------------------------------------------------------------------------------ */

/* The number behind "key": in a line of JSON. */
static bool json_number(const char *line, const char *key, double *value)
{
	char quoted[32], *end;
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\"", key);
	at = strstr(line, quoted);
	at = at ? strchr(at, ':') : NULL;
	if (!at)
		return false;
	*value = strtod(at + 1, &end);
	return end != at + 1 && isfinite(*value) && *value >= 0;
}

/* The ids of hash_ids; returns how many, or -1. */
static int json_ids(const char *line, uint64_t *id)
{
	const char *at = strstr(line, "\"hash_ids\"");
	int n = 0;

	at = at ? strchr(at, '[') : NULL;
	if (!at)
		return -1;
	while (*at && *at != ']' && n < MOST_IDS) {
		char *end;

		id[n] = strtoull(at + 1, &end, 10);
		if (end == at + 1)
			return strspn(at + 1, " ]") ? n : -1;
		n++;
		at = end + strspn(end, " ");
		if (*at != ',' && *at != ']')
			return -1;
	}
	return *at == ']' ? n : -1;
}

static int mooncake_line(struct fb_trace *t, const struct fb_trace_config *config,
			 const char *line, uint64_t *id)
{
	struct fb_request *r = &t->request[t->count];
	double at, input, output;
	int ids = json_ids(line, id), err;

	if (ids < 0 || !json_number(line, "timestamp", &at) ||
	    !json_number(line, "input_length", &input) ||
	    !json_number(line, "output_length", &output))
		return FB_EINPUT;
	err = set(t, r, config, input, output);
	if (err)
		return err;
	r->recorded = at / 1000;
	/* Each id stands for 512 tokens of the unscaled prompt, and for all before them. */
	for (uint32_t b = 0; b < r->blocks; b++) {
		double end = (double)(b + 1) * config->block_tokens / config->scale;
		int which = (int)((end - 1) / MOONCAKE_TOKENS);
		uint64_t base = which < ids ? id[which] : fb_mix64(t->count) | 1;

		r->hash[b] = fb_mix64(base + fb_mix64(b));
	}
	t->count++;
	return FB_OK;
}

/* Seconds of "2023-11-16 18:15:46.6805900"; the day's count is by the month's longest. */
static bool azure_time(const char *text, double *seconds)
{
	int year, month, day, hour, minute;
	double second;

	if (sscanf(text, "%d-%d-%d %d:%d:%lf", &year, &month, &day, &hour, &minute, &second) != 6)
		return false;
	*seconds = (((year * 12.0 + month) * 31 + day) * 24 + hour) * 3600 + minute * 60 + second;
	return true;
}

static int azure_line(struct fb_trace *t, const struct fb_trace_config *config, const char *line)
{
	const char *first = strchr(line, ','), *second = first ? strchr(first + 1, ',') : NULL;
	struct fb_request *r = &t->request[t->count];
	double at, input, output;
	char *end;
	int err;

	if (!second || !azure_time(line, &at))
		return FB_EINPUT;
	input = strtod(first + 1, &end);
	if (end != second || !(input >= 0))
		return FB_EINPUT;
	output = strtod(second + 1, &end);
	if (end == second + 1 || !(output >= 0) || (*end && !strchr("\r\n", *end)))
		return FB_EINPUT;
	err = set(t, r, config, input, output);
	if (err)
		return err;
	r->recorded = at;
	own_hashes(r, 0, fb_mix64(t->count));
	t->count++;
	return FB_OK;
}

/* By time, and requests of one moment as they were in the file: `at` is the place there. */
static int by_arrival(const void *a, const void *b)
{
	const struct fb_request *x = a, *y = b;

	if (x->recorded == y->recorded)
		return (x->at > y->at) - (x->at < y->at);
	return x->recorded > y->recorded ? 1 : -1;
}

static int read_file(struct fb_trace *t, const struct fb_trace_config *config)
{
	char *line = malloc(LINE_CHARS);
	uint64_t *id = calloc(MOST_IDS, sizeof(*id));
	FILE *f = fopen(config->source, "r");
	unsigned number = 0;
	int err = line && id ? FB_OK : fb_error(FB_ENOMEM, "out of memory for a trace");

	if (!f && !err)
		err = fb_error(FB_EINPUT, "--trace %s: neither a file nor one of azure-conv, "
			       "azure-code, mooncake", config->source);
	while (!err && t->count < config->count && fgets(line, LINE_CHARS, f)) {
		bool header = ++number == 1 && !strncmp(line, "TIMESTAMP,", 10);

		if (header || line[strspn(line, " \r\n")] == '\0')
			continue;
		err = *line == '{' ? mooncake_line(t, config, line, id)
				   : azure_line(t, config, line);
		if (err == FB_EINPUT)
			fb_error_print("%s:%u: expected {\"timestamp\": ms, \"input_length\": n, "
				       "\"output_length\": n, \"hash_ids\": [...]}, or "
				       "TIMESTAMP,ContextTokens,GeneratedTokens", config->source,
				       number);
	}
	if (!err && !t->count)
		err = fb_error(FB_EINPUT, "%s: no request", config->source);
	/* A request that is looked at late would seem to have waited for the service. */
	for (uint32_t i = 0; i < t->count; i++)
		t->request[i].at = i;
	qsort(t->request, t->count, sizeof(*t->request), by_arrival);
	if (f)
		fclose(f);
	free(line);
	free(id);
	return err;
}

int fb_trace_open(struct fb_trace *t, const struct fb_trace_config *config)
{
	int err;

	*t = (struct fb_trace){.request = calloc(config->count, sizeof(*t->request))};
	if (!t->request)
		return fb_error(FB_ENOMEM, "out of memory for a trace");
	for (int i = 0; fb_trace_names[i]; i++)
		if (!strcmp(config->source, fb_trace_names[i]))
			return generate(t, config, i);
	err = read_file(t, config);
	if (err)
		fb_trace_close(t);
	return err;
}

void fb_trace_close(struct fb_trace *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		free(t->request[i].hash);
	free(t->request);
	*t = (struct fb_trace){.count = 0};
}

void fb_trace_arrive(struct fb_trace *t, uint32_t n, enum fb_arrivals how, double rate, double cv,
		     uint64_t seed)
{
	double first = t->request[0].recorded, at = 0;
	double span = t->request[n - 1].recorded - first;
	double stretch = rate > 0 && span > 0 ? (n - 1) / rate / span : 1;
	double shape = 1 / (cv * cv);
	struct fb_rng rng;

	fb_rng_seed(&rng, seed);
	for (uint32_t i = 0; i < n; i++) {
		struct fb_request *r = &t->request[i];

		r->at = how == FB_ARRIVE_TRACE ? (r->recorded - first) * stretch : at;
		if (how == FB_ARRIVE_POISSON)
			at -= log(1 - fb_rng_unit(&rng)) / rate;
		else if (how == FB_ARRIVE_GAMMA)
			at += gamma_of(&rng, shape) / shape / rate;
		else
			at += 1 / rate;
	}
}
