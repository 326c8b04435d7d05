/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Intel MPI Benchmarks, the MPI-1 and the non-blocking part. A row's time is t_max, the slowest
 * rank's mean over its repetitions, which follow one another without a barrier. Rates are
 * computed from the times; only Uniband and Biband give nothing but a rate.
 */
#include "common/base/error.h"
#include "common/plan/collective.h"
#include "scripts/tools/import/import.h"
#include "scripts/tools/import/mpi_names.h"
#include "scripts/tools/lib/text.h"

#include <math.h>
#include <string.h>

static const struct benchmark {
	const char *name, *operation;
	int collective; /* -1: none of ours */
	enum fb_size_rule size;
	double counted; /* bytes that count, by the size: of those that are no collectives */
} benchmarks[] = {
	{"PingPong", "latency", -1, FB_SIZE_WHOLE, 1},
	{"PingPing", "ping_ping", -1, FB_SIZE_WHOLE, 1},
	{"Sendrecv", "send_recv", FB_SEND_RECV, FB_SIZE_WHOLE, 1},
	{"Exchange", "exchange", -1, FB_SIZE_WHOLE, 4},
	{"Uniband", "bandwidth", -1, FB_SIZE_WHOLE, 1},
	{"Biband", "bandwidth_bidirectional", -1, FB_SIZE_WHOLE, 1},
	{"Allreduce", "all_reduce", FB_ALL_REDUCE, FB_SIZE_WHOLE, 1},
	{"Reduce_scatter_block", "reduce_scatter", FB_REDUCE_SCATTER, FB_SIZE_WHOLE, 1},
	{"Reduce_scatter", "reduce_scatter_v", FB_REDUCE_SCATTER_V, FB_SIZE_WHOLE, 1},
	{"Reduce", "reduce", FB_REDUCE, FB_SIZE_WHOLE, 1},
	{"Allgatherv", "all_gather_v", FB_ALL_GATHER_V, FB_SIZE_PER_RANK, 1},
	{"Allgather", "all_gather", FB_ALL_GATHER, FB_SIZE_PER_RANK, 1},
	{"Gatherv", "gather_v", -1, FB_SIZE_PER_RANK, 1},
	{"Gather", "gather", FB_GATHER, FB_SIZE_PER_RANK, 1},
	{"Scatterv", "scatter_v", -1, FB_SIZE_PER_RANK, 1},
	{"Scatter", "scatter", FB_SCATTER, FB_SIZE_PER_RANK, 1},
	{"Alltoallv", "all_to_all_v", FB_ALL_TO_ALL_V, FB_SIZE_PER_RANK, 1},
	{"Alltoall", "all_to_all", FB_ALL_TO_ALL, FB_SIZE_PER_RANK, 1},
	{"Bcast", "broadcast", FB_BROADCAST, FB_SIZE_WHOLE, 1},
	{"Barrier", "barrier", FB_BARRIER, FB_SIZE_WHOLE, 0},
};

struct state {
	struct fb_import *import;
	const struct fb_text *text;
	const struct benchmark *benchmark;
	char name[64], program[64], version[32], mpi[32];
	bool nonblocking, in_table, begun;
	enum fb_datatype plain, reduced;
	double processes, groups;
	struct fb_words header;
};

bool fb_imb_detect(const struct fb_text *text)
{
	return fb_text_holds(text, "MPI Benchmarks") && fb_text_holds(text, "# Benchmarking ");
}

/* "#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part" */
static void take_version(struct state *s, const char *line)
{
	const char *at = fb_text_find(line, "MPI Benchmarks ");
	const char *part = strchr(line, ',');
	char name[32] = "";

	fb_text_copy(at + strcspn(at, "0123456789"), ",", s->version, sizeof(s->version));
	if (part)
		fb_text_copy(part + 1, " ", name, sizeof(name));
	snprintf(s->program, sizeof(s->program), "IMB-%s",
		 !strcmp(name, "MPI-1") || !*name ? "MPI1" : name);
	s->begun = false;
}

static void take_benchmark(struct state *s, size_t at, const char *name)
{
	const char *plain;

	if (!strncmp(name, "Multi-", 6))
		name += 6;
	fb_text_copy(name, " ", s->name, sizeof(s->name));
	s->benchmark = NULL;
	s->in_table = false;
	s->processes = s->groups = 0;
	s->nonblocking = s->name[0] == 'I' && s->name[1] >= 'a' && s->name[1] <= 'z';
	plain = s->name + (s->nonblocking ? 1 : 0);
	for (size_t i = 0; i < FB_COUNT_OF(benchmarks) && !s->benchmark; i++)
		if (!strcasecmp(plain, benchmarks[i].name))
			s->benchmark = &benchmarks[i];
	if (!s->benchmark)
		fb_warn("%s:%zu: this benchmark of IMB is not known and left out: %s",
			s->text->path, at + 1, s->name);
}

static bool is_header(const struct fb_words *words)
{
	return words->count > 1 &&
	       (!strcmp(words->word[0], "#bytes") || !strcmp(words->word[0], "#repetitions") ||
		!strcmp(words->word[0], "Group"));
}

/* All benchmarks of a run make one section, whatever the number of processes of each. */
static int begin_table(struct state *s, size_t at, struct fb_words *words)
{
	char path[128];
	int err = FB_OK;

	s->header = *words;
	*words = (struct fb_words){.copy = NULL};
	s->in_table = true;
	if (!s->begun) {
		snprintf(path, sizeof(path), "IMB %s%s%s", s->version, *s->mpi ? ", MPI " : "",
			 s->mpi);
		err = fb_import_begin(s->import, s->text, s->program, path);
		if (!err)
			fb_import_fact(s->import, "imb.version", s->version);
		s->begun = true;
	}
	if (!err)
		err = fb_import_size(s->import, s->text, at + 1, (uint64_t)fmin(s->processes, 1e9),
				     0, 1);
	return err;
}

static const char *cell_of(const struct state *s, const struct fb_words *row, const char *name)
{
	for (size_t i = 0; i < s->header.count && i < row->count; i++)
		if (!strcmp(s->header.word[i], name))
			return row->word[i];
	return "";
}

static double number_of(const struct state *s, const struct fb_words *row, const char *name)
{
	double value = (double)NAN;

	return fb_word_number(cell_of(s, row, name), &value) ? value : (double)NAN;
}

static void set_key(const struct state *s, struct fb_import_record *record, uint64_t size,
		    const char *group)
{
	const struct benchmark *b = s->benchmark;
	bool collective = b->collective >= 0;

	snprintf(record->operation, sizeof(record->operation), "%s", b->operation);
	record->key.engine = "mpi";
	record->key.memory = "host";
	record->key.launch = s->nonblocking ? "nonblocking" : "blocking";
	record->key.datatype = s->plain;
	record->key.bytes = size * (b->size == FB_SIZE_PER_RANK ? record->row.ranks : 1);
	if (strstr(s->name, "_block"))
		fb_import_variant(record, "benchmark", "%s", s->name);
	if (*group)
		fb_import_variant(record, "group", "%s", group);
	if (s->groups > 0)
		fb_import_variant(record, "groups", "%.0f", s->groups);
	if (collective)
		fb_mpi_set_collective(record, (enum fb_collective)b->collective);
	if (record->key.redop == FB_SUM)
		record->key.datatype = s->reduced;
	record->counted_bytes = collective ? (double)record->key.bytes : (double)size * b->counted;
	/* Pairs share the rate of Uniband and Biband, both directions that of the latter. */
	if (!strcmp(b->name, "Uniband") || !strcmp(b->name, "Biband"))
		record->bus_factor = (*b->name == 'U' ? 2.0 : 1.0) / (double)record->row.ranks;
	else if (!collective && b->counted < 2)
		record->bus_factor = 1;
}

/* "out-of-mem.", "int-overflow", "time-out." instead of a time. */
static int add_skipped(struct state *s, size_t at, const struct fb_words *row)
{
	struct fb_import_record *record = fb_import_add(s->import, at + 1);
	uint64_t size = 0;

	if (!fb_word_u64(cell_of(s, row, "#bytes"), &size))
		return fb_text_fail(s->text, at, "the size of this row is no whole number");
	set_key(s, record, size, cell_of(s, row, "Group"));
	record->row.status = FB_STATUS_SKIPPED;
	fb_text_copy(s->text->line[at] + strcspn(s->text->line[at], "oit"), "", record->reason,
		     sizeof(record->reason));
	return FB_OK;
}

static int take_row(struct state *s, size_t at, const struct fb_words *row)
{
	static const char *const times[] = {"t_max[usec]", "t[usec]", "t_ovrl[usec]"};
	double time = (double)NAN, rate = number_of(s, row, "Msg/sec");
	struct fb_import_record *record;
	double iterations = number_of(s, row, "#repetitions"), defects;
	uint64_t size = 0;

	if (strstr(s->text->line[at], "out-of-mem") || strstr(s->text->line[at], "int-overflow") ||
	    strstr(s->text->line[at], "time-out"))
		return add_skipped(s, at, row);
	if (row->count < s->header.count)
		return fb_text_fail(s->text, at, "the row is cut short");
	for (size_t i = 0; i < FB_COUNT_OF(times) && !isfinite(time); i++)
		time = number_of(s, row, times[i]);
	if (*cell_of(s, row, "#bytes") && !fb_word_u64(cell_of(s, row, "#bytes"), &size))
		return fb_text_fail(s->text, at, "the size of this row is no whole number");
	if (!isfinite(time) && rate > 0)
		time = 1e6 / rate;
	if (!isfinite(time))
		return fb_text_fail(s->text, at, "the row has neither a time nor a rate");
	record = fb_import_add(s->import, at + 1);
	set_key(s, record, size, cell_of(s, row, "Group"));
	fb_import_flag(record, "mean");
	defects = number_of(s, row, "defects");
	if (!isfinite(defects))
		fb_import_flag(record, "unverified");
	if (defects > 0) {
		record->row.status = FB_STATUS_WRONG;
		snprintf(record->reason, sizeof(record->reason), "wrong data, says the tool");
	}
	record->extra[FB_EXTRA_RATE_MPS] = rate * 1e-6;
	record->extra[FB_EXTRA_OVERLAP_PERCENT] = number_of(s, row, "overlap[%]");
	if (isfinite(number_of(s, row, "t_max[usec]"))) {
		record->row.rank_mean_us = number_of(s, row, "t_avg[usec]");
		record->row.rank_min_us = number_of(s, row, "t_min[usec]");
	}
	return fb_import_mean(record, time, iterations, record->counted_bytes, record->bus_factor);
}

static bool take_comment(struct state *s, size_t at)
{
	const char *line = s->text->line[at], *found;

	if (fb_text_find(line, "MPI Benchmarks ") && *line == '#') {
		take_version(s, line);
	} else if ((found = fb_text_after(line, "# MPI Version"))) {
		fb_text_copy(found + strspn(found, " :"), "", s->mpi, sizeof(s->mpi));
	} else if ((found = fb_text_after(line, "# MPI_Datatype for reductions"))) {
		s->reduced = fb_mpi_datatype(found + strspn(found, " :"));
	} else if ((found = fb_text_after(line, "# MPI_Datatype"))) {
		s->plain = fb_mpi_datatype(found + strspn(found, " :"));
	} else if ((found = fb_text_after(line, "# Benchmarking "))) {
		take_benchmark(s, at, found);
	} else if (fb_text_find(line, "# #processes =")) {
		s->processes = fb_text_number(line, "#processes =", 0);
	} else if (fb_text_find(line, " groups of ")) {
		s->groups = fb_text_number(line, "# (", 0);
		s->processes = fb_text_number(line, " groups of ", 0);
	} else {
		return *line == '#';
	}
	return true;
}

static int take_line(struct state *s, size_t at)
{
	struct fb_words words;
	double number;
	int err = FB_OK;

	if (take_comment(s, at) || !s->benchmark)
		return FB_OK;
	fb_words_split(&words, s->text->line[at]);
	if (is_header(&words))
		err = begin_table(s, at, &words);
	else if (s->in_table && words.count && fb_word_number(words.word[0], &number) &&
		 !fb_text_is_torn(s->text, at))
		err = take_row(s, at, &words);
	return err;
}

int fb_imb_read(struct fb_import *import, const struct fb_text *text)
{
	struct state s = {
		.import = import,
		.text = text,
		.program = "IMB-MPI1",
		.plain = FB_DATATYPES,
		.reduced = FB_DATATYPES,
	};
	int err = FB_OK;

	for (size_t at = 0; at < text->count && !err; at++) {
		fb_config_take(&import->config, text->line[at]);
		err = take_line(&s, at);
	}
	return err;
}
