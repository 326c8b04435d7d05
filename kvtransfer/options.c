/* SPDX-License-Identifier: BSD-3-Clause */
/* The options and columns of kv_reshard. */
#include "kvtransfer/program.h"

#define SETTINGS struct fb_kv_settings

/* A list of numbers, 1 at least. */
#define NUMBERS(field, name_, default_, high_, help_)                                              \
	{                                                                                          \
		.type = FB_OPT_SIZES, .name = (name_), .placeholder = "LIST",                      \
		.fallback = (default_), .help = (help_), .offset = offsetof(SETTINGS, field),      \
		.range.u64 = {1, (high_)}                                                          \
	}

static const char *const placements[] = {
	[FB_KV_AUTO] = "auto", [FB_KV_DISJOINT] = "disjoint", [FB_KV_SHARED] = "shared",
	[FB_KV_SHIFTED] = "shifted", [FB_KV_PLACEMENTS] = NULL};

const struct fb_option fb_kv_options[] = {
	FB_OPTION_GROUP("KV cache"),
	FB_OPTION_U64(SETTINGS, layers, 0, "layers", "N", "32", 1, 1024, "layers of the model"),
	FB_OPTION_U64(SETTINGS, kv_heads, 0, "kv-heads", "N", "8", 1, 1024,
		      "KV heads of the model; more ranks than that hold copies"),
	FB_OPTION_U64(SETTINGS, head_dim, 0, "head-dim", "N", "128", 1, 65536,
		      "elements of a head's K, or V, of a token"),
	NUMBERS(tokens, "tokens", "1K", UINT64_C(1) << 24, "tokens of the request"),
	NUMBERS(block_tokens, "block-tokens", "16", 65536, "tokens of a page"),
	FB_OPTION_U64(SETTINGS, page_run, 0, "page-run", "N", "1", 0, UINT64_C(1) << 24,
		      "pages of a block table that are neighbours in memory; 0: all"),
	FB_OPTION_CHOICES(SETTINGS, layouts, 0, "layout", "hnd", fb_kv_layouts,
			  "order within a page: head, token (hnd), or token, head (nhd)"),
	FB_OPTION_GROUP("Ranks"),
	NUMBERS(prefill_tp, "prefill-tp", "1", 65536, "ranks that the request is on before"),
	NUMBERS(decode_tp, "decode-tp", "1", 65536, "ranks that it is on afterwards"),
	FB_OPTION_CHOICES(SETTINGS, placements, 0, "placement", "auto", placements,
			  "which ranks decode: those behind the prefill ranks (disjoint), the same "
			  "(shared), the same turned by half of all (shifted); auto: disjoint, or "
			  "shifted where ranks are too few"),
	FB_OPTION_END,
};

const struct fb_column fb_kv_columns[FB_KV_COLUMNS] = {
	[FB_KV_DESCRIPTORS] = {"descriptors", FB_COLUMN_VALUE, FB_COLUMN_U64, "",
			       "contiguous runs of all pairs of ranks, neighbours merged"},
	[FB_KV_PAIR_DESCRIPTORS] = {"pair_descriptors", FB_COLUMN_VALUE, FB_COLUMN_U64, "",
				    "of the pair that has most"},
	[FB_KV_RUN_BYTES] = {"run_bytes", FB_COLUMN_VALUE, FB_COLUMN_F64, "bytes",
			     "mean length of a run"},
	[FB_KV_PAIRS] = {"pairs", FB_COLUMN_VALUE, FB_COLUMN_U64, "",
			 "pairs of a prefill and a decode rank that have a head in common"},
	[FB_KV_CROSSING] = {"crossing", FB_COLUMN_VALUE, FB_COLUMN_F64, "",
			    "share of the delivered bytes that came from another rank"},
	[FB_KV_PLAN_US] = {"plan_us", FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us",
			   "time to make a rank's runs, slowest rank, fastest of three"},
	[FB_KV_PACK_US] = {"pack_us", FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us",
			   "gathering alone, slowest rank, fastest of five"},
	[FB_KV_TRANSFER_US] = {"transfer_us", FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us",
			       "moving what is packed, alone, slowest rank, fastest of five"},
	[FB_KV_UNPACK_US] = {"unpack_us", FB_COLUMN_VALUE, FB_COLUMN_TIME_US, "us",
			     "scattering alone, slowest rank, fastest of five"},
};
