/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * study: what a study file says, as tab-separated lines for the scripts that run it: the programs
 * with their options (--lines), or the order of all launches (the plan).
 *
 * It is a program and not part of those scripts so that the grammar and the order of launches
 * can be tested by themselves, and every mistake in a file has its line.
 */
#include "common/base/error.h"
#include "common/option/option.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/tool.h"
#include "scripts/tools/study/plan.h"

#include <string.h>
#include <unistd.h>

struct settings {
	const char *ranks, *ranks_per_node, *nodes, *only, *options, *build, *folder;
	uint64_t np, repeat, seed;
	bool two_sides, lines, directives, axes;
};

#define FLAG(field, short_, name, help) FB_OPTION_FLAG(struct settings, field, short_, name, help)
#define STRING(field, name, place, fallback, help)                                                 \
	FB_OPTION_STRING(struct settings, field, 0, name, place, fallback, NULL, help)

static const struct fb_option table[] = {
	FB_OPTION_GROUP("What differs from the file"),
	STRING(ranks, "ranks", "LIST", NULL, "numbers of ranks"),
	STRING(ranks_per_node, "ranks-per-node", "LIST", NULL, "numbers of ranks of each node"),
	STRING(nodes, "nodes", "LIST", NULL, "numbers of nodes"),
	FB_OPTION_U64(struct settings, np, 0, "np", "N", "4", 1, FB_STUDY_RANKS,
		      "ranks where neither the file nor an option says how many"),
	FB_OPTION_U64(struct settings, repeat, 0, "repeat", "R", "0", 0, FB_STUDY_LAUNCHES,
		      "launches of each variant and side; 0: as the file says, or 1"),
	FLAG(two_sides, 0, "two-sides", "sides a and b, also where the file names none"),
	STRING(only, "only", "NAMES", NULL, "programs whose lines count, separated by blanks"),
	STRING(options, "options", "WORDS", NULL, "options that replace the file's"),
	FB_OPTION_GROUP("What to print"),
	FB_OPTION_U64(struct settings, seed, 0, "seed", "N", "1", 0, UINT64_MAX,
		      "of the order of launches"),
	FLAG(lines, 0, "lines", "programs and options, a line each, instead of the plan"),
	FLAG(directives, 0, "directives", "what the file says that concerns several launches"),
	FLAG(axes, 0, "axes", "the goal and the alternatives of each env line, for scripts/search"),
	STRING(build, "build", "DIR", NULL,
	       "folder whose bin/ has the programs; without it they "
	       "are not looked for"),
	STRING(folder, "folder", "DIR", "scripts/studies", "where studies are found by name"),
	FB_OPTION_END,
};

static const char description[] =
	"study [option...] STUDY\n\n"
	"Reads a study (a file, or a name in scripts/studies) and prints the order of its "
	"launches as tab-separated lines. docs/studies.md describes both.\n\n"
	"Exit code: 0 good; 3 the study cannot be used: one line says where and why.";

static const char default_canary[] =
	"all_reduce --engine=host --algorithm=ring --protocol=simple --bytes=64K "
	"--max-time=200ms --ci=1%";

static int replace_numbers(const char *option, const char *text, struct fb_sizes *numbers)
{
	char why[160] = "";

	if (!text)
		return FB_OK;
	if (fb_sizes_parse(text, numbers, why, sizeof(why)))
		return fb_option_reject(stderr, option, text, why);
	if (numbers->value[0] < 1 || numbers->value[numbers->count - 1] > FB_STUDY_RANKS)
		return fb_option_reject(stderr, option, text, "numbers from 1 to 1048576");
	return FB_OK;
}

static int change(struct fb_study *study, const struct settings *s)
{
	int err;

	if (s->ranks && s->ranks_per_node)
		return fb_option_reject(stderr, "ranks-per-node", s->ranks_per_node,
					"either this or --ranks");
	err = replace_numbers("ranks", s->ranks, &study->ranks);
	if (!err)
		err = replace_numbers("ranks-per-node", s->ranks_per_node, &study->ranks);
	if (!err)
		err = replace_numbers("nodes", s->nodes, &study->nodes);
	if (s->ranks || s->ranks_per_node)
		study->ranks_per_node = s->ranks_per_node != NULL;
	if (s->repeat)
		study->launches = s->repeat;
	if (s->two_sides)
		study->two_sides = true;
	return err;
}

static void print_program(const struct fb_study *study, const struct fb_study_program *program,
			  int side, const char *between)
{
	struct fb_word_list options = {0};

	fb_word_list_append(&options, &program->options);
	fb_word_list_append_used(&options, &study->side[side].options, program->name);
	fb_word_list_merge_options(&options);
	printf("%s%s%s", program->name, options.count ? between : "",
	       fb_word_list_join(&options, " "));
}

static void print_lines(const struct fb_study *study)
{
	for (size_t i = 0; i < study->nprograms; i++) {
		print_program(study, &study->program[i], FB_SIDE_A, "\t");
		putchar('\n');
	}
}

static void print_words(const struct fb_word_list *words, const char *separator)
{
	fputs(words->count ? fb_word_list_join(words, separator) : "-", stdout);
}

/* What a search needs: how good a variant is, and which there are. */
static int print_axes(const struct fb_study *study)
{
	if (study->two_sides)
		return fb_error(FB_EINPUT, "%s: sides: a search makes its own; expected none",
				study->path);
	if (study->nenv == 0)
		return fb_error(FB_EINPUT, "%s: no line env: expected one for each setting",
				study->path);
	printf("goal\t%s\n",
	       study->goal.count ? fb_word_list_join(&study->goal, "\t") : "median_us");
	for (size_t i = 0; i < study->nenv; i++) {
		if (!fb_word_list_have(&study->env[i], "-"))
			return fb_error(FB_EINPUT, "%s: env %s: expected - among the alternatives, "
					"for the default", study->path,
					fb_word_list_join(&study->env[i], " "));
		printf("env\t%s\n", fb_word_list_join(&study->env[i], "\t"));
	}
	return FB_OK;
}

/* Name and options, or none. */
static void print_canary(const struct fb_study *study, const char *build)
{
	printf("# canary=");
	if (study->canary.name)
		printf("%s%s%s\n", study->canary.name, study->canary.options.count ? " " : "",
		       fb_word_list_join(&study->canary.options, " "));
	else
		puts(!build || !access(fb_new_text("%s/bin/all_reduce", build), X_OK)
			     ? default_canary
			     : "none");
}

static void print_launch(const struct fb_study *study, const struct fb_sweep_plan *plan, size_t i,
			 const char *build)
{
	const struct fb_sweep_launch *launch = &plan->launch[i];
	const struct fb_sweep_variant *variant = &plan->variant[launch->variant];
	const struct fb_study_side *side = &study->side[launch->side];

	printf("%zu\t%zu\t%s\t%llu\t", i, launch->launch_index,
	       !study->two_sides	   ? "-"
	       : launch->side == FB_SIDE_A ? "a"
					   : "b",
	       (unsigned long long)variant->ranks);
	if (variant->nodes)
		printf("%llu\t", (unsigned long long)variant->nodes);
	else
		printf("-\t");
	printf("%s\t", *variant->variables ? variant->variables : "-");
	print_words(&side->variables, ";");
	printf("\t%s\t-\t", side->build ? side->build : build ? build : "-");
	for (size_t p = 0; p < study->nprograms; p++) {
		print_program(study, &study->program[p], launch->side, " ");
		printf("%s", p + 1 < study->nprograms ? " ; " : "\n");
	}
}

static int print_plan(const struct fb_study *study, const struct settings *s)
{
	struct fb_sweep_plan plan = {0};
	const char *slash = strrchr(study->path, '/'), *name = slash ? slash + 1 : study->path;
	int err = fb_sweep_plan_make(&plan, study, s->np, s->seed);

	if (!err) {
		printf("# fabricbench plan 1\n# study=%.*s\n# seed=%llu\n", (int)strcspn(name, "."),
		       name, (unsigned long long)s->seed);
		print_canary(study, s->build);
		printf("# canary_limit=%g\n", study->canary_limit);
		printf("index\tlaunch_index\tside\tranks\tnodes\tvariant\tenv\tbuild\tseconds\t"
		       "lines\n");
	}
	for (size_t i = 0; !err && i < plan.count; i++)
		print_launch(study, &plan, i, s->build);
	return err;
}

static int show(const char *name, const struct settings *s)
{
	struct fb_study *study = fb_new(1, sizeof(*study)); /* too large for a stack */
	struct fb_study_changes changes = {
		.only = s->only, .options = s->options, .folder = s->folder};
	int err;

	if (s->build)
		changes.bin = fb_new_text("%s/bin", s->build);
	err = fb_study_read(study, name, &changes);
	if (!err)
		err = change(study, s);
	if (!err && s->directives) {
		print_words(&study->directives, " ");
		putchar('\n');
	} else if (!err && s->axes) {
		err = print_axes(study);
	} else if (!err && s->lines) {
		print_lines(study);
	} else if (!err) {
		err = print_plan(study, s);
	}
	if (!err && (fflush(stdout) || ferror(stdout)))
		err = fb_error(FB_EIO, "standard output: not everything could be written");
	return err;
}

static int run(void *values, char **words, size_t count)
{
	const struct settings *settings = values;

	if (count != 1) {
		fb_error(FB_EINPUT, "%zu studies: expected one, a file or a name; see --help",
			 count);
		return FB_EXIT_INPUT;
	}
	return fb_exit_code(show(words[0], settings));
}

static const struct fb_tool tool = {
	.name = "study",
	.summary = "what a study file says",
	.description = description,
	.table = table,
	.run = run,
};

FB_TOOL_MAIN(struct settings)
