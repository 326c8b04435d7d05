/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tune: writes a tuning table from measured rows. For every `auto` option it says what is best on
 * this machine, by operation, number of ranks and size. scripts/tools/tune/choose.h explains how it
 * decides, collectives/tuning/tuning.h the format of a table.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <csv.h>

#include "common/base/error.h"
#include "common/option/option.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/lib/tool.h"
#include "scripts/tools/tune/tune.h"

#define STRING(field, short_, name, place, help)                                                   \
	FB_OPTION_STRING(struct fb_tune_settings, field, short_, name, place, NULL, NULL, help)
#define FLAG(field, short_, name, help)                                                            \
	FB_OPTION_FLAG(struct fb_tune_settings, field, short_, name, help)

static const struct fb_option table[] = {
	FB_OPTION_GROUP("The table"),
	STRING(output, 'o', "output", "FILE", "where to write it; without it standard output"),
	STRING(name, 0, "name", "NAME", "its name; by default made of the model's"),
	STRING(gpu, 0, "gpu", "MODEL", "the GPUs, where the rows' environment.csv does not say"),
	STRING(cpu, 0, "cpu", "MODEL", "the processors, likewise"),
	STRING(like, 0, "like", "NAME", "where it has no rule: the table of a machine like it"),
	FB_OPTION_GROUP("What it says"),
	FLAG(nccl_table, 0, "nccl-table", "instead the FB_NCCL_TABLE of NCCL's tuner plugin, from "
	     "rows of engine nccl by --nccl-force (study nccl-map)"),
	FLAG(nccl_env, 0, "nccl-env", "instead a script of exports of NCCL's variables with what "
	     "each gains, from rows of a study with env (study nccl-env)"),
	FB_OPTION_RATIO(struct fb_tune_settings, change, 0, "change", "2%", 0, 1,
			"what a change between neighbouring sizes has to gain"),
	STRING(without, 0, "without", "LIST", "algorithms and protocols to leave out"),
	FB_OPTION_CHOICE(struct fb_tune_settings, objective, 0, "objective", "alone",
			 fb_auto_objectives, "what the rules are best at: alone, from rows of "
			 "collectives; overlapped with computing, from rows of ddp"),
	FLAG(best_only, 0, "best-only", "no rules for algorithms or protocols that are given"),
	FB_OPTION_END,
};

static const char description[] =
	"tune [option...] DIR|FILE... [COLUMN=VALUE,...]...\n\n"
	"Reads the result files of folders, or single files, and writes the tuning table of the "
	"machine that they were measured on: for each operation of engines cuda, copy and host, "
	"number of ranks, and size, which algorithm, protocol and shape is best. Programs use it "
	"by --tuning FILE; tables in collectives/tuning/ are built in. With --nccl-table and "
	"--nccl-env it writes what makes NCCL choose so in any job. COLUMN=VALUE takes only the "
	"rows with one of these values.\n\n"
	"Exit code: 0 good; 2 a row has wrong data; 3 the input cannot be used; 5 a row is a "
	"fault. Then nothing is written.";

/* The model in the environments of all rows, which must be the same. *model NULL: none is known. */
static int model_of(const struct fb_results *results, enum fb_machine kind, const char **model)
{
	const char *key = kind == FB_MACHINE_GPU ? "gpu.model" : "cpu.model";

	for (size_t i = 0; i < results->nfacts; i++) {
		const struct fb_env_fact *fact = &results->fact[i];

		/* Rows of programs that did not write gpu.model yet. */
		if (strcmp(fact->key, key) &&
		    (kind == FB_MACHINE_CPU || strncmp(fact->key, "nvidia.gpu.", 11)))
			continue;
		if (*model && strcmp(*model, fact->value))
			return fb_error(FB_EINPUT, "the rows are of several machines, '%s' and "
					"'%s': expected rows of one", *model, fact->value);
		*model = fact->value;
	}
	return FB_OK;
}

/* "NVIDIA H200" gives "h200": letters and digits of all words but the maker's. */
static void name_of(const char *model, char *name, size_t n)
{
	const char *first = strpbrk(model, " ");
	size_t used = 0;

	for (const char *p = first ? first : model; *p && used + 1 < n; p++)
		if (isalnum((unsigned char)*p))
			name[used++] = (char)tolower((unsigned char)*p);
	name[used] = '\0';
	if (!used)
		snprintf(name, n, "unnamed");
}

/* The command that wrote it, and what the rows were measured with. */
static void print_head(const struct fb_results *results, const char *what, size_t rows, int argc,
		       char **argv, FILE *out)
{
	static const char *const facts[] = {"nvidia.driver", "build.revision", "mpi.library"};
	const char *first = NULL, *last = NULL;

	fprintf(out, "# SPDX-License-Identifier: BSD-3-Clause\n#\n# %s; "
		"docs/tuning.md. Written by:\n#\n#\ttune", what);
	for (int i = 1; i < argc; i++)
		fprintf(out, " %s%s%s", strpbrk(argv[i], " ;*") ? "'" : "", argv[i],
			strpbrk(argv[i], " ;*") ? "'" : "");
	for (size_t i = 0; i < results->count; i++) {
		const char *utc = fb_result_text(&results->row[i], "utc");

		first = !first || strcmp(utc, first) < 0 ? utc : first;
		last = !last || strcmp(utc, last) > 0 ? utc : last;
	}
	fprintf(out, "\n#\n# from %zu rows of %s to %s.\n", rows, first ? first : "",
		last ? last : "");
	for (size_t i = 0; i < FB_COUNT_OF(facts); i++)
		if (fb_results_fact(results, facts[i]))
			fprintf(out, "# %s: %s\n", facts[i], fb_results_fact(results, facts[i]));
	fprintf(out, "#\n");
}

static int print_machine(const struct fb_results *results, const struct fb_tune_settings *settings,
			 enum fb_machine kind, FILE *out)
{
	const char *model = kind == FB_MACHINE_GPU ? settings->gpu : settings->cpu;
	char name[64];
	int err = model ? FB_OK : model_of(results, kind, &model);

	if (err)
		return err;
	if (!model)
		return fb_error(FB_EINPUT, "environment.csv does not say which %s the rows are "
				"of: expected --%s MODEL", fb_machine_names[kind],
				fb_machine_names[kind]);
	if (settings->name)
		snprintf(name, sizeof(name), "%s", settings->name);
	else
		name_of(model, name, sizeof(name));
	fprintf(out, "\ntable %s %s %s\n", name, fb_machine_names[kind], model);
	if (settings->like)
		fprintf(out, "like %s\n", settings->like);
	return FB_OK;
}

static int print_tables(const struct fb_results *results, const struct fb_tune_settings *settings,
			const struct fb_tune_sample *sample, size_t count, FILE *out)
{
	int err = FB_OK, kind = -1;
	size_t n;

	fprintf(out, "# rule engine operation ranks nodes transport in_place element from to  "
		"asked_algorithm asked_protocol\n#      algorithm protocol channels threads "
		"slot_bytes  # time, most above the best measured\n");
	for (size_t i = 0; i < count && !err; i += n) {
		struct fb_tune_family family = {.point = NULL};

		n = fb_tune_family_length(sample + i, count - i);
		if (kind != (int)fb_tune_kind(sample + i)) {
			kind = (int)fb_tune_kind(sample + i);
			err = print_machine(results, settings, (enum fb_machine)kind, out);
		}
		if (err)
			break;
		fb_tune_family_make(&family, sample + i, n);
		fb_tune_rules(&family, settings, out);
	}
	return err;
}

/* A program's table is read first, so that no program is given what it would refuse. */
static int check_table(const char *text)
{
	struct fb_tunings tunings = {.count = 0};
	int err = fb_tunings_parse(&tunings, text, "the table", stderr);

	fb_tunings_free(&tunings);
	return err;
}

static int write_text(const char *text, const char *output)
{
	FILE *file;
	int err = FB_OK;

	file = output ? fopen(output, "w") : stdout;
	if (!file)
		return fb_error(FB_EINPUT, "--output %s: %s", output, strerror(errno));
	fputs(text, file);
	if (fflush(file) || ferror(file))
		err = fb_error(FB_EIO, "%s: %s", output ? output : "standard output",
			       strerror(errno));
	if (output)
		fclose(file);
	return err;
}

static int tune(const struct fb_tune_settings *settings, char *const *paths, size_t npaths)
{
	struct fb_results results = {0};
	struct fb_cells cells = {0};
	struct fb_tune_sample *sample = NULL;
	char *text = NULL;
	size_t length = 0, count = 0;
	FILE *out;
	int err = FB_OK;

	for (size_t i = 0; i < npaths && !err; i++)
		err = fb_results_read(&results, paths[i]);
	if (!err)
		fb_cells_make(&cells, &results, NULL);
	if (!err && !settings->nccl_env)
		err = fb_tune_samples(&cells, settings, &sample, &count);
	if (err)
		return fb_exit_code(err);
	out = open_memstream(&text, &length);
	print_head(&results, settings->nccl_env ? "Variables of NCCL"
		   : settings->nccl_table ? "Table of NCCL's tuner plugin" : "Tuning table",
		   settings->nccl_env ? results.count : count, settings->argc, settings->argv, out);
	if (settings->nccl_env)
		err = fb_tune_variables(&cells, settings, out);
	else if (settings->nccl_table)
		err = fb_tune_nccl(settings, sample, count, out);
	else
		err = print_tables(&results, settings, sample, count, out);
	if (fclose(out) && !err)
		err = fb_error(FB_ENOMEM, "out of memory for the table");
	if (!err && !settings->nccl_env && !settings->nccl_table)
		err = check_table(text);
	if (!err)
		err = write_text(text, settings->output);
	free(text);
	return fb_exit_code(err);
}

/* Puts the filters behind the paths. Returns how many paths there are. */
static size_t split_filters(char **word, size_t n)
{
	size_t paths = 0;

	for (size_t i = 0; i < n; i++)
		if (!strchr(word[i], '=') || access(word[i], F_OK) == 0) {
			char *path = word[i];

			memmove(word + paths + 1, word + paths, (i - paths) * sizeof(*word));
			word[paths++] = path;
		}
	return paths;
}

static int run(void *values, char **words, size_t count)
{
	struct fb_tune_settings *settings = values;
	size_t paths = split_filters(words, count);

	settings->filter = words + paths;
	settings->nfilters = count - paths;
	if (!paths) {
		fb_error(FB_EINPUT, "no input: expected " FB_TOOL_RESULTS "; see --help");
		return FB_EXIT_INPUT;
	}
	return tune(settings, words, paths);
}

static const struct fb_tool tool = {
	.name = "tune",
	.summary = "writes tuning tables",
	.description = description,
	.table = table,
	.libraries = FB_TOOL_CSV,
	.run = run,
};

int main(int argc, char **argv)
{
	/* The table says by which command it was made. */
	static struct fb_tune_settings settings;

	settings.argc = argc;
	settings.argv = argv;
	return fb_tool_main(&tool, &settings, argc, argv);
}
