/* SPDX-License-Identifier: BSD-3-Clause */
/* The program serve: its options and what joins it to the harness; see serve/serve.h. */
#include "common/base/error.h"
#include "common/record/timeline.h"
#include "common/run/run.h" /* fb_run.program, for its own options' values */
#include "kvtransfer/serve/serve.h"

#define SETTINGS struct fb_serve_settings

static int open_program(struct fb_run *run, void **result)
{
	struct fb_kv_machine *m;
	struct fb_serve_state *state;
	struct fb_trace trace;
	int err = fb_kv_machine_new(&m, run, sizeof(*state));

	if (err)
		return err;
	state = (struct fb_serve_state *)m;
	state->own = run->program->option_values;
	/* Caches alone in both kinds of memory, and every mover that can put. */
	fb_kv_machine_add(m, "none", NULL, false);
	fb_kv_machine_add(m, "none", NULL, true);
	fb_kv_machine_add_movers(m, 1u << FB_MOVE_PUT);
	/* Rank 0 reads first, so that a file that no rank can read is reported once. */
	for (int turn = 0; turn < 4 && !err; turn++) {
		uint64_t replay = UINT64_C(1) << FB_SERVE_REPLAY;
		int search = turn % 2;

		if ((turn < 2) == (m->world->rank == 0) &&
		    state->own->operations & (search ? ~replay : replay)) {
			err = fb_serve_trace(state->own, search, m->settings->seed, &trace);
			state->longest_input[search] = trace.longest_input;
			state->longest_output[search] = trace.longest_output;
			state->requests[search] = trace.count;
			if (!search && !err)
				state->recorded_s = trace.request[trace.count - 1].recorded -
						    trace.request[0].recorded;
			fb_trace_close(&trace);
		}
		err = fb_group_agree(m->world, err);
	}
	if (!err)
		err = fb_timeline_open("trace-out", state->own->trace_out, m->world);
	if (!err)
		err = fb_kv_machine_open(m, fb_option_names(m->settings->memory, "device"));
	if (err)
		fb_kv_machine_close(m);
	else
		*result = state;
	return err;
}

#define U64(field, name, fallback, low, high, help)                                                \
	FB_OPTION_U64(SETTINGS, field, 0, name, "N", fallback, low, high, help)
#define CHOICES(field, name, fallback, names, help)                                                \
	FB_OPTION_CHOICES(SETTINGS, field, 0, name, fallback, names, help)

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Requests"),
	FB_OPTION_STRING(SETTINGS, trace, 0, "trace", "NAME", "azure-conv", NULL,
			 "lengths as of azure-conv, azure-code or mooncake, generated; or a file: "
			 "Mooncake's .jsonl, Azure's .csv"),
	U64(requests, "requests", "100", 1, 1000000,
	    "requests of a replay, of a file the first ones; a search for a knee takes up to 16 "
	    "times as many, so that a replay lasts ten objectives for the first token"),
	FB_OPTION_DOUBLE(SETTINGS, scale, 0, "scale", "X", "0.0625", 1e-4, 1e4,
			 "multiplies the lengths of prompts and answers"),
	FB_OPTION_RATIO(SETTINGS, reuse, 0, "reuse", "0", 0, 1,
			"share of generated prompts that begin as others do"),
	FB_OPTION_STRING(SETTINGS, rates, 0, "rate", "LIST", "20", NULL,
			 "requests a second: a replay takes --requests / --rate; in a search for a "
			 "knee, the first rate that is tried"),
	CHOICES(arrivals, "arrivals", "poisson", fb_arrivals_names,
		"intervals between requests; trace: a file's, stretched to --rate"),
	FB_OPTION_DOUBLE(SETTINGS, cv, 0, "cv", "X", "2", 0.01, 100,
			 "gamma: standard deviation of intervals by their mean"),
	FB_OPTION_GROUP("Service"),
	CHOICES(operations, "operation", "replay", fb_serve_operations,
		"replay; knee: the highest rate at which enough requests meet the objective; "
		"verdict: the knee of both modes, and their quotient"),
	CHOICES(models, "model", "tiny", fb_kv_model_names, "what is computed and cached"),
	{.type = FB_OPT_SIZES, .name = "prefill", .placeholder = "LIST", .fallback = "1",
	 .help = "disaggregated: workers that compute prompts; all others decode",
	 .offset = offsetof(SETTINGS, prefill), .range.u64 = {1, 65536}},
	CHOICES(policies, "router", "least_loaded", fb_serve_policies,
		"which worker gets a request"),
	U64(block_tokens, "block-tokens", "16", 1, 65536, "tokens of a page"),
	U64(chunk, "chunk", "512", 1, FB_KV_CHUNK, "most tokens of a prompt in a step"),
	U64(most_batch, "most-batch", "64", 1, FB_KV_CHUNK, "most requests that run at once"),
	U64(pool_blocks, "pool-blocks", "0", 0, 1 << 24,
	    "blocks of a worker's cache; 0: eight times those of the longest prompt"),
	FB_OPTION_STRING(SETTINGS, trace_out, 0, "trace-out", "DIR", NULL, NULL,
			 "operation replay: appends the last replay of each row to spans.csv and "
			 "trace.json there: queue, prefill, kv and decode of each request"),
	FB_OPTION_GROUP("Objective"),
	FB_OPTION_TIME(SETTINGS, ttft_s, 0, "slo-ttft", "1s", 1e-6, 3600, "to the first token"),
	FB_OPTION_TIME(SETTINGS, itl_s, 0, "slo-itl", "50ms", 1e-6, 3600,
		       "between tokens, in a request's mean"),
	FB_OPTION_RATIO(SETTINGS, attainment, 0, "attainment", "90%", 0, 1,
			"share of requests that have to meet both limits at the knee"),
	FB_OPTION_END,
};

#define TIME(column, name, help) [column] = {name, FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us", help}
#define RATE(column, name, unit, help)                                                             \
	[column] = {name, FB_COLUMN_VALUE, FB_COLUMN_F64, unit, help}

static const struct fb_column columns[FB_SERVE_COLUMNS] = {
	RATE(FB_SERVE_RATE, "rate_rps", "1/s", "requests a second that were offered"),
	[FB_SERVE_REQUESTS] = {"requests", FB_COLUMN_VALUE, FB_COLUMN_U64, "",
			       "that got all their tokens, of all replays"},
	RATE(FB_SERVE_INPUT_P50, "input_tokens", "", "median prompt"),
	RATE(FB_SERVE_OUTPUT_P50, "output_tokens", "", "median answer"),
	TIME(FB_SERVE_TTFT_P50, "ttft_us", "from the planned arrival to the first token, median"),
	TIME(FB_SERVE_TTFT_P95, "ttft_p95_us", "95th percentile, of 100 requests at least"),
	TIME(FB_SERVE_TTFT_P99, "ttft_p99_us", "99th percentile, of 1000 requests at least"),
	TIME(FB_SERVE_TPOT_P50, "tpot_us", "a request's mean time between tokens, median"),
	TIME(FB_SERVE_ITL_P50, "itl_us", "between two tokens of a request, median"),
	TIME(FB_SERVE_ITL_P95, "itl_p95_us", "95th percentile, of 100 such times at least"),
	TIME(FB_SERVE_ITL_P99, "itl_p99_us", "99th percentile, of 1000 such times at least"),
	TIME(FB_SERVE_QUEUE_P50, "queue_us", "until the prompt's computing began, median"),
	TIME(FB_SERVE_QUEUE_P95, "queue_p95_us", "95th percentile, of 100 at least"),
	TIME(FB_SERVE_KV_P50, "kv_us", "from the prompt's end until its cache had come, median"),
	RATE(FB_SERVE_KV_SHARE, "kv_share", "", "of all times to first tokens"),
	RATE(FB_SERVE_KV_BYTES, "kv_bytes", "B", "moved for a request, mean"),
	RATE(FB_SERVE_HIT_SHARE, "hit_share", "", "of prompt tokens that were cached already"),
	RATE(FB_SERVE_ATTAINMENT, "attainment", "", "share of requests that met the objective"),
	RATE(FB_SERVE_GOODPUT, "goodput_rps", "1/s", "requests a second that met the objective"),
	RATE(FB_SERVE_TOKENS_PER_S, "output_tokens_per_s", "1/s", "tokens given to users"),
	RATE(FB_SERVE_KNEE_RPS, "knee_rps", "1/s",
	     "highest rate that meets the objective, median; of a verdict: disaggregated"),
	RATE(FB_SERVE_KNEE_LOW, "knee_low_rps", "1/s",
	     "95% interval of it; empty: too few runs, or one of them has no knee"),
	RATE(FB_SERVE_KNEE_HIGH, "knee_high_rps", "1/s", "the same"),
	RATE(FB_SERVE_RATIO, "knee_ratio", "", "disaggregated knee by colocated knee, median"),
	RATE(FB_SERVE_RATIO_LOW, "knee_ratio_low", "",
	     "95% interval of it; empty: too few runs, or one of them has no quotient"),
	RATE(FB_SERVE_RATIO_HIGH, "knee_ratio_high", "", "the same"),
	RATE(FB_SERVE_INTERFERENCE, "decode_interference", "",
	     "time of a decode step with a cache on its way to the worker by that of a step of as "
	     "many requests without, median over runs"),
	RATE(FB_SERVE_INTERFERENCE_LOW, "decode_interference_low", "",
	     "95% interval of it; empty: too few runs"),
	RATE(FB_SERVE_INTERFERENCE_HIGH, "decode_interference_high", "", "the same"),
	RATE(FB_SERVE_SAME_HOST, "same_host_share", "",
	     "share of pairs of a prefill and a decode worker that are on one host"),
	RATE(FB_SERVE_SAME_GPU, "same_gpu_share", "", "on one GPU"),
};

int main(int argc, char **argv)
{
	static struct fb_serve_settings settings;
	static const struct fb_default defaults[] = {
		{"bytes", "0"}, {"datatype", "bf16"}, {"algorithm", "all"}, {"memory", "host"},
		{"min-samples", "6"}, {"max-samples", "20"}, {"max-time", "1min"}, {"ci", "5%"},
		{"timeout", "10min"}, {"objective", "overlapped"}, {NULL, NULL}};
	static const struct fb_program program = {
		.name = "serve",
		.summary = "a model served by prefill and decode ranks, or by ranks that do both",
		.description =
			"Requests arrive at rank 0, the router, at times that do not depend on the "
			"service (open loop); all other ranks compute: prompts by chunks, then a "
			"token of every running request in each step, as real products and passes "
			"of the model's sizes. --algorithm colocated: every worker does both. "
			"disaggregated: --prefill workers compute prompts and --engine, a mover, "
			"carries the cache to the others.\n\n"
			"A row's time is a replay's; what users experience is in other columns. "
			"Times count from a request's planned arrival. The first token of a "
			"disaggregated request is the decode rank's. Blocks of a cache are "
			"compared, all bytes, when a request ends.",
		.options = options,
		.option_values = &settings,
		.defaults = defaults,
		.columns = columns,
		.ncolumns = FB_SERVE_COLUMNS,
		.open = open_program,
		.close = fb_kv_machine_close,
		.expand = fb_serve_expand,
		.can = fb_serve_can,
		.seconds = fb_serve_seconds,
		.setup = fb_serve_set_up,
		.run = fb_serve_run,
		.begin_samples = fb_serve_begin_samples,
		.whole = fb_serve_whole,
		.check = fb_serve_check,
		.describe = fb_serve_describe,
		.teardown = fb_serve_tear_down,
	};

	return fb_program_main(&program, argc, argv);
}
