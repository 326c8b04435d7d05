/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of nccl-tests; see nccl.h. Its main result is the mean over a loop of calls, taken with the
 * host's clock and averaged over ranks unless -a says otherwise. Sizes have the suite's meaning.
 */
#include "common/base/error.h"
#include "common/plan/collective.h"
#include "scripts/tools/import/nccl.h"
#include "scripts/tools/lib/text.h"

#include <math.h>
#include <string.h>

static const struct {
	const char *program, *operation;
	int collective; /* -1: none of ours */
} programs[] = {
	{"all_reduce_perf", "all_reduce", FB_ALL_REDUCE},
	{"all_gather_perf", "all_gather", FB_ALL_GATHER},
	{"reduce_scatter_perf", "reduce_scatter", FB_REDUCE_SCATTER},
	{"broadcast_perf", "broadcast", FB_BROADCAST},
	{"reduce_perf", "reduce", FB_REDUCE},
	{"alltoallv_perf", "all_to_all_v", FB_ALL_TO_ALL_V},
	{"alltoall_perf", "all_to_all", FB_ALL_TO_ALL},
	{"gather_perf", "gather", FB_GATHER},
	{"scatter_perf", "scatter", FB_SCATTER},
	{"sendrecv_perf", "send_recv", FB_SEND_RECV},
	{"hypercube_perf", "hypercube", -1},
};

enum { PROGRAMS = FB_COUNT_OF(programs) };

static const struct {
	const char *name;
	enum fb_datatype type;
} types[] = {
	{"int8", FB_I8},	 {"char", FB_I8},	{"uint8", FB_U8},
	{"int32", FB_I32},	 {"int", FB_I32},	{"uint32", FB_U32},
	{"int64", FB_I64},	 {"uint64", FB_U64},	{"half", FB_F16},
	{"float", FB_F32},	 {"double", FB_F64},	{"bfloat16", FB_BF16},
	{"f8e4m3", FB_F8E4M3},	 {"f8e5m2", FB_F8E5M2}, {"fp8_e4m3", FB_F8E4M3},
	{"fp8_e5m2", FB_F8E5M2},
};

const char *fb_nccl_program(const char *name)
{
	for (size_t i = 0; i < PROGRAMS; i++) {
		size_t n = strlen(programs[i].program) - strlen("_perf");

		if (!strcmp(name, programs[i].program) || !strcmp(name, programs[i].operation) ||
		    (strlen(name) == n && !strncmp(name, programs[i].program, n)))
			return programs[i].program;
	}
	return NULL;
}

const char *fb_nccl_program_at(size_t index)
{
	return index < PROGRAMS ? programs[index].program : NULL;
}

static size_t find_program(const char *name)
{
	size_t i = 0;

	while (i < PROGRAMS && strcmp(programs[i].program, name))
		i++;
	return i;
}

bool fb_nccl_is_type(const char *text)
{
	for (size_t i = 0; i < FB_COUNT_OF(types); i++)
		if (!strcmp(types[i].name, text))
			return true;
	return false;
}

static uint64_t number_of(const struct fb_import *import, char letter, const char *name)
{
	const char *word = fb_config_option(&import->config, letter, name);
	uint64_t value;

	return word && fb_word_u64(word, &value) ? value : 0;
}

/* Options that change what is measured and that neither header nor table shows. */
static void take_options(struct fb_import *import, struct fb_nccl_run *run)
{
	static const struct {
		char letter;
		const char *name, *usual;
	} others[] = {
		{'a', "average", "1"},
		{'x', "cta_policy", "0"},
		{'D', "device_implementation", "0"},
		{'V', "device_cta_count", "0"},
	};
	uint64_t registered = number_of(import, 'R', "local_register");

	for (size_t i = 0; i < FB_COUNT_OF(others); i++) {
		const char *word = fb_config_option(&import->config, others[i].letter,
						    others[i].name);

		if (word && strcmp(word, others[i].usual) != 0)
			fb_import_tag(import, others[i].name, word);
	}
	/* A log without the command does not say whether -R was given: only a known -R is a key. */
	if (registered > 0)
		run->registered = registered < 2 ? 1 : 2;
	if (!run->blocking)
		run->blocking = number_of(import, 'z', "blocking");
	if (!run->unalign)
		run->unalign = number_of(import, 'u', "unalign");
	if (!run->gpus)
		run->gpus = number_of(import, 'g', "ngpus");
	if (!run->threads)
		run->threads = number_of(import, 't', "nthreads");
}

/* Ranks by the command line, for a log without the list of devices; 0: not said. */
static uint64_t ranks_started(const struct fb_import *import, const struct fb_nccl_run *run)
{
	const struct fb_config *config = &import->config;
	uint64_t per_process = (run->threads ? run->threads : 1) * (run->gpus ? run->gpus : 1);

	if (!config->words || per_process > 1000000 || config->processes > 1000000)
		return 0;
	return (config->launched ? config->processes : 1) * per_process;
}

int fb_nccl_begin(struct fb_import *import, const struct fb_text *text, size_t line,
		  struct fb_nccl_run *run)
{
	char path[128];
	int err;

	snprintf(path, sizeof(path), "nccl-tests%s%s%s%s", *run->version ? " " : "", run->version,
		 *run->library ? ", NCCL " : "", run->library);
	err = fb_import_begin(import, text, run->program, path);
	if (err)
		return err;
	take_options(import, run);
	if (!run->ranks)
		run->ranks = ranks_started(import, run);
	err = fb_import_size(import, text, line, run->ranks, run->nodes, 1);
	if (err)
		return err;
	fb_import_fact(import, "nccl_tests.version", run->version);
	fb_import_fact(import, "nccl.version", run->library);
	fb_import_fact(import, "gpu.name", run->gpu);
	return FB_OK;
}

/* A key for a number that is larger than usual. */
static void add_count(struct fb_import_record *record, const char *key, uint64_t n, uint64_t usual)
{
	if (n > usual)
		fb_import_variant(record, key, "%llu", (unsigned long long)n);
}

/* Keys in the order of the alphabet. */
static void add_variants(struct fb_import_record *record, const struct fb_nccl_run *run,
			 const struct fb_nccl_cell *cell, const char *timing)
{
	add_count(record, "aggregated", run->aggregated, 1);
	add_count(record, "blocking", run->blocking, 1);
	add_count(record, "gpus", run->gpus, 1);
	add_count(record, "groups", run->groups, 1);
	if (*cell->redop && strcmp(cell->redop, "none") && record->key.redop < 0)
		fb_import_variant(record, "redop", "%.32s", cell->redop);
	add_count(record, "threads", run->threads, 1);
	if (*timing)
		fb_import_variant(record, "timing", "%s", timing);
	if (record->key.datatype == FB_DATATYPES)
		fb_import_variant(record, "type", "%.32s", cell->type);
	add_count(record, "unalign", run->unalign, 0);
}

struct fb_import_record *fb_nccl_add(struct fb_import *import, size_t line,
				     const struct fb_nccl_run *run, const struct fb_nccl_cell *cell,
				     const char *timing)
{
	struct fb_import_record *record = fb_import_add(import, line);
	size_t program = find_program(run->program);
	int ranks;

	if (!record)
		return NULL;
	ranks = record->row.ranks > 1000000000 ? 1000000000 : (int)record->row.ranks;
	snprintf(record->operation, sizeof(record->operation), "%s",
		 program < PROGRAMS ? programs[program].operation : run->program);
	record->key.engine = "nccl";
	record->key.memory = "device";
	record->key.launch = run->graph ? "graph" : "stream";
	record->key.cadence = run->blocking == 1 || run->blocking == 3 ? FB_ISOLATED : FB_STREAMING;
	record->key.registration = run->registered < 0	  ? "-"
				   : run->registered == 0 ? "none"
				   : run->registered == 1 ? "registered"
							  : "symmetric";
	for (size_t i = 0; i < FB_COUNT_OF(types); i++)
		if (!strcmp(types[i].name, cell->type))
			record->key.datatype = types[i].type;
	record->key.redop = fb_redop_parse(cell->redop);
	record->key.root = cell->root < 0 || cell->root >= ranks ? -1 : (int)cell->root;
	record->key.in_place = cell->in_place;
	record->key.bytes = cell->bytes;
	add_variants(record, run, cell, timing);
	if (cell->wrong > 0) {
		record->row.status = FB_STATUS_WRONG;
		record->row.errors = cell->wrong < 1e18 ? (uint64_t)cell->wrong : 0;
	} else if (!isfinite(cell->wrong)) {
		fb_import_flag(record, "unverified");
	}
	record->counted_bytes = (double)cell->bytes;
	if (program < PROGRAMS && programs[program].collective >= 0)
		record->bus_factor = fb_collective_bus_factor(
			(enum fb_collective)programs[program].collective, ranks);
	return record;
}

int fb_nccl_add_mean(struct fb_import *import, size_t line, const struct fb_nccl_run *run,
		     const struct fb_nccl_cell *cell)
{
	struct fb_import_record *record = fb_nccl_add(import, line, run, cell, "");

	fb_import_flag(record, "mean");
	record->extra[FB_EXTRA_REPORTED_MIN_US] = cell->min_us;
	record->extra[FB_EXTRA_REPORTED_MAX_US] = cell->max_us;
	record->extra[FB_EXTRA_REPORTED_P99_US] = cell->p99_us;
	return fb_import_mean(record, cell->us, run->iterations, record->counted_bytes,
			      record->bus_factor);
}

const char *fb_nccl_version(uint64_t code, char *buf, size_t n)
{
	/* Before 2.9 the code was 2804 for 2.8.4. */
	unsigned long long major = code / 10000, minor = code % 10000 / 100;

	if (code < 10000) {
		major = code / 1000;
		minor = code % 1000 / 100;
	}
	snprintf(buf, n, "%llu.%llu.%llu", major, minor, (unsigned long long)(code % 100));
	return buf;
}
