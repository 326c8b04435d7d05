/* SPDX-License-Identifier: BSD-3-Clause */
/* The program offload: its options and what joins it to the harness; see offload/offload.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/run/run.h" /* fb_run.program, for its own options' values */
#include "kvtransfer/offload/offload.h"

#define SETTINGS struct fb_tier_settings

/* What --engine auto is without a table. */
static const char *const usual[] = {"store", "store", "copy"};

/* Writes what was measured. */
static void close_program(void *state)
{
	struct fb_tier_state *s = state;

	if (s->own->crossover)
		fb_tier_crossover_write(s);
	fb_kv_machine_close(s);
}

/* Files, and every mover of the GPU itself that can put and get. */
static int open_program(struct fb_run *run, void **result)
{
	unsigned both = 1u << FB_MOVE_PUT | 1u << FB_MOVE_GET;
	struct fb_kv_machine *machine;
	struct fb_tier_state *state;
	int err = fb_kv_machine_new(&machine, run, sizeof(*state));

	if (err)
		return err;
	state = (struct fb_tier_state *)machine;
	state->own = run->program->option_values;
	machine->usual = usual;
	if (state->own->folder && access(state->own->folder, W_OK | X_OK))
		err = fb_error(FB_EINPUT, "--folder %s: %s", state->own->folder, strerror(errno));
	err = fb_group_agree(machine->world, err);
	fb_store_folder(state->own->folder);
	fb_folder_facts(machine->session, "folder", state->own->folder);
	fb_kv_machine_add(machine, fb_mover_store.name, &fb_mover_store, false);
	fb_object_store(state->own->objects, (unsigned)state->own->connections);
	/* If the user has named no store, no row says that there is none. */
	if (state->own->objects || strcmp(machine->settings->engine, "all"))
		fb_kv_machine_add(machine, fb_mover_object.name, &fb_mover_object, false);
	fb_kv_machine_add(machine, fb_mover_nixl_file.name, &fb_mover_nixl_file, false);
	fb_kv_machine_add(machine, fb_mover_store_gpu.name, &fb_mover_store_gpu, true);
	fb_kv_machine_add(machine, fb_mover_cufile.name, &fb_mover_cufile, true);
	fb_kv_machine_add(machine, fb_mover_nixl_gpu_file.name, &fb_mover_nixl_gpu_file, true);
	for (int i = 0; fb_movers[i]; i++)
		if (fb_movers[i]->streams && (fb_movers[i]->verbs & both) == both &&
		    !fb_movers[i]->segment)
			fb_kv_machine_add(machine, fb_movers[i]->name, fb_movers[i], true);
	if (!err)
		err = fb_kv_machine_open(machine, true);
	if (!err && state->own->crossover)
		err = fb_tier_crossover_open(state);
	if (err)
		fb_kv_machine_close(machine);
	else
		*result = state;
	return err;
}

static const struct fb_option options[] = {
	FB_OPTION_GROUP("KV cache"),
	FB_OPTION_CHOICES(SETTINGS, models, 0, "model", "tiny", fb_kv_model_names,
			  "whose KV cache and computing"),
	{.type = FB_OPT_SIZES, .name = "tokens", .placeholder = "LIST", .fallback = "1K",
	 .help = "tokens of the request", .offset = offsetof(SETTINGS, tokens),
	 .range.u64 = {1, UINT64_C(1) << 24}},
	{.type = FB_OPT_SIZES, .name = "block-tokens", .placeholder = "LIST", .fallback = "16",
	 .help = "tokens of a page", .offset = offsetof(SETTINGS, block_tokens),
	 .range.u64 = {1, 65536}},
	{.type = FB_OPT_SIZES, .name = "page-run", .placeholder = "LIST", .fallback = "1",
	 .help = "pages of a block table that are neighbours in memory; 0: all",
	 .offset = offsetof(SETTINGS, page_run), .range.u64 = {0, UINT64_C(1) << 24}},
	FB_OPTION_GROUP("Tier"),
	FB_OPTION_CHOICES(SETTINGS, operations, 0, "operation", "all",
			  fb_tier_operations,
			  "evict: to the tier; onboard: back; ttft: hits back, the rest computed"),
	FB_OPTION_CHOICES(SETTINGS, orders, 0, "tier-order", "block", fb_tier_orders,
			  "in the tier: all layers of a block together, or all blocks of a layer"),
	{.type = FB_OPT_SIZES, .name = "hit", .placeholder = "LIST", .fallback = "100",
	 .help = "percent of a request's blocks that the tier has, from its begin",
	 .offset = offsetof(SETTINGS, hit), .range.u64 = {0, 100}},
	{.type = FB_OPT_SIZES, .name = "depth", .placeholder = "LIST", .fallback = "32",
	 .help = "io_uring's requests in flight", .offset = offsetof(SETTINGS, depth),
	 .range.u64 = {1, 4096}},
	FB_OPTION_STRING(SETTINGS, folder, 0, "folder", "DIR", NULL, NULL,
			 "folder of the files, on the disk to measure; usually $TMPDIR"),
	FB_OPTION_STRING(SETTINGS, objects, 0, "object-store", "URL", NULL, NULL,
			 "engine object: a bucket, or any folder of a server that takes PUT, GET "
			 "of ranges and DELETE; signed for S3 where AWS_ACCESS_KEY_ID and "
			 "AWS_SECRET_ACCESS_KEY are set"),
	FB_OPTION_U64(SETTINGS, connections, 0, "connections", "N", "8", 1, 64,
		      "requests to it at once"),
	FB_OPTION_GROUP("Crossover"),
	FB_OPTION_STRING(SETTINGS, crossover, 0, "crossover", "FILE", NULL, NULL,
			 "instead of a model's, lists of equal pieces, out and back; FILE gets a "
			 "table of the fastest engine and form for each, which --tuning of "
			 "--engine auto takes"),
	{.type = FB_OPT_SIZES, .name = "piece", .placeholder = "LIST", .fallback = "1K:4M:4",
	 .help = "bytes of a piece of --crossover, multiples of 8",
	 .offset = offsetof(SETTINGS, piece), .range.u64 = {8, UINT64_C(1) << 28}},
	{.type = FB_OPT_SIZES, .name = "count", .placeholder = "LIST", .fallback = "1:16K:4",
	 .help = "pieces of a list of --crossover; lists above 256 MiB are left out",
	 .offset = offsetof(SETTINGS, count), .range.u64 = {1, UINT64_C(1) << 24}},
	FB_OPTION_END,
};

static const struct fb_column columns[FB_TIER_COLUMNS] = {
	[FB_TIER_BLOCKS] = {"blocks", FB_COLUMN_VALUE, FB_COLUMN_U64, "", "blocks of the request"},
	[FB_TIER_PIECES] = {"pieces", FB_COLUMN_VALUE, FB_COLUMN_U64, "", "pages that move"},
	[FB_TIER_PIECE_BYTES] = {"piece_bytes", FB_COLUMN_VALUE, FB_COLUMN_U64, "bytes",
				 "of a page: a block of a region"},
	[FB_TIER_HIT_TOKENS] = {"hit_tokens", FB_COLUMN_VALUE, FB_COLUMN_U64, "",
				"tokens that come from the tier"},
	[FB_TIER_RECOMPUTE_US] = {"recompute_us", FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us",
				  "computing all tokens instead, slowest rank, fastest of three"},
	[FB_TIER_REST_US] = {"rest_us", FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us",
			     "computing the tokens that the tier does not have, the same"},
	[FB_TIER_SAVED_US] = {"saved_us", FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us",
			      "recompute_us less the row's median"},
	[FB_TIER_BREAKEVEN_TOKENS] = {"breakeven_tokens", FB_COLUMN_VALUE, FB_COLUMN_U64, "",
				      "fewest tokens, in whole blocks, whose onboarding is faster "
				      "than computing them; empty: none up to the request's"},
	[FB_TIER_BULK_US] = {"bulk_us", FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us",
			     "the same bytes in one piece, slowest rank, fastest of a few"},
};

int main(int argc, char **argv)
{
	static struct fb_tier_settings settings;
	static const struct fb_default defaults[] = {
		{"bytes", "0"}, {"datatype", "bf16"}, {"algorithm", "auto"}, {NULL, NULL}};
	static const struct fb_program program = {
		.name = "offload",
		.summary = "blocks of a KV cache to a tier below memory, and back",
		.description =
			"A request's KV cache leaves memory block by block (evict) and comes back "
			"to other pages (onboard); ttft is the time until a request can give its "
			"first token when a share of its blocks (--hit) comes back and the rest is "
			"computed by real products of the model's sizes.\n\n"
			"Engine store: host memory and a file of each rank in --folder; "
			"--algorithm is buffered (page cache), direct (O_DIRECT), uring or "
			"uring_direct "
			"(io_uring with --depth requests in flight). Engine store_gpu: the same "
			"from GPU memory, through pinned host memory. Movers of GPU memory: to "
			"pinned host memory; engine cufile: to a file, by NVIDIA's cuFile. Engines "
			"nixl_file and nixl_gpu_file: to a file, by NIXL's plugins. Engine "
			"object: from host memory to an object store by HTTP.\n\n"
			"The bound is the same bytes in one piece, by the same mover and form. All "
			"ranks work at once; rates are of one rank. What comes back is compared "
			"element by element.",
		.options = options,
		.option_values = &settings,
		.defaults = defaults,
		.columns = columns,
		.ncolumns = FB_TIER_COLUMNS,
		.open = open_program,
		.close = close_program,
		.expand = fb_tier_expand,
		.can = fb_tier_can,
		.setup = fb_tier_set_up,
		.prime = fb_tier_prime,
		.run = fb_tier_run,
		.check = fb_tier_check,
		.describe = fb_tier_describe,
		.summarise = fb_tier_summarise,
		.teardown = fb_tier_tear_down,
	};

	return fb_program_main(&program, argc, argv);
}
