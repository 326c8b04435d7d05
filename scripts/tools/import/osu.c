/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads OSU's micro-benchmarks. A title names what ran, and a line "# Size ..." the columns, but
 * the number of ranks is not printed. The main result of a collective is the mean over ranks of
 * each rank's mean over iterations; -f adds those of the fastest and the slowest rank.
 */
#include "common/base/error.h"
#include "common/plan/collective.h"
#include "scripts/tools/import/import.h"
#include "scripts/tools/import/mpi_names.h"
#include "scripts/tools/lib/text.h"

#include <math.h>
#include <string.h>

/* The first title that a line holds counts, so longer ones come first. */
static const struct title {
	const char *title, *program, *operation;
	int collective; /* -1: none of ours */
	enum fb_size_rule size;
	uint64_t ranks; /* 0: not said */
	bool both;	/* the rate is that of both directions together */
} titles[] = {
	{"Reduce_scatter_block", "osu_reduce_scatter_block", "reduce_scatter", FB_REDUCE_SCATTER,
	 FB_SIZE_WHOLE, 0, false},
	{"Reduce_scatter", "osu_reduce_scatter", "reduce_scatter_v", FB_REDUCE_SCATTER_V,
	 FB_SIZE_WHOLE, 0, false},
	{"Allreduce", "osu_allreduce", "all_reduce", FB_ALL_REDUCE, FB_SIZE_WHOLE, 0, false},
	{"Allgatherv", "osu_allgatherv", "all_gather_v", FB_ALL_GATHER_V, FB_SIZE_PER_RANK, 0,
	 false},
	{"Allgather", "osu_allgather", "all_gather", FB_ALL_GATHER, FB_SIZE_PER_RANK, 0, false},
	{"All-to-Allv", "osu_alltoallv", "all_to_all_v", FB_ALL_TO_ALL_V, FB_SIZE_PER_RANK, 0,
	 false},
	{"All-to-Allw", "osu_alltoallw", "all_to_all_w", -1, FB_SIZE_PER_RANK, 0, false},
	{"All-to-All", "osu_alltoall", "all_to_all", FB_ALL_TO_ALL, FB_SIZE_PER_RANK, 0, false},
	{"Broadcast", "osu_bcast", "broadcast", FB_BROADCAST, FB_SIZE_WHOLE, 0, false},
	{"Barrier", "osu_barrier", "barrier", FB_BARRIER, FB_SIZE_WHOLE, 0, false},
	{"Gatherv", "osu_gatherv", "gather_v", -1, FB_SIZE_PER_RANK, 0, false},
	{"Gather", "osu_gather", "gather", FB_GATHER, FB_SIZE_PER_RANK, 0, false},
	{"Scatterv", "osu_scatterv", "scatter_v", -1, FB_SIZE_PER_RANK, 0, false},
	{"Scatter", "osu_scatter", "scatter", FB_SCATTER, FB_SIZE_PER_RANK, 0, false},
	{"Reduce", "osu_reduce", "reduce", FB_REDUCE, FB_SIZE_WHOLE, 0, false},
	{"Multiple Bandwidth", "osu_mbw_mr", "bandwidth", -1, FB_SIZE_WHOLE, 0, false},
	{"Multi Latency", "osu_multi_lat", "latency", -1, FB_SIZE_WHOLE, 0, false},
	{"Multi-threaded Latency", "osu_latency_mt", "latency", -1, FB_SIZE_WHOLE, 2, false},
	{"Multi-process Latency", "osu_latency_mp", "latency", -1, FB_SIZE_WHOLE, 2, false},
	{"Get_accumulate", "osu_get_acc_latency", "get_accumulate", -1, FB_SIZE_WHOLE, 2, false},
	{"Accumulate", "osu_acc_latency", "accumulate", -1, FB_SIZE_WHOLE, 2, false},
	{"Compare_and_swap", "osu_cas_latency", "compare_and_swap", -1, FB_SIZE_WHOLE, 2, false},
	{"Fetch_and_op", "osu_fop_latency", "fetch_and_op", -1, FB_SIZE_WHOLE, 2, false},
	{"Put Bi-directional Bandwidth", "osu_put_bibw", "put_bidirectional", -1, FB_SIZE_WHOLE, 2,
	 true},
	{"Put Bandwidth", "osu_put_bw", "put", -1, FB_SIZE_WHOLE, 2, false},
	{"Get Bandwidth", "osu_get_bw", "get", -1, FB_SIZE_WHOLE, 2, false},
	{"Put Latency", "osu_put_latency", "put", -1, FB_SIZE_WHOLE, 2, false},
	{"Get Latency", "osu_get_latency", "get", -1, FB_SIZE_WHOLE, 2, false},
	{"Bi-Directional Bandwidth", "osu_bibw", "bandwidth_bidirectional", -1, FB_SIZE_WHOLE, 2,
	 true},
	{"Bandwidth", "osu_bw", "bandwidth", -1, FB_SIZE_WHOLE, 2, false},
	{"Latency Test", "osu_latency", "latency", -1, FB_SIZE_WHOLE, 2, false},
	{"Latency Persistent Test", "osu_latency", "latency", -1, FB_SIZE_WHOLE, 2, false},
};

/* The last word of a column's name identifies it, sometimes together with the word before it. */
enum column {
	COLUMN_NONE,
	COLUMN_SIZE,
	COLUMN_TIME,
	COLUMN_MIN,
	COLUMN_MAX,
	COLUMN_ITERATIONS,
	COLUMN_RATE,
	COLUMN_MESSAGES,
	COLUMN_OVERLAP,
	COLUMN_VALID,
	COLUMN_P95,
	COLUMN_P99,
};

static const struct {
	const char *name;
	enum column column;
} columns[] = {
	{"Size", COLUMN_SIZE},
	{"Avg Latency(us)", COLUMN_TIME},
	{"Latency (us)", COLUMN_TIME},
	{"Latency(us)", COLUMN_TIME},
	{"Overall(us)", COLUMN_TIME},
	{"Min Latency(us)", COLUMN_MIN},
	{"Max Latency(us)", COLUMN_MAX},
	{"Iterations", COLUMN_ITERATIONS},
	{"Bandwidth (MB/s)", COLUMN_RATE},
	{"MB/s", COLUMN_RATE},
	{"Messages/s", COLUMN_MESSAGES},
	{"Compute(us)", COLUMN_NONE},
	{"Coll. Init(us)", COLUMN_NONE},
	{"MPI_Test(us)", COLUMN_NONE},
	{"MPI_Wait(us)", COLUMN_NONE},
	{"Pure Comm.(us)", COLUMN_NONE},
	{"Min Comm.(us)", COLUMN_NONE},
	{"Max Comm.(us)", COLUMN_NONE},
	{"Overlap(%)", COLUMN_OVERLAP},
	{"Validation", COLUMN_VALID},
	{"P95 Tail Lat(us)", COLUMN_P95},
	{"P99 Tail Lat(us)", COLUMN_P99},
	{"Transmit Size", COLUMN_NONE},
};

enum { TABLE_COLUMNS = 32 };

struct state {
	struct fb_import *import;
	const struct fb_text *text;
	const struct title *title;
	char version[32], program[64];
	const char *engine, *memory, *launch;
	enum fb_datatype datatype;
	double pairs;
	enum column column[TABLE_COLUMNS];
	size_t ncolumns;
	bool in_table;
};

bool fb_osu_detect(const struct fb_text *text)
{
	return fb_text_holds(text, "# OSU ");
}

static const struct {
	const char *mark, *memory;
} accelerators[] = {
	{"-CUDA", "device"},	 {"-ROCM", "device"}, {"-OPENACC", "device"},
	{"-MANAGED", "managed"}, {"-CXL", "cxl"},
};

/* Removes an accelerator's mark, which may split a name, from a title: "MPI_Put-CUDA Latency". */
static const char *take_accelerator(char *title)
{
	for (size_t i = 0; i < FB_COUNT_OF(accelerators); i++) {
		char *at = strstr(title, accelerators[i].mark);
		size_t n = strlen(accelerators[i].mark);

		if (!at)
			continue;
		memmove(at, at + n, strlen(at + n) + 1);
		return accelerators[i].memory;
	}
	return "host";
}

/* "# OSU MPI-CUDA Non-blocking Allreduce Latency Test v7.4"; an unknown title has no table. */
static void take_title(struct state *s, size_t at)
{
	char line[256];
	const char *version;
	bool persistent, nonblocking, xccl;

	fb_text_copy(s->text->line[at], "", line, sizeof(line));
	s->title = NULL;
	s->in_table = false;
	s->datatype = FB_DATATYPES;
	s->pairs = 0;
	s->version[0] = '\0';
	s->memory = take_accelerator(line);
	s->engine = strstr(line, "NCCL") ? "nccl" : strstr(line, "RCCL") ? "rccl" : "mpi";
	xccl = strcmp(s->engine, "mpi") != 0;
	for (size_t i = 0; i < FB_COUNT_OF(titles) && !s->title; i++)
		if ((xccl || strstr(line, " MPI")) && strcasestr(line, titles[i].title) &&
		    !strcasestr(line, "neighborhood"))
			s->title = &titles[i];
	if (!s->title) {
		fb_warn("%s:%zu: this test of OSU is not known and left out", s->text->path,
			at + 1);
		return;
	}
	version = strstr(line, " v");
	if (version)
		fb_text_copy(version + 2, " ", s->version, sizeof(s->version));
	persistent = strcasestr(line, "persistent") != NULL;
	nonblocking = strcasestr(line, "non-blocking") != NULL;
	if (xccl)
		s->memory = "device";
	s->launch = persistent ? "persistent" : nonblocking ? "nonblocking" : "blocking";
	snprintf(s->program, sizeof(s->program), "%s%s%s%s", xccl ? "osu_xccl_" : "osu_",
		 nonblocking ? "i" : "", s->title->program + strlen("osu_"),
		 persistent ? "_persistent" : "");
}

/* "# Size       Avg Latency(us)   Min Latency(us)": names hold single blanks. */
static int take_columns(struct state *s, size_t at)
{
	const char *line = s->text->line[at] + 1;
	uint64_t ranks = s->pairs > 0 ? 2 * (uint64_t)fmin(s->pairs, 1e9) : s->title->ranks;
	char path[128];
	int err;

	s->ncolumns = 0;
	while (*(line += strspn(line, " ")) && s->ncolumns < TABLE_COLUMNS) {
		size_t best = 0, which = 0;

		for (size_t i = 0; i < FB_COUNT_OF(columns); i++) {
			size_t n = strlen(columns[i].name);

			if (n > best && !strncmp(line, columns[i].name, n)) {
				best = n;
				which = i;
			}
		}
		s->column[s->ncolumns] = best ? columns[which].column : COLUMN_NONE;
		/* An unknown percentile, "P50 Tail Lat(us)", has three words. */
		if (!best && strstr(line, " Tail ") == line + strcspn(line, " "))
			best = (size_t)(strchr(line, ')') ? strchr(line, ')') + 1 - line : 0);
		if (!best)
			return fb_text_fail(s->text, at, "a column of this table is not known");
		s->ncolumns++;
		line += best;
	}
	snprintf(path, sizeof(path), "osu-micro-benchmarks%s%s", *s->version ? " " : "",
		 s->version);
	err = fb_import_begin(s->import, s->text, s->program, path);
	if (!err)
		err = fb_import_size(s->import, s->text, at + 1, ranks, 0, 1);
	fb_import_fact(s->import, "osu.version", s->version);
	s->in_table = !err;
	return err;
}

/* The words of a row by what their column is; "" where there is no such column. */
static const char *cell_of(const struct state *s, const struct fb_words *row, enum column column)
{
	for (size_t i = 0; i < s->ncolumns && i < row->count; i++)
		if (s->column[i] == column)
			return row->word[i];
	return "";
}

static double number_of(const struct state *s, const struct fb_words *row, enum column column)
{
	double value = (double)NAN;

	if (!fb_word_number(cell_of(s, row, column), &value))
		return (double)NAN;
	return value;
}

static void set_key(const struct state *s, struct fb_import_record *record, uint64_t size)
{
	const struct title *title = s->title;

	snprintf(record->operation, sizeof(record->operation), "%s", title->operation);
	record->key.engine = s->engine;
	record->key.memory = s->memory;
	record->key.launch = s->launch;
	/* Only collectives have a barrier between their calls. */
	record->key.cadence = title->ranks || s->pairs > 0 || !strcmp(title->operation, "latency")
				      ? FB_STREAMING
				      : FB_ISOLATED;
	record->key.datatype = s->datatype;
	record->key.bytes = size * (title->size == FB_SIZE_PER_RANK ? record->row.ranks : 1);
	if (s->pairs > 0)
		fb_import_variant(record, "pairs", "%.0f", s->pairs);
	if (title->collective >= 0)
		fb_mpi_set_collective(record, (enum fb_collective)title->collective);
}

/* Rates of the bandwidth tests are in 1e6 bytes per second, of all pairs and directions. */
static int take_rate(const struct state *s, struct fb_import_record *record, uint64_t size,
		     double rate_MBps, double iterations)
{
	double ways = (s->pairs > 0 ? s->pairs : 1) * (s->title->both ? 2 : 1);
	double counted = (double)size * ways;

	return fb_import_mean(record, counted / rate_MBps, iterations, counted, 1 / ways);
}

static int take_row(struct state *s, size_t at, const struct fb_words *row)
{
	bool sized = s->ncolumns && s->column[0] == COLUMN_SIZE;
	double time = number_of(s, row, COLUMN_TIME), rate = number_of(s, row, COLUMN_RATE);
	double iterations = number_of(s, row, COLUMN_ITERATIONS);
	const char *valid = cell_of(s, row, COLUMN_VALID);
	struct fb_import_record *record;
	uint64_t size = 0;

	if (row->count < s->ncolumns)
		return fb_text_fail(s->text, at, "the row is cut short");
	if (sized && !fb_word_u64(row->word[0], &size))
		return fb_text_fail(s->text, at, "the size of this row is no whole number");
	if (!isfinite(time) && !isfinite(rate))
		return fb_text_fail(s->text, at, "the row has neither a time nor a rate");
	if (!isfinite(time) && !(rate > 0)) {
		fb_warn("%s:%zu: a rate of 0 says nothing: left out", s->text->path, at + 1);
		return FB_OK;
	}
	record = fb_import_add(s->import, at + 1);
	set_key(s, record, size);
	fb_import_flag(record, "mean");
	if (!*valid)
		fb_import_flag(record, "unverified");
	if (!strcmp(valid, "Fail")) {
		record->row.status = FB_STATUS_WRONG;
		snprintf(record->reason, sizeof(record->reason), "wrong data, says the tool");
	}
	record->extra[FB_EXTRA_OVERLAP_PERCENT] = number_of(s, row, COLUMN_OVERLAP);
	record->extra[FB_EXTRA_REPORTED_P95_US] = number_of(s, row, COLUMN_P95);
	record->extra[FB_EXTRA_REPORTED_P99_US] = number_of(s, row, COLUMN_P99);
	record->extra[FB_EXTRA_RATE_MPS] = number_of(s, row, COLUMN_MESSAGES) * 1e-6;
	if (rate > 0)
		return take_rate(s, record, size, rate, iterations);
	record->row.rank_min_us = number_of(s, row, COLUMN_MIN);
	record->extra[FB_EXTRA_RANK_MAX_US] = number_of(s, row, COLUMN_MAX);
	if (isfinite(record->row.rank_min_us))
		record->row.rank_mean_us = time;
	return fb_import_mean(record, time, iterations,
			      s->title->collective >= 0 ? (double)record->key.bytes : (double)size,
			      s->title->collective >= 0 ? record->bus_factor : 1);
}

static int take_line(struct state *s, size_t at)
{
	const char *line = s->text->line[at];
	struct fb_words words;
	double number;

	if (fb_text_after(line, "# OSU ")) {
		take_title(s, at);
		return FB_OK;
	}
	if (!s->title)
		return FB_OK;
	if (fb_text_after(line, "# Datatype:"))
		s->datatype =
			fb_mpi_datatype(strchr(line, ':') + 1 + strspn(strchr(line, ':') + 1, " "));
	if (fb_text_find(line, "[ pairs:"))
		s->pairs = fb_text_number(line, "[ pairs:", 0);
	if (*line == '#' && (strstr(line, "(us)") || strstr(line, "MB/s")))
		return take_columns(s, at);
	if (*line == '#' || !s->in_table)
		return FB_OK;
	fb_words_split(&words, line);
	if (words.count && fb_word_number(words.word[0], &number) &&
	    !fb_text_is_torn(s->text, at))
		return take_row(s, at, &words);
	return FB_OK;
}

int fb_osu_read(struct fb_import *import, const struct fb_text *text)
{
	struct state s = {.import = import, .text = text};
	int err = FB_OK;

	for (size_t at = 0; at < text->count && !err; at++) {
		fb_config_take(&import->config, text->line[at]);
		err = take_line(&s, at);
	}
	return err;
}
