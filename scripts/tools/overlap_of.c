/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overlap_of: how much communication of any job is exposed, from the file of a profiler.
 * The columns are those of the programs in overlap/, so that a job and its model can be compared.
 */
#include "common/base/error.h"
#include "common/option/option.h"
#include "scripts/tools/lib/estimate.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/number.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/lib/tool.h"
#include "scripts/tools/overlap_of/profile.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct settings {
	const char *communication, *step, *sync;
	bool csv, steps;
};

#define PATTERN(field, fallback, help)                                                             \
	FB_OPTION_STRING(struct settings, field, 0, #field, "REGEX", fallback, NULL, help)

static const struct fb_option table[] = {
	FB_OPTION_GROUP("What names mean (extended regular expressions, whatever the case)"),
	PATTERN(communication,
		"nccl|rccl|nvshmem|deep_?ep|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|"
		"send_?recv|^fb_|^(broadcast|send|recv|handover)",
		"kernels that communicate; all others compute"),
	PATTERN(step, "^ProfilerStep|^(step|iteration|iter)([ _#:]|$)",
		"ranges on the host that mark a step"),
	PATTERN(sync, "Synchronize", "calls in which the host waits for a device"),
	FB_OPTION_GROUP("What to show"),
	FB_OPTION_FLAG(struct settings, steps, 'a', "steps", "each step, not only their medians"),
	FB_OPTION_FLAG(struct settings, csv, 0, "csv", "each step as CSV instead of a table"),
	FB_OPTION_END,
};

static const char description[] =
	"overlap_of TRACE [option...]\n\n"
	"Reads a trace of a job on GPUs and prints for each device what of the communication is "
	"exposed: times at which it communicates and does not compute. TRACE is a Chrome trace "
	"(what PyTorch's profiler exports, or any other), or the SQLite file of `nsys export "
	"--type sqlite`. Steps are those that the profiler marked (schedule() and step() of "
	"PyTorch, NVTX ranges); without marks all of it is one step.\n\n"
	"Exit code: 0 good; 3 the input cannot be used.";

static const struct column {
	const char *name;
	size_t offset;
} columns[] = {
	{"median_us", offsetof(struct fb_step_times, step_us)},
	{"compute_us", offsetof(struct fb_step_times, compute_us)},
	{"communication_us", offsetof(struct fb_step_times, communication_us)},
	{"exposed_us", offsetof(struct fb_step_times, exposed_us)},
	{"hidden_share", offsetof(struct fb_step_times, hidden_share)},
	{"tail_us", offsetof(struct fb_step_times, tail_us)},
	{"gap_us", offsetof(struct fb_step_times, gap_us)},
	{"syncs", offsetof(struct fb_step_times, syncs)},
	{"sync_us", offsetof(struct fb_step_times, sync_us)},
};

enum { COLUMNS = FB_COUNT_OF(columns), EXPOSED = 3, WIDTH = 16 };

static double value_of(const struct fb_step_times *t, int column)
{
	double value;

	memcpy(&value, (const char *)t + columns[column].offset, sizeof(value));
	return value;
}

static void print_csv(const struct fb_step_times *list, size_t count)
{
	fputs("device,step", stdout);
	for (int c = 0; c < COLUMNS; c++)
		printf(",%s", columns[c].name);
	putchar('\n');
	for (size_t i = 0; i < count; i++) {
		printf("%" PRId64 ",%zu", list[i].device, list[i].step);
		for (int c = 0; c < COLUMNS; c++)
			if (isfinite(value_of(&list[i], c)))
				printf(",%.6g", value_of(&list[i], c));
			else
				putchar(',');
		putchar('\n');
	}
}

static void print_line(const char *name, const double *value)
{
	char text[FB_NUMBER_CHARS];

	printf("%-20s", name);
	for (int c = 0; c < COLUMNS; c++)
		printf(" %*s", (int)strlen(columns[c].name) < 9 ? 9 : (int)strlen(columns[c].name),
		       fb_own_text(value[c], text));
	putchar('\n');
}

/* The steps list[0 .. n) of one device: the medians, and how sure exposed time is. */
static void print_device(const struct fb_step_times *list, size_t n, size_t device, bool steps)
{
	double *x = fb_new(2 * n + 1, sizeof(*x)), value[COLUMNS];
	struct fb_estimate exposed = {0};
	char name[64], low[FB_NUMBER_CHARS], high[FB_NUMBER_CHARS];

	for (size_t i = 0; i < n && steps; i++) {
		for (int c = 0; c < COLUMNS; c++)
			value[c] = value_of(&list[i], c);
		snprintf(name, sizeof(name), "  step %zu", list[i].step);
		print_line(name, value);
	}
	for (int c = 0; c < COLUMNS; c++) {
		size_t known = 0;
		struct fb_estimate e;

		for (size_t i = 0; i < n; i++) {
			x[known] = value_of(&list[i], c);
			known += isfinite(x[known]) ? 1 : 0;
		}
		e = fb_estimate_launches(x, known);
		value[c] = e.us;
		if (c == EXPOSED)
			exposed = e;
	}
	snprintf(name, sizeof(name), "device %zu, %zu step%s", device, n, n > 1 ? "s" : "");
	print_line(name, value);
	if (n > 1)
		printf("%20s exposed_us %s to %s: %s\n", "", fb_own_text(exposed.low_us, low),
		       fb_own_text(exposed.high_us, high),
		       n < 6 ? "the least and the greatest step" : "95% interval of the median");
}

static void print_table(const struct fb_step_times *list, size_t count, bool steps)
{
	size_t device = 0, n;

	printf("%-20s", "");
	for (int c = 0; c < COLUMNS; c++)
		printf(" %*s", (int)strlen(columns[c].name) < 9 ? 9 : (int)strlen(columns[c].name),
		       columns[c].name);
	putchar('\n');
	for (size_t i = 0; i < count; i += n) {
		n = 1;
		while (i + n < count && list[i + n].device == list[i].device &&
		       list[i + n].process == list[i].process)
			n++;
		print_device(list + i, n, device++, steps);
	}
	puts("\nmedian_us   a step: from the end of the one before it to its own; medians of all\n"
	     "exposed_us  of communication_us what no computing hides; hidden_share is the rest\n"
	     "tail_us     from the end of the last kernel that computes to the end of the step\n"
	     "gap_us      nothing runs on the device\n"
	     "syncs       calls in which the host waits for a device, and for how long");
}

static int compile(regex_t *pattern, const char *option, const char *text)
{
	if (!regcomp(pattern, text, REG_EXTENDED | REG_ICASE | REG_NOSUB))
		return FB_OK;
	return fb_option_reject(stderr, option, text, "an extended regular expression");
}

static bool is_sqlite(const char *path)
{
	static const char begin[] = "SQLite format 3";
	char text[sizeof(begin)] = "";
	FILE *file = fopen(path, "r");
	bool is = file && fread(text, 1, sizeof(text), file) == sizeof(text) &&
		  !memcmp(text, begin, sizeof(text));

	if (file)
		fclose(file);
	return is;
}

static int show(const char *path, const struct settings *settings,
		const struct fb_profile_names *names)
{
	struct fb_profile profile = {.names = names};
	struct fb_step_times *list = NULL;
	size_t count = 0;
	int err = is_sqlite(path) ? fb_profile_read_nsight(&profile, path)
				  : fb_profile_read_chrome(&profile, path);

	if (!err)
		err = fb_profile_measure(&profile, &list, &count);
	if (!err && settings->csv)
		print_csv(list, count);
	else if (!err)
		print_table(list, count, settings->steps);
	return err == FB_EUNSUPPORTED ? FB_EINPUT : err;
}

static int run(void *values, char **words, size_t count)
{
	const struct settings *s = values;
	struct fb_profile_names names;
	int err;

	if (count != 1) {
		fb_error(FB_EINPUT, "%zu traces: expected one; see --help", count);
		return FB_EXIT_INPUT;
	}
	err = compile(&names.communication, "communication", s->communication);
	if (err)
		return fb_exit_code(err);
	err = compile(&names.step, "step", s->step);
	if (!err) {
		err = compile(&names.sync, "sync", s->sync);
		if (!err) {
			err = show(words[0], s, &names);
			regfree(&names.sync);
		}
		regfree(&names.step);
	}
	regfree(&names.communication);
	return fb_exit_code(err);
}

static const struct fb_tool tool = {
	.name = "overlap_of",
	.summary = "exposed communication of a job's own trace",
	.description = description,
	.table = table,
	.libraries = ", jansson " JANSSON_VERSION,
	.run = run,
};

FB_TOOL_MAIN(struct settings)
