/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of common options; see settings.h. */
#include "common/base/datatype.h"
#include "common/base/error.h"
#include "common/base/sizes.h"
#include "common/option/settings.h"
#include "common/option/users.h"
#include "common/record/schema.h"
#include "common/record/variant.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int check_bytes(const char *value, char *accepted, size_t n)
{
	struct fb_sizes *sizes = malloc(sizeof(*sizes));
	char why[160];
	int err;

	if (!sizes)
		return FB_ENOMEM;
	err = fb_sizes_parse(value, sizes, why, sizeof(why));
	free(sizes);
	/* --help asks with an empty value for what is accepted in general, without a cause. */
	if (err)
		snprintf(accepted, n, "sizes like 8:64M:2 or 0,1,8,1K%s%s", *value ? ": " : "",
			 *value ? why : "");
	return err;
}

/* Whether every item of a list is accepted by judge(item). */
static bool each_item(const char *list, bool (*judge)(const char *item))
{
	char item[64];
	int more;

	while ((more = fb_option_next_item(&list, item, sizeof(item))) > 0)
		if (!judge(item))
			return false;
	return more == 0;
}

static bool is_name(const char *item)
{
	for (const char *p = item; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_-.:+", *p))
			return false;
	return *item != '\0';
}

static bool is_datatype(const char *item)
{
	return fb_datatype_parse(item) >= 0;
}

static bool is_redop(const char *item)
{
	return fb_redop_parse(item) >= 0;
}

static bool is_cadence(const char *item)
{
	return fb_cadence_parse(item) >= 0;
}

static bool is_rank(const char *item)
{
	return *item && strlen(item) <= 8 && strspn(item, "0123456789") == strlen(item);
}

/* FB_OK for all, or a list of what `judge` accepts; else FB_EINPUT, and `what` is accepted. */
static int check_list(const char *value, bool (*judge)(const char *item), const char *what,
		      char *accepted, size_t n)
{
	if (!strcmp(value, "all") || each_item(value, judge))
		return FB_OK;
	snprintf(accepted, n, "%s", what);
	return FB_EINPUT;
}

static int check_names(const char *value, char *accepted, size_t n)
{
	return check_list(value, is_name, "names separated by commas, or all", accepted, n);
}

static int check_datatype(const char *value, char *accepted, size_t n)
{
	char what[160];

	fb_option_join("all, or a list of: ", fb_datatype_names, what, sizeof(what));
	return check_list(value, is_datatype, what, accepted, n);
}

static int check_redop(const char *value, char *accepted, size_t n)
{
	char what[96];

	fb_option_join("all, or a list of: ", fb_redop_names, what, sizeof(what));
	return check_list(value, is_redop, what, accepted, n);
}

static int check_root(const char *value, char *accepted, size_t n)
{
	return check_list(value, is_rank, "all, or ranks separated by commas", accepted, n);
}

static int check_in_place(const char *value, char *accepted, size_t n)
{
	if (!strcmp(value, "no") || !strcmp(value, "yes") || !strcmp(value, "both") ||
	    !strcmp(value, "all"))
		return FB_OK;
	snprintf(accepted, n, "no, yes, both or all (which is both)");
	return FB_EINPUT;
}

static int check_cadence(const char *value, char *accepted, size_t n)
{
	return check_list(value, is_cadence, "isolated, streaming, or all", accepted, n);
}

/* Whoever types nccl-tests' "-c 1" wants the data checked, and no folder of this name. */
static int check_csv(const char *value, char *accepted, size_t n)
{
	snprintf(accepted, n, "a folder other than 0 and 1; nccl-tests' -c is --verify here");
	return !strcmp(value, "0") || !strcmp(value, "1") ? FB_EINPUT : FB_OK;
}

static int check_run(const char *value, char *accepted, size_t n)
{
	/* A spreadsheet takes a field that begins with a sign for a formula. */
	if (strlen(value) < 128 && is_name(value) && !strchr(FB_CSV_SIGNS, *value))
		return FB_OK;
	snprintf(accepted, n, "a name of letters, digits and _ - . : +, shorter than 128, that "
			      "does not begin with + or -");
	return FB_EINPUT;
}

static const char *const verify_names[] = {"yes", "first", "no", "each", NULL};
static const char *const cache_names[] = {"hot", "cold", NULL};
static const char *const accumulate_names[] = {"type", "f32", NULL};
const char *const fb_gpu_direct_names[] = {"auto", "no", "dma-buf", "peermem", NULL};
static const char *const mpi_threads_names[] = {"single", "funneled", "serialized", "multiple",
						NULL};
static const char *const format_names[] = {"auto", "table", "csv", NULL};
const char *const fb_nccl_force_by_names[] = {"communicator", "call", "auto", "plugin",
					      NULL};
static const char *const multicast_names[] = {"off", "allow", NULL};
const char *const fb_auto_objectives[] = {"alone", "overlapped", NULL};
static const char *const preset_names[] = {"none", "inference", "training", NULL};

#define STRING(field, short_, name, place, fallback, check, help)                                  \
	FB_OPTION_STRING(struct fb_settings, field, short_, name, place, fallback, check, help)
#define U64(field, name, place, fallback, low, high, help)                                         \
	FB_OPTION_U64(struct fb_settings, field, 0, name, place, fallback, low, high, help)
#define TIME(field, name, fallback, low, high, help)                                               \
	FB_OPTION_TIME(struct fb_settings, field, 0, name, fallback, low, high, help)
#define FLAG(field, short_, name, help)                                                            \
	FB_OPTION_FLAG(struct fb_settings, field, short_, name, help)

static const struct fb_option table[] = {
	FB_OPTION_GROUP("What to run"),
	FB_OPTION_CHOICE(struct fb_settings, preset, 0, "preset", "none", preset_names,
			 "defaults of other options for a purpose; --preset=NAME --help shows "
			 "them; an option that you give overrides its preset"),
	STRING(bytes, 'b', "bytes", "SIZES", "8:1M:4", check_bytes,
	       "message sizes: from:to:factor, from:to:+step, or a list"),
	STRING(engine, 'e', "engine", "LIST", "all", check_names,
	       "what carries out the operation; usual (collectives): between GPUs auto, nccl and a "
	       "CUDA-aware mpi, on processors all"),
	STRING(algorithm, 'a', "algorithm", "LIST", "all", check_names, "algorithms"),
	STRING(protocol, 'p', "protocol", "LIST", "all", check_names, "how bytes cross a link"),
	STRING(transport, 't', "transport", "LIST", "auto", check_names,
	       "what links are made of; auto: shm where ranks share a node, else rdma where "
	       "all ranks have an active port, else tcp"),
	STRING(memory, 'm', "memory", "LIST", "host", check_names,
	       "kind of memory of the buffers; engines of GPUs take a GPU's without this option"),
	STRING(datatype, 'd', "datatype", "LIST", "f32", check_datatype, "types of an element"),
	STRING(redop, 'o', "redop", "LIST", "sum", check_redop, "reductions"),
	STRING(root, 0, "root", "LIST", "0", check_root, "root ranks, or all"),
	STRING(in_place, 0, "in-place", "WHICH", "no", check_in_place,
	       "no, yes or both; all is both"),
	STRING(cadence, 0, "cadence", "LIST", "isolated", check_cadence,
	       "isolated: synchronise before each repetition; streaming: back to back"),
	STRING(launch, 0, "launch", "LIST", "blocking", check_names, "how operations are started"),
	FB_OPTION_CHOICES(struct fb_settings, cache, 0, "cache", "hot", cache_names,
			  "hot: buffers stay in caches from repetition to repetition; cold: other "
			  "memory is written before each, not timed (cadence isolated)"),
	U64(slots, "slots", "N", "8", 1, 1024, "pieces of a link that are under way at once"),
	U64(slot_bytes, "slot-bytes", "SIZE", "0", 0, UINT64_C(1) << 30,
	    "bytes of a slot, or of a zero-copy piece; 0: the engine chooses"),
	FB_OPTION_U64_AUTO(struct fb_settings, channels, 0, "channels", "N", "0", 0, 1024,
			   "parallel channels, on GPUs thread blocks; 0, auto: the engine chooses"),
	U64(threads, "threads", "N", "0", 0, 640,
	    "threads of a GPU's block, or of NIXL's that post; 0: the engine chooses"),
	U64(ll_line, "ll-line", "N", "16", 8, 16,
	    "bytes of a line of protocol ll on GPUs, 8 or 16; half of them are data"),
	FLAG(no_gpu_overlap, 0, "no-gpu-overlap",
	     "a kernel starts on the GPU only after the kernel before it has ended"),
	FLAG(blocking_kernel, 0, "blocking-kernel",
	     "a kernel keeps the GPU waiting until a repetition's launches are enqueued, so that "
	     "their cost on the host is not in the time"),
	FB_OPTION_CHOICE(struct fb_settings, accumulate, 0, "accumulate", "type", accumulate_names,
			 "type of engine cuda's sums of 8- and 16-bit floats in a step"),
	FB_OPTION_CHOICE(struct fb_settings, gpu_direct, 0, "gpu-direct", "auto",
			 fb_gpu_direct_names, "RDMA devices reach GPU memory themselves (engines "
			 "cuda, rdma); auto: by dma-buf, else peermem, else not"),
	STRING(nccl_library, 0, "nccl-library", "FILE", "libnccl.so.2", NULL,
	       "the NCCL to load: a path, or a name that the linker finds"),
	STRING(nccl_force, 0, "nccl-force", "LIST", "library", check_names,
	       "what NCCL must use: library, grouped, ALGORITHM or ALGORITHM:PROTOCOL, or all"),
	FB_OPTION_CHOICE(struct fb_settings, nccl_force_by, 0, "nccl-force-by", "communicator",
			 fb_nccl_force_by_names, "what passes --nccl-force and --channels to NCCL: "
			 "a communicator, each call (NCCL 2.31), or this "
			 "project's tuner plugin (2.24, --nccl-force "
			 "only); auto: the first of call, plugin and "
			 "communicator that is possible"),
	FLAG(nccl_model, 0, "nccl-model",
	     "column model_us: what NCCL's model predicts; it takes one more communicator"),
	FLAG(nccl_gpu_time, 0, "nccl-gpu-time",
	     "column gpu_us: time of a ring's kernel by the GPU's timer, from NCCL's profiler "
	     "(2.27); path has what it says ran, if the log does not"),
	FB_OPTION_U64_AUTO(struct fb_settings, gpus_per_process, 0, "gpus-per-process", "N", "0", 0,
			   64, "GPUs of each process with engine nccl-process; 0, auto: its share "
			   "of the host's"),
	STRING(registration, 0, "registration", "LIST", "none", check_names,
	       "how buffers are made known to NCCL: none, registered, window, window-copy, or all"),
	STRING(copy_direction, 0, "copy-direction", "LIST", "push", check_names,
	       "who copies with engine copy: push (the source), pull (the destination), auto"),
	U64(copy_streams, "copy-streams", "N", "0", 0, 16,
	    "streams that copy at once with engine copy; 0: the engine chooses"),
	STRING(tuning, 0, "tuning", "FILE", "auto", NULL,
	       "the table by which auto and 0 choose: a file of `tune` or `kv-paths`; auto: this "
	       "machine's table; none"),
	FB_OPTION_CHOICE(struct fb_settings, objective, 0, "objective", "alone", fb_auto_objectives,
			 "what auto optimises: collectives alone, or overlapped with computing"),
	FB_OPTION_CHOICE(struct fb_settings, multicast, 0, "multicast", "off", multicast_names,
			 "allow: libraries and engine multimem may use NVLink multicast, on GPUs "
			 "that nobody shares"),
	FB_OPTION_CHOICE(struct fb_settings, mpi_threads, 0, "mpi-threads", "single",
			 mpi_threads_names, "thread level that the MPI library is asked for; "
			 "more than single makes some libraries slower"),
	FB_OPTION_INT(struct fb_settings, nodes_as, 0, "nodes-as", "N", "0", 0, 1 << 20,
		      "treat the ranks as N nodes of consecutive ranks; 0: the real nodes"),

	FB_OPTION_GROUP("How to measure"),
	FB_OPTION_RATIO(struct fb_settings, ci, 0, "ci", "1%", 1e-4, 1,
			"stop when the 95% interval of the median is within this ratio of it"),
	U64(min_samples, "min-samples", "N", "50", 1, 1000000, "fewest repetitions"),
	U64(max_samples, "max-samples", "N", "2000", 1, 1000000, "most repetitions"),
	TIME(max_time_s, "max-time", "1s", 1e-3, 86400, "longest time of one row's repetitions"),
	FLAG(whole_time, 0, "whole-time",
	     "repeat until --max-time is over, however tight the interval"),
	U64(seed, "seed", "N", "1", 0, UINT64_MAX,
	    "of the rows' order, of the data, and of serve's arrivals"),
	U64(launch_index, "launch-index", "N", "0", 0, 1000000,
	    "which start of the study this is; changes the order, and serve's arrivals"),
	FB_OPTION_CHOICE(struct fb_settings, verify, 0, "verify", "yes", verify_names,
			 "check the data before and after timing, before only, never, or also in "
			 "each repetition, on new data"),
	TIME(timeout_s, "timeout", "30s", 0.1, 86400, "longest time of a single step"),

	FB_RDMA_OPTIONS(struct fb_settings, rdma),
	FB_TCP_OPTIONS(struct fb_settings, tcp),

	FB_OPTION_GROUP("What to write"),
	STRING(csv, 'c', "csv", "DIR", NULL, check_csv,
	       "folder of the result files; without it rows go to standard output"),
	STRING(run, 0, "run", "NAME", NULL, check_run,
	       "name of the study; by default the folder's, or host and time"),
	STRING(tag, 0, "tag", "KEYS", NULL, fb_variant_check,
	       "your own keys as k=v;k=v, for the column `variant` of all rows"),
	FLAG(raw, 0, "raw", "write every repetition to samples.csv too"),
	FLAG(raw_ranks, 0, "raw-ranks",
	     "write each rank's begin and end of every repetition to ranks.csv too"),
	FLAG(resume, 0, "resume", "skip rows that the folder holds already"),
	FB_OPTION_CHOICE(struct fb_settings, format, 0, "format", "auto", format_names,
			 "of standard output: a table at the end, or CSV; auto: a table on a "
			 "terminal and beside --csv (but for --quiet), else CSV"),
	FLAG(quiet, 'q', "quiet", "no progress and no table, only errors"),

	FB_OPTION_GROUP("Instead of measuring"),
	FLAG(list, 'l', "list",
	     "list all cases, with the reason where one would be skipped; with --format=csv as "
	     "rows"),
	FLAG(dry_run, 'n', "dry-run", "show the order of the cases and how long they may take"),
	FLAG(check_plan, 0, "check-plan", "prove the plans of all cases correct, run none"),
	FLAG(help, 'h', "help", "this text"),
	FLAG(man, 0, "man", "the manual page, as roff"),
	FLAG(version, 'V', "version", "version, compiler and revision"),
	FB_OPTION_END,
};

static bool replace(struct fb_option *option, const struct fb_default *by)
{
	for (; option && option->type != FB_OPT_END; option++)
		if (option->type != FB_OPT_GROUP && !strcmp(option->name, by->option)) {
			option->fallback = by->value;
			return true;
		}
	return false;
}

static int replace_all(const struct fb_default *by, struct fb_option *common,
		       struct fb_option *own)
{
	for (; by && by->option; by++)
		if (!replace(common, by) && !replace(own, by))
			return fb_error(FB_EINPUT,
					"the program has a default for an unknown option --%s",
					by->option);
	return FB_OK;
}

int fb_preset_apply(const struct fb_default *const *presets, int preset, struct fb_option *common,
		    struct fb_option *own)
{
	return presets ? replace_all(presets[preset], common, own) : FB_OK;
}

struct fb_option *fb_settings_table(const char *program, const struct fb_default *defaults)
{
	struct fb_option *copy = fb_option_copy(table);

	for (struct fb_option *option = copy; option && option->type != FB_OPT_END; option++)
		if (option->type != FB_OPT_GROUP && !fb_option_used(option->name, program))
			option->unused_by = program;
	if (!copy || !replace_all(defaults, copy, NULL))
		return copy;
	free(copy);
	return NULL;
}

/* Whether the only engine is NIXL, whose threads are the processor's. */
static bool is_nixl(const char *engine)
{
	const char *mover = "mover-";
	size_t length = strlen(mover);

	engine += strncmp(engine, mover, length) ? 0 : length;
	return !strcmp(engine, "nixl") || !strcmp(engine, "nixl_gpu");
}

int fb_settings_check(const struct fb_settings *settings, FILE *errors)
{
	char value[32], accepted[64];

	if (settings->max_samples < settings->min_samples) {
		snprintf(value, sizeof(value), "%llu", (unsigned long long)settings->max_samples);
		snprintf(accepted, sizeof(accepted), "at least --min-samples, which is %llu",
			 (unsigned long long)settings->min_samples);
		return fb_option_reject(errors, "max-samples", value, accepted);
	}
	if (settings->ll_line != 8 && settings->ll_line != 16) {
		snprintf(value, sizeof(value), "%llu", (unsigned long long)settings->ll_line);
		return fb_option_reject(errors, "ll-line", value, "8 or 16");
	}
	if (settings->threads % 32 && !is_nixl(settings->engine)) {
		snprintf(value, sizeof(value), "%llu", (unsigned long long)settings->threads);
		return fb_option_reject(errors, "threads", value, "a multiple of 32");
	}
	if (!settings->csv && settings->raw)
		return fb_option_reject(errors, "raw", NULL, "--csv DIR with it");
	if (!settings->csv && settings->raw_ranks)
		return fb_option_reject(errors, "raw-ranks", NULL, "--csv DIR with it");
	if (!settings->csv && settings->resume)
		return fb_option_reject(errors, "resume", NULL, "--csv DIR with it");
	if (settings->rdma.relaxed_ordering && settings->rdma.notify != FB_RDMA_NOTIFY_IMM)
		return fb_option_reject(errors, "rdma-relaxed-ordering", NULL,
					"--rdma-notify imm with it");
	return FB_OK;
}
