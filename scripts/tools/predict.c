/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * predict: times on more ranks than were measured, by a model that is fitted to measured rows.
 *
 * A prediction is no measurement, so the tool prints two errors of the model with it: the one on
 * all measured rows, and the one at the most ranks of a fit without the rows of the most ranks.
 */
#include "common/base/error.h"
#include "common/base/fold.h"
#include "common/option/option.h"
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/number.h"
#include "scripts/tools/lib/report.h"
#include "scripts/tools/lib/tool.h"
#include "scripts/tools/plot/samples.h"
#include "scripts/tools/predict/predict.h"
#include "scripts/tools/predict/steps.h"

#include <csv.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

struct settings {
	struct fb_sizes ranks;
	int each;
	bool all;
};

static const struct fb_option table[] = {
	FB_OPTION_GROUP("What to predict"),
	{.type = FB_OPT_SIZES, .short_name = 'n', .name = "ranks", .placeholder = "LIST",
	 .fallback = "64:1024:4", .help = "numbers of ranks",
	 .offset = offsetof(struct settings, ranks), .range.u64 = {2, 1 << 20}},
	FB_OPTION_INT(struct settings, each, 0, "ranks-per-node", "N", "0", 0, 8,
		      "so many ranks on each node; 0: all on one, for rows of one node"),
	FB_OPTION_GROUP("What to show"),
	FB_OPTION_FLAG(struct settings, all, 'a', "all",
		       "every algorithm and protocol, not only the best of each size"),
	FB_OPTION_END,
};

static const char description[] =
	"predict [option...] DIR|FILE...\n\n"
	"MODEL, NOT MEASUREMENT. Fits time = start + messages(n) x a + blocks(n) x bytes x b to "
	"the rows of each algorithm and protocol, where messages and blocks are those of its plan "
	"(docs/algorithms.md), and prints the time on more ranks. Give the folders of several "
	"numbers of ranks: then the model is also fitted without the largest one, and its error "
	"there is printed. The model knows no contention: if ranks share memory, a link or a "
	"spine, that error shows it. Steps (rows with compute_us and exposed_us) are predicted "
	"too. With samples.csv (--raw) in a folder, the slowest of all ranks is added: the "
	"expected maximum of the measured repetitions.\n\n"
	"Exit code: 0 good; 3 the input cannot be used; 6 nothing could be fitted.";

/* The measured rows, and the model fitted to them. */
struct job {
	const struct settings *settings;
	struct fb_results results;
	struct fb_cells cells;
	struct fb_model model;
	struct fb_doubles spread; /* repetitions by their row's median, of the most ranks */
	int spread_ranks;
	FILE *out;
};

static int add_sample(void *arg, const struct fb_result *row, uint64_t repetition,
		      const double *value)
{
	struct job *job = arg;
	double median = row ? fb_result_number(row, "median_us") : (double)NAN;
	int ranks = row ? (int)fb_result_number(row, "ranks") : 0;

	(void)repetition;
	if (!(median > 0) || !(*value > 0) || ranks < job->spread_ranks)
		return FB_OK;
	if (ranks > job->spread_ranks) {
		job->spread_ranks = ranks;
		job->spread.count = 0;
	}
	*FB_ADD(job->spread.x, job->spread.count) = *value / median;
	return FB_OK;
}

static int read_samples(struct job *job, const char *path)
{
	static const char *const names[] = {"time_us"};
	char *file = fb_beside(path, "samples.csv");
	int err = FB_OK;

	if (access(file, R_OK) == 0)
		err = fb_samples_each(file, &job->results, names, 1, add_sample, job);
	return err;
}

/* How many times longer the slowest of all ranks takes than the usual ones; 1: not known. */
static double straggler(const struct job *job, int ranks)
{
	const struct fb_doubles *x = &job->spread;

	if (!x->count || ranks <= job->spread_ranks)
		return 1;
	return fb_expected_maximum(x->x, x->count, (double)ranks / job->spread_ranks) /
	       fb_expected_maximum(x->x, x->count, 1);
}

static struct fb_job job_of(const struct job *job, size_t i)
{
	return (struct fb_job){(int)job->settings->ranks.value[i], job->settings->each};
}

static void print_error(const struct fb_model_series *s, FILE *out)
{
	fprintf(out, " %4.0f%% %5.0f%%", 100 * s->error, 100 * s->worst);
	if (isfinite(s->held_error))
		fprintf(out, "   %4.0f%% %5.0f%% at %d", 100 * s->held_error,
			100 * s->held_worst, s->most_ranks);
	else if (s->least_ranks < s->most_ranks)
		fprintf(out, "   unknown at %d", s->most_ranks);
}

/* Whether a size may be predicted, and is not off too far for the model to be one. */
static bool is_fit(const struct fb_model_series *s, uint64_t bytes)
{
	return bytes >= s->least_bytes && bytes <= s->most_bytes &&
	       (isfinite(s->held_error) ? s->held_error : s->error) <= 0.3;
}

static const char *name_of(const struct fb_model_series *s, char label[FB_LABEL_CHARS])
{
	return fb_cell_label(s->cell, label);
}

/* Every series: what was fitted, and its times. */
static void print_series(struct job *job, const struct fb_model_series *s)
{
	char label[FB_LABEL_CHARS], us[FB_NUMBER_CHARS];

	fprintf(job->out, "\n%s %s, %zu times on %d to %d ranks\n",
		fb_cell_text(s->cell, "program"), name_of(s, label), s->count, s->least_ranks,
		s->most_ranks);
	fprintf(job->out, "  start %.3g us, a message %.3g us, %.3g GB/s; error", s->us[0],
		s->us[1], s->us[2] > 0 ? 1e-3 / s->us[2] : (double)INFINITY);
	print_error(s, job->out);
	fputc('\n', job->out);
	for (uint64_t bytes = 8; bytes <= UINT64_C(64) << 20; bytes *= 64) {
		char size[FB_SIZE_CHARS];

		if (bytes < s->least_bytes || bytes > s->most_bytes)
			continue;
		fprintf(job->out, "%10s", fb_size_text(bytes, size));
		for (size_t i = 0; i < job->settings->ranks.count; i++)
			fprintf(job->out, " %10s",
				fb_number_text(fb_model_us(&job->model, s, bytes, job_of(job, i)),
					       us));
		fputc('\n', job->out);
	}
}

/* For each size and number of ranks, the least time by the model, and by whom. */
static void print_best(struct job *job, enum fb_collective collective, uint64_t bytes)
{
	char size[FB_SIZE_CHARS], us[FB_NUMBER_CHARS], label[FB_LABEL_CHARS];

	for (size_t i = 0; i < job->settings->ranks.count; i++) {
		const struct fb_model_series *best = NULL;
		double least = (double)INFINITY;

		for (size_t k = 0; k < job->model.count; k++) {
			const struct fb_model_series *s = &job->model.series[k];
			double x = s->algorithm->collective == collective && is_fit(s, bytes)
					   ? fb_model_us(&job->model, s, bytes, job_of(job, i))
					   : (double)NAN;

			if (x < least) {
				least = x;
				best = s;
			}
		}
		if (!best)
			continue;
		fprintf(job->out, "%10s %7d  %-30.30s %10s ", fb_size_text(bytes, size),
			job_of(job, i).ranks, name_of(best, label), fb_number_text(least, us));
		print_error(best, job->out);
		fputc('\n', job->out);
	}
}

static void print_collectives(struct job *job)
{
	for (int c = 0; c < FB_COLLECTIVES; c++) {
		bool any = false;

		for (size_t k = 0; k < job->model.count; k++)
			any |= (int)job->model.series[k].algorithm->collective == c;
		if (!any)
			continue;
		fprintf(job->out,
			"\n%s\n%10s %7s  %-30s %10s  error of the fit   without the most\n",
			fb_collective_info((enum fb_collective)c)->name, "bytes", "ranks",
			"best by the model", "us");
		for (uint64_t bytes = 8; bytes <= UINT64_C(64) << 20; bytes *= 64)
			print_best(job, (enum fb_collective)c, bytes);
	}
}

static void print_straggler(const struct job *job)
{
	if (!job->spread.count) {
		fputs("\nwithout stragglers: no samples.csv (--raw) in any folder\n", job->out);
		return;
	}
	fprintf(job->out, "\nslowest rank, from %zu repetitions on %d ranks: times",
		job->spread.count, job->spread_ranks);
	for (size_t i = 0; i < job->settings->ranks.count; i++)
		fprintf(job->out, " %.3g on %d%s", straggler(job, job_of(job, i).ranks),
			job_of(job, i).ranks,
			job_of(job, i).ranks / job->spread_ranks > (int)job->spread.count
				? " or more"
				: "");
	fputc('\n', job->out);
}

/* Steps that are alike but for their ranks: the one of the most ranks, from which others follow. */
static bool has_larger(const struct job *job, const struct fb_cell *cell, bool smaller,
		       const struct fb_cell **found)
{
	double ranks = fb_result_number(cell->row, "ranks");

	*found = NULL;
	for (size_t i = 0; i < job->cells.count; i++) {
		const struct fb_cell *other = &job->cells.cell[i];
		double theirs = fb_result_number(other->row, "ranks");

		if (fb_cell_has_time(other) && fb_model_alike(cell, other) &&
		    cell->bytes == other->bytes && (smaller ? theirs < ranks : theirs > ranks))
			*found = other;
	}
	return *found;
}

static void print_step(struct job *job, const struct fb_cell *cell)
{
	const struct fb_cell *other;
	char label[FB_LABEL_CHARS], us[FB_NUMBER_CHARS];
	struct fb_job measured = fb_job_of(cell);

	if (has_larger(job, cell, false, &other) ||
	    isnan(fb_step_us(&job->model, &job->results, cell, measured)))
		return;
	fprintf(job->out, "%s, %s, %s: measured %s on %d", fb_cell_text(cell, "program"),
		fb_cell_label(cell, label), fb_cell_text(cell, "variant"),
		fb_number_text(cell->us, us), measured.ranks);
	for (size_t i = 0; i < job->settings->ranks.count; i++) {
		struct fb_job to = job_of(job, i);
		double x = fb_step_us(&job->model, &job->results, cell, to);

		fprintf(job->out, "; %s on %d", fb_number_text(x * straggler(job, to.ranks), us),
			to.ranks);
	}
	if (has_larger(job, cell, true, &other))
		fprintf(job->out, "; from %s ranks this one is off by %.0f%%",
			fb_cell_text(other, "ranks"),
			100 * fabs(fb_step_us(&job->model, &job->results, other, measured) /
					   cell->us - 1));
	fputc('\n', job->out);
}

static int print(struct job *job)
{
	struct fb_fold fold;
	int err = fb_fold_open(&fold);

	if (err)
		return err;
	job->out = fold.stream;
	fputs("MODEL, NOT MEASUREMENT: times in us by a fit to measured rows\n"
	      "errors of the model: the median and the greatest of its rows; and of the rows with "
	      "the most ranks\nwhen it is fitted without them\n", job->out);
	if (job->settings->all)
		for (size_t i = 0; i < job->model.count; i++)
			print_series(job, &job->model.series[i]);
	else
		print_collectives(job);
	print_straggler(job);
	fputs("\nsteps: computing, and exposed communication that grows as all_reduce's ring\n",
	      job->out);
	for (size_t i = 0; i < job->cells.count; i++)
		if (fb_cell_has_time(&job->cells.cell[i]))
			print_step(job, &job->cells.cell[i]);
	return fb_fold_close(&fold, stdout);
}

static int run(void *values, char **paths, size_t count)
{
	struct job job = {.settings = values};
	int err = FB_OK;

	for (size_t i = 0; i < count && !err; i++)
		err = fb_results_read(&job.results, paths[i]);
	for (size_t i = 0; i < count && !err; i++)
		err = read_samples(&job, paths[i]);
	if (err)
		return fb_exit_code(err);
	fb_doubles_sort(&job.spread);
	fb_cells_make(&job.cells, &job.results, NULL);
	fb_model_fit(&job.model, &job.cells);
	if (!job.model.count) {
		fb_error(FB_EINPUT, "no algorithm of the project has four times or more: "
			 "expected rows of more sizes or numbers of ranks (for steps those of "
			 "all_reduce by ring)");
		return FB_EXIT_NOTHING;
	}
	return fb_exit_code(print(&job));
}

static const struct fb_tool tool = {
	.name = "predict",
	.summary = "times on more ranks than were measured, by a model",
	.description = description,
	.table = table,
	.input = FB_TOOL_RESULTS,
	.libraries = FB_TOOL_CSV,
	.run = run,
};

FB_TOOL_MAIN(struct settings)
