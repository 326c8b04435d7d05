/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One line of a study; see study.h, and docs/studies.md for the grammar.
 *
 * The first word says what the line is: a directive of the table below, * for options of all
 * following programs, or a program.
 */
#include "common/base/error.h"
#include "common/option/option.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/study/study.h"

#include <string.h>

#define REFUSE(study, ...) fb_study_error(study, (study)->line, __VA_ARGS__)

/* Options that a sweep gives to each program itself, so that a study must not have them. */
static const char *const reserved[] = {
	"--csv",  "--run", "--launch-index", "--tag",	  "--resume",	  "--list",
	"--help", "--man", "--version",	     "--dry-run", "--check-plan",
};

/* `what`: the line's first word, for the message. */
static int check_options(const struct fb_study *study, const char *what,
			 const struct fb_word_list *options)
{
	for (size_t i = 0; i < options->count; i++) {
		const char *word = options->word[i];
		size_t length = strcspn(word, "=");

		if (!fb_word_is_option(word))
			return REFUSE(study, "%s: '%s': accepted are options as --name=value", what,
				      word);
		for (size_t j = 0; j < FB_COUNT_OF(reserved); j++)
			if (strlen(reserved[j]) == length && !strncmp(word, reserved[j], length))
				return REFUSE(study,
					      "%s: '%s': accepted are options that say "
					      "what to measure and how; this one is given "
					      "by the script that runs the study",
					      what, word);
	}
	return FB_OK;
}

/* Refuses a directive that an earlier line has already. */
static int check_once(const struct fb_study *study, const char *word, bool before)
{
	if (!before)
		return FB_OK;
	return REFUSE(study, "%s a second time: accepted is one line", word);
}

/* The words from the `first` on. */
static struct fb_word_list rest(const struct fb_word_list *words, size_t first)
{
	return (struct fb_word_list){.word = words->word + first, .count = words->count - first};
}

static int one_word(const struct fb_study *study, const struct fb_word_list *words,
		    const char *accepted)
{
	if (words->count == 2)
		return FB_OK;
	return REFUSE(study, "%s with %zu words: accepted is %s", words->word[0], words->count - 1,
		      accepted);
}

static int read_launches(struct fb_study *study, const struct fb_word_list *words)
{
	static const char accepted[] = "a number from 1 to 10000";
	uint64_t value = 0;
	int err = one_word(study, words, accepted);

	if (err)
		return err;
	if (fb_size_parse(words->word[1], &value) || value < 1 || value > FB_STUDY_LAUNCHES)
		return REFUSE(study, "launches '%s': accepted is %s", words->word[1], accepted);
	study->launches = value;
	return FB_OK;
}

static int read_numbers(struct fb_study *study, const struct fb_word_list *words,
			struct fb_sizes *numbers)
{
	static const char accepted[] = "a list of numbers from 1 to 1048576, as 2,4,8 or 2:64:2";
	char why[160] = "";
	int err = one_word(study, words, accepted);

	if (err)
		return err;
	err = check_once(study, words->word[0], numbers->count > 0);
	if (err)
		return err;
	if (fb_sizes_parse(words->word[1], numbers, why, sizeof(why)) || numbers->value[0] < 1 ||
	    numbers->value[numbers->count - 1] > FB_STUDY_RANKS)
		return REFUSE(study, "%s '%s'%s%s: accepted is %s", words->word[0], words->word[1],
			      *why ? ": " : "", why, accepted);
	return FB_OK;
}

static int read_ranks(struct fb_study *study, const struct fb_word_list *words)
{
	if (study->ranks.count)
		return REFUSE(study,
			      "%s '%s': accepted is either ranks or "
			      "ranks-per-node, once",
			      words->word[0], words->count > 1 ? words->word[1] : "");
	study->ranks_per_node = !strcmp(words->word[0], "ranks-per-node");
	return read_numbers(study, words, &study->ranks);
}

static int read_nodes(struct fb_study *study, const struct fb_word_list *words)
{
	return read_numbers(study, words, &study->nodes);
}

/* Whether an alternative of this axis sets what one of an earlier axis sets too. */
static bool axis_clashes(const struct fb_study *study, const struct fb_word_list *axis, char *name,
			 size_t n)
{
	for (size_t i = 0; i < study->nenv; i++)
		for (size_t j = 0; j < study->env[i].count; j++)
			for (size_t k = 0; k < axis->count; k++)
				if (fb_assignments_clash(axis->word[k], study->env[i].word[j], name,
							 n))
					return true;
	return false;
}

static int read_env(struct fb_study *study, const struct fb_word_list *words)
{
	struct fb_word_list more = rest(words, 1);
	char name[128];

	if (more.count == 0)
		return REFUSE(study, "env without a word: accepted are alternatives "
				     "NAME=VALUE, NAME=VALUE;NAME=VALUE, or - for none");
	for (size_t i = 0; i < more.count; i++) {
		const struct fb_word_list before = {.word = more.word, .count = i};

		if (strcmp(more.word[i], "-") && !fb_word_is_assignments(more.word[i]))
			return REFUSE(study,
				      "env '%s': accepted are NAME=VALUE, "
				      "several of them joined by ';', or - for none",
				      more.word[i]);
		if (fb_word_list_have(&before, more.word[i]))
			return REFUSE(study,
				      "env '%s' twice: accepted is each "
				      "alternative once",
				      more.word[i]);
	}
	if (axis_clashes(study, &more, name, sizeof(name)))
		return REFUSE(study,
			      "env %s: set by an earlier env line too; "
			      "accepted is one line for each variable",
			      name);
	fb_word_list_append(FB_ADD(study->env, study->nenv), &more);
	return FB_OK;
}

/* A line of words that a study has once. `accepted` is what a line without words lacks. */
static int read_once(struct fb_study *study, const struct fb_word_list *words,
		     struct fb_word_list *into, const char *accepted)
{
	const struct fb_word_list more = rest(words, 1);
	int err = check_once(study, words->word[0], into->count > 0);

	if (err)
		return err;
	if (!more.count)
		return REFUSE(study, "%s without %s", words->word[0], accepted);
	fb_word_list_append(into, &more);
	return FB_OK;
}

static int read_goal(struct fb_study *study, const struct fb_word_list *words)
{
	return read_once(study, words, &study->goal,
			 "a word: accepted is COLUMN [CONDITION...]");
}

static int read_side_word(struct fb_study *study, struct fb_study_side *side, const char *word)
{
	static const char build[] = "--build=";
	size_t n = sizeof(build) - 1;

	if (!strncmp(word, build, n) && word[n])
		side->build = fb_new_copy(word + n);
	else if (fb_word_is_assignments(word))
		fb_word_list_add(&side->variables, word, strlen(word));
	else if (fb_word_is_option(word) && strcmp(word, "--build="))
		fb_word_list_add(&side->options, word, strlen(word));
	else
		return REFUSE(study,
			      "side: '%s': accepted are NAME=VALUE (environment), "
			      "--build=FOLDER, and options of the programs as --name=value",
			      word);
	return FB_OK;
}

static int read_side(struct fb_study *study, const struct fb_word_list *words)
{
	const char *name = words->count > 1 ? words->word[1] : "";
	struct fb_study_side *side;
	int err = FB_OK;

	if (strcmp(name, "a") && strcmp(name, "b"))
		return REFUSE(study, "side '%s': accepted are a and b", name);
	side = &study->side[*name == 'a' ? FB_SIDE_A : FB_SIDE_B];
	if (side->line)
		return REFUSE(study,
			      "side %s a second time: accepted is one line, "
			      "the first is line %d",
			      name, side->line);
	side->line = study->line;
	study->two_sides = true;
	for (size_t i = 2; !err && i < words->count; i++)
		err = read_side_word(study, side, words->word[i]);
	if (!err)
		err = check_options(study, "side", &side->options);
	if (!err)
		fb_word_list_merge_options(&side->options);
	return err;
}

static int read_canary(struct fb_study *study, const struct fb_word_list *words)
{
	struct fb_word_list options = rest(words, 2);
	const char *name = words->count > 1 ? words->word[1] : "";
	int err;

	if (!fb_word_is_program(name) || (!strcmp(name, "none") && options.count))
		return REFUSE(study,
			      "canary '%s': accepted are a program with its "
			      "options, or none",
			      name);
	err = check_once(study, "canary", study->canary.name);
	if (!err)
		err = check_options(study, "canary", &options);
	if (err)
		return err;
	fb_word_list_append(&study->canary.options, &options);
	fb_word_list_merge_options(&study->canary.options);
	study->canary.line = study->line;
	study->canary.name = fb_new_copy(name);
	return FB_OK;
}

static int read_canary_limit(struct fb_study *study, const struct fb_word_list *words)
{
	struct limit {
		double ratio;
	} limit = {0};
	static const struct fb_option option =
		FB_OPTION_RATIO(struct limit, ratio, 0, "canary-limit", "20%", 1e-3, 100, "");
	static const char accepted[] = "a ratio from 0.1% to 10000%, as 20%";
	char why[160];
	int err = one_word(study, words, accepted);

	if (err)
		return err;
	if (fb_option_set(&option, words->word[1], &limit, why, sizeof(why)))
		return REFUSE(study, "canary-limit '%s': accepted is %s", words->word[1], accepted);
	study->canary_limit = limit.ratio;
	return FB_OK;
}

static int read_common(struct fb_study *study, const struct fb_word_list *words)
{
	struct fb_word_list options = rest(words, 1);
	int err = check_options(study, "*", &options);

	if (!err)
		fb_word_list_append(&study->common, &options);
	return err;
}

static int read_claim(struct fb_study *study, const struct fb_word_list *words)
{
	return read_once(study, words, &study->claim, "words: accepted is a sentence");
}

static int read_show(struct fb_study *study, const struct fb_word_list *words)
{
	const struct fb_word_list more = rest(words, 1);
	struct fb_study_show *show;

	if (!study->claim.count)
		return REFUSE(study, "show without a claim: accepted is the line "
				     "claim before it");
	show = FB_ADD(study->show, study->nshows);
	show->line = study->line;
	fb_word_list_append(&show->words, &more);
	return FB_OK;
}

static const struct {
	const char *word;
	int (*read)(struct fb_study *study, const struct fb_word_list *words);
	bool for_several; /* has no meaning for a single launch */
} directives[] = {
	{"*", read_common, false},
	{"launches", read_launches, true},
	{"ranks", read_ranks, true},
	{"ranks-per-node", read_ranks, true},
	{"nodes", read_nodes, true},
	{"env", read_env, true},
	{"goal", read_goal, true},
	{"side", read_side, true},
	{"canary", read_canary, true},
	{"canary-limit", read_canary_limit, true},
	{"claim", read_claim, false},
	{"show", read_show, false},
};

static int read_program(struct fb_study *study, const struct fb_study_changes *changes,
			const struct fb_word_list *words)
{
	struct fb_study_program program = {.line = study->line,
					   .optional = words->word[0][0] == '?'};
	const struct fb_word_list own = rest(words, 1);
	struct fb_word_list replacing = {0};
	const char *name = words->word[0] + (program.optional ? 1 : 0);
	int err;

	if (!fb_word_is_program(name))
		return REFUSE(study, "'%s': accepted are " FB_STUDY_WORDS, words->word[0]);
	program.name = fb_new_copy(name);
	fb_word_list_append_used(&program.options, &study->common, name);
	fb_word_list_append(&program.options, &own);
	if (changes->options)
		fb_word_list_split(&replacing, changes->options);
	err = check_options(study, name, &replacing);
	if (err)
		return err;
	fb_word_list_append_used(&program.options, &replacing, name);
	err = check_options(study, name, &program.options);
	if (err)
		return err;
	fb_word_list_merge_options(&program.options);
	*FB_ADD(study->program, study->nprograms) = program;
	return FB_OK;
}

int fb_study_line(struct fb_study *study, const struct fb_study_changes *changes,
		  const struct fb_word_list *words, int line)
{
	study->line = line;
	for (size_t i = 0; i < FB_COUNT_OF(directives); i++) {
		if (strcmp(words->word[0], directives[i].word))
			continue;
		if (directives[i].for_several)
			fb_word_list_add(&study->directives, words->word[0],
					 strlen(words->word[0]));
		return directives[i].read(study, words);
	}
	if (changes->only && *changes->only) {
		struct fb_word_list only = {0};

		fb_word_list_split(&only, changes->only);
		if (!fb_word_list_have(&only, words->word[0] + (words->word[0][0] == '?')))
			return FB_OK;
	}
	return read_program(study, changes, words);
}
