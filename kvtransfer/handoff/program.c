/* SPDX-License-Identifier: BSD-3-Clause */
/* The program handoff: its options and what joins it to the harness; see handoff.h. */
#include <string.h>

#include "kvtransfer/handoff/handoff.h"

#define SETTINGS struct fb_handoff_settings

#define NUMBERS(field, name_, fallback_, low, high, help_)                                         \
	{                                                                                          \
		.type = FB_OPT_SIZES, .name = (name_), .placeholder = "LIST",                      \
		.fallback = (fallback_), .help = (help_), .offset = offsetof(SETTINGS, field),     \
		.range.u64 = {(low), (high)}                                                       \
	}
#define CHOICES(field, name, fallback, names, help)                                                \
	FB_OPTION_CHOICES(SETTINGS, field, 0, name, fallback, names, help)

static const struct fb_option options[] = {
	FB_OPTION_GROUP("KV cache"),
	CHOICES(operations, "operation", "reshard", fb_handoff_operations,
		"reshard: a request between groups of ranks; fan: one from each sender to each "
		"receiver; handover: as reshard, by --algorithm direct to layerwise; fit: what a "
		"transfer, a piece and a byte cost"),
	CHOICES(models, "model", "tiny", fb_kv_model_names, "whose KV cache, or weights"),
	CHOICES(contents, "content", "cache", fb_handoff_contents,
		"cache: a request's; weights: the matrices of the model's layers, divided as "
		"tensor parallelism does, without tokens and pages"),
	NUMBERS(layers, "layers", "0", 0, 1024,
		"layers of a cache, all alike; 0, here and below: those of --model"),
	NUMBERS(kv_heads, "kv-heads", "0", 0, 1024,
		"KV heads of the model; more ranks than that hold copies"),
	NUMBERS(head_dim, "head-dim", "0", 0, 65536,
		"elements of a head's K, or V, of a token"),
	NUMBERS(tokens, "tokens", "1K", 1, UINT64_C(1) << 24, "tokens of the request"),
	NUMBERS(block_tokens, "block-tokens", "16", 1, 65536, "tokens of a page"),
	CHOICES(layouts, "layout", "hnd", fb_kv_layouts,
		"order within a page: head, token (hnd), or token, head (nhd); a page is of K or "
		"V of a layer, of both (paired), or of all layers (block-first, cross-layer)"),
	CHOICES(decode_layouts, "decode-layout", "same", fb_kv_decode_layouts,
		"the decode side's layout; same: as --layout"),
	NUMBERS(page_run, "page-run", "1", 0, UINT64_C(1) << 24,
		"pages of a block table that are neighbours in memory; 0: all"),
	NUMBERS(decode_run, "decode-run", "0", 0, UINT64_C(1) << 24,
		"the same of the decode side's table; 0: as --page-run"),
	NUMBERS(churn, "churn", "0", 0, 95,
		"block tables as an allocator leaves them after running with this percentage of "
		"its pool in use; 0: by --page-run"),
	FB_OPTION_GROUP("Transfer"),
	NUMBERS(prefill, "prefill", "1", 1, 65536, "ranks that send"),
	NUMBERS(decode, "decode", "1", 1, 65536, "ranks behind them that receive"),
	CHOICES(placements, "placement", "auto", fb_kv_placements,
		"of handover: which ranks receive: those behind the senders (disjoint), the same "
		"(shared), the same turned by half of all (shifted); auto: disjoint, or shifted "
		"where ranks are too few"),
	CHOICES(grains, "grain", "request", fb_handoff_grains,
		"the part that is one move with one notice: the whole request; a layer; a run of "
		"pages, a block, or a chunk of --chunk-tokens, through all layers; a block of one "
		"layer (layer-block); a head of such a block (head-slice)"),
	NUMBERS(chunk_tokens, "chunk-tokens", "256", 1, UINT64_C(1) << 24,
		"tokens of a chunk of --grain chunk"),
	CHOICES(notifies, "notify", "each", fb_handoff_notifies,
		"how the receivers of puts learn that data has arrived: a notice of the mover with "
		"each move; one notice after the last move of a request to a receiver; or the "
		"sender waits for its moves, then sends a message by MPI"),
	CHOICES(coalesces, "coalesce", "yes", fb_handoff_coalesces,
		"pages that are neighbours at both ends become one piece; no: each page is one, "
		"and the mover does not join them either"),
	CHOICES(wires, "wire", "pages", fb_kv_wires,
		"what a move carries: its runs of pages; packed: one message made of them; fp8: "
		"the same, bf16 elements quantised to e4m3, half the bytes"),
	CHOICES(stagings, "staging", "none", fb_kv_stagings,
		"pages in GPU memory by movers of host memory, packed, and copied to host memory "
		"that is pageable, pinned, or pinned and filled by chunks while others are moved "
		"(pipelined), or packed right into it (mapped); none: movers reach the pages"),
	NUMBERS(staging_bytes, "staging-bytes", "1M", 4096, UINT64_C(1) << 40,
		"a chunk of pipelined"),
	CHOICES(forms, "form", "usual", fb_handoff_forms,
		"how the mover carries a list; engines without the form are left out"),
	NUMBERS(flight, "flight", "1", 1, 256,
		"requests that are transferred at once, each to its own pages"),
	CHOICES(besides, "beside", "none", fb_handoff_besides,
		"what ranks do during transfers; computing: senders compute prompts of --model, "
		"and receivers compute tokens of other requests; the stages do not wait for this "
		"computing"),
	CHOICES(builds, "build", "warm", fb_handoff_builds,
		"moves are prepared once (warm), or again for each request (cold)"),
	CHOICES(registers, "register", "warm", fb_handoff_builds,
		"memory is registered with the mover once (warm), or again in each request, which "
		"then prepares its moves too (cold)"),
	FB_OPTION_STRING(SETTINGS, trace_out, 0, "trace-out", "DIR", NULL, NULL,
			 "appends the stages of each request to spans.csv and trace.json there"),
	FB_OPTION_END,
};

#define TIME(column, name, help) [column] = {name, FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us", help}
#define NUMBER(column, name, unit, help)                                                           \
	[column] = {name, FB_COLUMN_VALUE, FB_COLUMN_F64, unit, help}

static const struct fb_column columns[FB_HANDOFF_COLUMNS] = {
	NUMBER(FB_HANDOFF_MOVES, "moves", "", "posts of a request, all ranks"),
	NUMBER(FB_HANDOFF_PIECES, "pieces", "", "contiguous runs of all regions"),
	NUMBER(FB_HANDOFF_PIECE_BYTES, "piece_bytes", "bytes", "mean length of a run"),
	NUMBER(FB_HANDOFF_WIRE_BYTES, "wire_bytes", "bytes",
	       "that all moves carry: half of the pages with --wire fp8"),
	TIME(FB_HANDOFF_REGISTER_US, "register_us",
	     "making memory known, once, slowest rank; of a request with --register cold, median"),
	TIME(FB_HANDOFF_BUILD_US, "build_us", "of a request: preparing its moves, median"),
	TIME(FB_HANDOFF_PACK_US, "pack_us",
	     "of a request: making messages of pages, median; of handover alone, fastest of five"),
	TIME(FB_HANDOFF_POST_US, "post_us", "of a request: posting them, median"),
	TIME(FB_HANDOFF_DONE_US, "done_us", "until all senders' pages are free again, median"),
	TIME(FB_HANDOFF_VISIBLE_US, "visible_us",
	     "put of pages in host memory: until the last byte of each run is in the receivers' "
	     "pages, median of watched requests in setup"),
	TIME(FB_HANDOFF_NOTICE_US, "notice_us",
	     "from then until the receivers have been told, in the same requests, median"),
	TIME(FB_HANDOFF_NOTIFIED_US, "notified_us",
	     "until all receivers have been told, or their gets are done, median; a receiver "
	     "looks again only after it has unpacked what has come"),
	TIME(FB_HANDOFF_UNPACK_US, "unpack_us", "the same: making pages of messages"),
	TIME(FB_HANDOFF_WIRE_US, "wire_us", "total without build, median"),
	TIME(FB_HANDOFF_TOTAL_US, "total_us",
	     "until all receivers know that all pages are there, median"),
	TIME(FB_HANDOFF_P90_US, "total_p90_us", "90th percentile, of 50 at least"),
	TIME(FB_HANDOFF_P95_US, "total_p95_us", "95th percentile, of 100 at least"),
	TIME(FB_HANDOFF_P99_US, "total_p99_us", "99th percentile, of 1000 at least"),
	TIME(FB_HANDOFF_P999_US, "total_p999_us", "99.9th percentile, of 10000 at least"),
	NUMBER(FB_HANDOFF_TOTAL_GBPS, "total_GBps", "GB/s", "delivered bytes by total_us"),
	NUMBER(FB_HANDOFF_WIRE_GBPS, "wire_GBps", "GB/s", "wire_bytes by wire_us"),
	NUMBER(FB_HANDOFF_CPU_S_PER_GIB, "cpu_s_per_GiB", "s",
	       "processor seconds of all ranks and threads for a delivered GiB"),
	NUMBER(FB_HANDOFF_SM_S_PER_GIB, "sm_s_per_GiB", "s",
	       "seconds of multiprocessors with a warp, all GPUs, for a delivered GiB, by GPM's "
	       "counters in requests back to back in setup; not run on hardware"),
	NUMBER(FB_HANDOFF_QUANTISE_ERROR, "quantise_error", "",
	       "largest relative error of an element after --wire fp8"),
	NUMBER(FB_HANDOFF_BESIDE_LAYERS, "beside_layers", "",
	       "layers that all ranks computed with --beside computing"),
	TIME(FB_HANDOFF_A_US, "fit_a_us", "time = a + b pieces + bytes / rate: a, median"),
	TIME(FB_HANDOFF_A_LOW_US, "fit_a_low_us", "95% interval of it"),
	TIME(FB_HANDOFF_A_HIGH_US, "fit_a_high_us", "the same"),
	NUMBER(FB_HANDOFF_B_NS, "fit_b_ns", "ns", "b: what a piece more costs"),
	NUMBER(FB_HANDOFF_B_LOW_NS, "fit_b_low_ns", "ns", "95% interval of it"),
	NUMBER(FB_HANDOFF_B_HIGH_NS, "fit_b_high_ns", "ns", "the same"),
	NUMBER(FB_HANDOFF_RATE_GBPS, "fit_GBps", "GB/s", "rate"),
	NUMBER(FB_HANDOFF_RATE_LOW_GBPS, "fit_low_GBps", "GB/s", "95% interval of it"),
	NUMBER(FB_HANDOFF_RATE_HIGH_GBPS, "fit_high_GBps", "GB/s", "the same"),
	NUMBER(FB_HANDOFF_BREAKEVEN_BYTES, "pack_breakeven_bytes", "bytes",
	       "largest of the pieces tried that are faster packed; 0: none"),
	NUMBER(FB_HANDOFF_PAIR_PIECES, "pair_pieces", "", "of handover: of the pair with most"),
	NUMBER(FB_HANDOFF_PAIRS, "pairs", "",
	       "of handover: pairs of a prefill and a decode rank that have a head in common"),
	NUMBER(FB_HANDOFF_CROSSING, "crossing", "",
	       "of handover: share of the delivered bytes that came from another rank"),
	TIME(FB_HANDOFF_PLAN_US, "plan_us",
	     "of handover: making a rank's runs, slowest rank, fastest of three"),
	TIME(FB_HANDOFF_TRANSFER_US, "transfer_us",
	     "of handover: moving what is packed, alone, slowest rank, fastest of five"),
	TIME(FB_HANDOFF_CLOCK_ERROR_US, "clock_error_us",
	     "ends on several hosts: how far a time from senders to receivers can be wrong, at "
	     "most; shorter times are empty"),
};

static const char description[] =
	"A request's KV cache, in pages, passes from --prefill to --decode ranks by a mover "
	"(--engine), pushed (--algorithm put), pulled (get), or by messages that both ends post "
	"(send). Columns say what each stage takes: building lists, posting, until the senders "
	"have their pages back, until the receivers know that all is there. The bound is the same "
	"bytes as one piece for each pair of ranks, by the same mover.\n\n"
	"--operation handover has no stages, and groups may be on the same ranks. --algorithm: "
	"direct, each contiguous run to its place; batch and strided, the same in one call or by "
	"copies of two and three dimensions; datatype, by MPI's derived datatypes; pack, gathered, "
	"sent, scattered; layerwise, the same layer by layer. A row's time ends when all decode "
	"ranks have seen that their pages are complete. algbw counts bytes delivered to decode "
	"ranks, busbw those that pass the links of the busiest rank.\n\n"
	"--operation fit says what a transfer, a piece and a byte cost on the way from rank 0 to "
	"rank 1, by put, get or send, and below which piece size packing pays.\n\n"
	"The clocks of several hosts are compared before and after each row, and times between "
	"hosts have the error clock_error_us. Every element is compared, and so is the memory that "
	"must not be written. --bytes is not used: sizes follow from --tokens.";

static const struct fb_default kv_reshard_defaults[] = {
	{"bytes", "0"}, {"datatype", "bf16"}, {"algorithm", "all"}, {NULL, NULL}};

static const __typeof__(*fb_handoff_kv_reshard.own) kv_reshard_own[] = {
	{"operation", NULL, "handover"}, {"layers", NULL, "32"},	{"kv-heads", NULL, "8"},
	{"head-dim", NULL, "128"},	 {"prefill", "prefill-tp", "1"},
	{"decode", "decode-tp", "1"},	 {NULL, NULL, NULL}};

const struct fb_handoff_name fb_handoff_kv_reshard = {
	.name = "kv_reshard",
	.summary = "a KV cache from prefill ranks to decode ranks of another number",
	.defaults = kv_reshard_defaults,
	.own = kv_reshard_own,
};

/* The options by the names, and with the values, that another name of the program gives them. */
static void rename_options(struct fb_option *table, const struct fb_handoff_name *as)
{
	for (size_t k = 0; as->own && as->own[k].option; k++) {
		struct fb_option *o = table;

		while (o->type == FB_OPT_GROUP || strcmp(o->name, as->own[k].option))
			o++;
		o->name = as->own[k].name ? as->own[k].name : o->name;
		o->fallback = as->own[k].fallback ? as->own[k].fallback : o->fallback;
	}
}

int fb_handoff_main(const struct fb_handoff_name *as, int argc, char **argv)
{
	static struct fb_handoff_settings settings;
	static struct fb_option table[sizeof(options) / sizeof(options[0])];
	const struct fb_program program = {
		.name = as->name,
		.summary = as->summary ? as->summary
				       : "a KV cache from prefill to decode ranks, stage by stage",
		.description = description,
		.options = table,
		.option_values = &settings,
		.defaults = as->defaults,
		.columns = columns,
		.ncolumns = FB_HANDOFF_COLUMNS,
		.open = fb_handoff_open,
		.close = fb_kv_machine_close,
		.expand = fb_handoff_expand,
		.can = fb_handoff_can,
		.setup = fb_handoff_set_up_watched,
		.prime = fb_handoff_prime,
		.run = fb_handoff_run,
		.check = fb_handoff_check,
		.counts = fb_handoff_counts,
		.describe = fb_handoff_describe,
		.teardown = fb_handoff_tear_down,
	};

	memcpy(table, options, sizeof(table));
	rename_options(table, as);
	settings.spoil = as->spoil;
	return fb_program_main(&program, argc, argv);
}
