/* SPDX-License-Identifier: BSD-3-Clause */
/* The program stream: its options, cases, and what joins it to the harness; see stream/stream.h. */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/axes.h"
#include "common/transport/keys.h"
#include "kvtransfer/stream/stream.h"

#define SETTINGS struct fb_stream_settings

const char *const fb_stream_modes[] = {"layerwise", "after", NULL};

/* fb_axes_adjust_fn. Sizes follow from tokens. */
static bool adjust(void *arg, struct fb_case *c)
{
	struct fb_handoff_state *state = arg;
	const struct fb_handoff_plan p = fb_handoff_plan_of(c);
	char ignored[FB_REASON_CHARS];
	struct fb_kv_backend *e;

	c->memory = "-"; /* follows from the engine */
	e = fb_handoff_engine_of(state, c);
	if (e->left_out || fb_handoff_lacks(state, e, &p))
		return false;
	c->bytes = fb_handoff_bytes(&p);
	c->memory = fb_mover_memory(e->ops, state->machine.settings, e->ops->device);
	c->transport = e->ops->transport;
	fb_transport_keys(c, state->machine.settings, e->ops->device);
	c->launch = "blocking";
	if (fb_handoff_can(state, c, ignored) && fb_handoff_part_bytes(&p) > e->part_bytes)
		e->part_bytes = fb_handoff_part_bytes(&p);
	return true;
}

static int expand(struct fb_run *run, void *arg)
{
	struct fb_handoff_state *state = arg;
	const struct fb_stream_settings *own = (const struct fb_stream_settings *)state->own;
	const struct fb_handoff_settings *h = &own->handoff;
	const char *engines[FB_KV_BACKENDS + 2];
	const struct fb_axes_accepted accepted = {
		.engines = engines, .algorithms = fb_stream_modes, .memories = fb_mover_memories};
	size_t models = 0, at[7] = {0};
	int err = FB_OK;

	while (fb_kv_model_names[models])
		models++;
	fb_kv_backend_names(&state->machine, engines);
	const size_t count[] = {models, h->tokens.count, h->block_tokens.count, h->page_run.count,
				2, own->others.count, FB_KV_WIRES};
	do {
		struct fb_case base = {.operation = "stream", .registration = "none"};
		struct fb_handoff_keys *keys = FB_OWN(struct fb_handoff_keys, &base);

		if (!(h->models >> at[0] & 1) || !(own->starts >> at[4] & 1) ||
		    !(h->wires >> at[6] & 1))
			continue;
		fb_handoff_keys_clear(keys);
		keys->build = 0; /* warm */
		keys->grain = FB_GRAIN_LAYER;
		keys->model = at[0];
		keys->tokens = h->tokens.value[at[1]];
		keys->block = h->block_tokens.value[at[2]];
		keys->page_run = h->page_run.value[at[3]];
		keys->start = at[4];
		keys->others = own->others.value[at[5]];
		if (at[6])
			keys->wire = at[6];
		fb_keys_put(&base, fb_handoff_keys);
		err = fb_axes_expand(run, &base, &accepted, adjust, state);
	} while (!err && fb_product_next(at, count, sizeof(count) / sizeof(count[0])));
	return err;
}

#define NUMBERS(field, name_, fallback_, low, high, help_)                                         \
	{                                                                                          \
		.type = FB_OPT_SIZES, .name = (name_), .placeholder = "LIST",                      \
		.fallback = (fallback_), .help = (help_), .offset = offsetof(SETTINGS, field),     \
		.range.u64 = {(low), (high)}                                                       \
	}

static const struct fb_option options[] = {
	FB_OPTION_GROUP("Request"),
	FB_OPTION_CHOICES(SETTINGS, handoff.models, 0, "model", "tiny", fb_kv_model_names,
			  "what is computed and cached"),
	NUMBERS(handoff.tokens, "tokens", "256", 1, UINT64_C(1) << 24, "tokens of the prompt"),
	NUMBERS(handoff.block_tokens, "block-tokens", "16", 1, 65536, "tokens of a page"),
	NUMBERS(handoff.page_run, "page-run", "1", 0, UINT64_C(1) << 24,
		"pages of a block table that are neighbours in memory; 0: all"),
	FB_OPTION_CHOICES(SETTINGS, handoff.wires, 0, "wire", "pages", fb_kv_wires,
			  "what a layer's move carries: its pages; packed: one message of them; "
			  "fp8: the same, bf16 elements quantised to e4m3, half the bytes"),
	FB_OPTION_GROUP("Receiver"),
	FB_OPTION_CHOICES(SETTINGS, starts, 0, "start", "request", fb_stream_starts,
			  "the first token's computing begins with the whole cache, or with its "
			  "first layer"),
	NUMBERS(others, "others", "0", 0, FB_KV_CHUNK,
		"requests that the receiver serves meanwhile, instead of the new one"),
	FB_OPTION_END,
};

#define TIME(column, name, help) [column] = {name, FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us", help}
#define NUMBER(column, name, help) [column] = {name, FB_COLUMN_VALUE, FB_COLUMN_F64, "", help}
#define RATE(column, name, unit, help)                                                             \
	[column] = {name, FB_COLUMN_VALUE, FB_COLUMN_F64, unit, help}

static const struct fb_column columns[FB_STREAM_COLUMNS] = {
	TIME(FB_STREAM_COMPUTE_US, "compute_us",
	     "the prompt's computing without a transfer under way; with --others beside the "
	     "receiver's steps; median of five"),
	TIME(FB_STREAM_TRANSFER_US, "transfer_us",
	     "all layers in a row, behind the computing, median of five"),
	TIME(FB_STREAM_EXPOSED_US, "exposed_us",
	     "from the computing's end until the cache is there, median"),
	TIME(FB_STREAM_EXPOSED_LOW_US, "exposed_low_us", "95% interval of it"),
	TIME(FB_STREAM_EXPOSED_HIGH_US, "exposed_high_us", "the same"),
	TIME(FB_STREAM_MODEL_US, "exposed_model_us",
	     "layerwise: by the recursion, from requests without overlap"),
	NUMBER(FB_STREAM_OVER_MODEL, "exposed_over_model", "exposed_us / exposed_model_us"),
	NUMBER(FB_STREAM_HIDDEN, "hidden_share", "1 - exposed_us / transfer_us"),
	NUMBER(FB_STREAM_SLOWDOWN, "compute_slowdown", "computing beside transfers, by compute_us"),
	TIME(FB_STREAM_AFTER_US, "after_us",
	     "the same request, all layers behind the last, median of five"),
	NUMBER(FB_STREAM_GAIN, "gain", "after_us by the row's median: above 1 it pays"),
	NUMBER(FB_STREAM_QUANTISE_ERROR, "quantise_error",
	       "largest relative error of an element after --wire fp8"),
	TIME(FB_STREAM_TPOT_ALONE_US, "tpot_alone_us",
	     "a token of the others before any transfer, median of five"),
	TIME(FB_STREAM_TPOT_US, "tpot_us", "a token of the others while a cache comes, mean"),
	NUMBER(FB_STREAM_TPOT_PRICE, "tpot_price", "tpot_us by tpot_alone_us, less 1"),
	RATE(FB_STREAM_PREFILL_TFLOPS, "prefill_TFLOPS", "TFLOP/s", "of the prompt, in compute_us"),
	NUMBER(FB_STREAM_PREFILL_FLOP_SHARE, "prefill_flop_share", "of rank 0's measured TFLOP/s"),
	NUMBER(FB_STREAM_PREFILL_BYTE_SHARE, "prefill_byte_share",
	       "of rank 0's measured memory rate, if each operand is read or written once"),
	RATE(FB_STREAM_DECODE_TFLOPS, "decode_TFLOPS", "TFLOP/s", "of a step in tpot_alone_us"),
	RATE(FB_STREAM_DECODE_GBPS, "decode_GBps", "GB/s",
	     "of such a step: weights, activations and caches, once each"),
	NUMBER(FB_STREAM_DECODE_FLOP_SHARE, "decode_flop_share", "of rank 1's measured TFLOP/s"),
	NUMBER(FB_STREAM_DECODE_BYTE_SHARE, "decode_byte_share",
	       "of rank 1's measured memory rate"),
	RATE(FB_STREAM_PEAK_TFLOPS, "peak_TFLOPS", "TFLOP/s", "measured: large products, rank 0"),
	RATE(FB_STREAM_PEAK_GBPS, "peak_GBps", "GB/s", "measured: passes over memory, rank 0"),
	TIME(FB_STREAM_CLOCK_ERROR_US, "clock_error_us",
	     "ranks on two hosts: how far exposed_us and each layer's transfer can be wrong, at "
	     "most, and transfer_us by as much for each layer; shorter times are empty"),
};

int main(int argc, char **argv)
{
	static struct fb_stream_settings settings;
	static const struct fb_default defaults[] = {
		{"bytes", "0"}, {"datatype", "bf16"}, {"algorithm", "all"}, {"min-samples", "10"},
		{"max-samples", "100"}, {"max-time", "5s"}, {"objective", "overlapped"},
		{NULL, NULL}};
	static const struct fb_program program = {
		.name = "stream",
		.summary = "a prompt's KV cache layer by layer, beside its computing",
		.description =
			"Rank 0 computes a prompt, by real products of the model's sizes, and puts "
			"each layer's cache to rank 1 when it is there (layerwise), or all behind "
			"the last one (after). exposed_us is what the transfer adds behind the "
			"computing, exposed_model_us what it should add if layerwise: with c(l), "
			"when a layer is computed, and x(l), what its transfer takes, f(l) = "
			"max(f(l-1), c(l)) + x(l), exposed = f(L) - c(L). Setup measures c and x "
			"in requests without overlap. Several layers in a row have the fixed costs "
			"of x only once.\n\n"
			"A row takes up to 1.5 times --max-time and seven requests: setup makes "
			"five (layerwise: ten; with --others five prompts more), and the first and "
			"the last one are verified.\n\n"
			"The row's time ends when rank 1 has computed the first token, of which it "
			"may begin each layer as soon as it has that layer's cache (--start "
			"layer); or, with --others, when it has the cache.",
		.options = options,
		.option_values = &settings,
		.defaults = defaults,
		.columns = columns,
		.ncolumns = FB_STREAM_COLUMNS,
		.open = fb_handoff_open,
		.close = fb_kv_machine_close,
		.expand = expand,
		.can = fb_handoff_can,
		.setup = fb_stream_set_up,
		.prime = fb_stream_prime,
		.run = fb_stream_run,
		.check = fb_stream_check,
		.counts = fb_stream_counts,
		.describe = fb_stream_describe,
		.summarise = fb_stream_summarise,
		.teardown = fb_stream_tear_down,
	};

	return fb_program_main(&program, argc, argv);
}
