/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * claims: whether the claim of a study holds in its results. The study states the claim and the
 * lines `show` that would prove it; this tool looks the values up in result files and gives a
 * verdict by their intervals. scripts/claims measures first.
 */
#include "scripts/tools/claims/claims.h"
#include "common/base/error.h"
#include "common/option/option.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/tool.h"

#include <csv.h>
#include <math.h>
#include <string.h>

struct settings {
	const char *unmeasured, *folder;
};

static const struct fb_option table[] = {
	FB_OPTION_STRING(struct settings, unmeasured, 0, "unmeasured", "WHY", NULL, NULL,
			 "instead of results: why there are none"),
	FB_OPTION_STRING(struct settings, folder, 0, "folder", "DIR", "scripts/studies/claims",
			 NULL, "where studies are found by name"),
	FB_OPTION_END,
};

static const char description[] =
	"claims STUDY DIR|FILE...\n\n"
	"Prints the claim of a study, what its results measured with 95% intervals, and the "
	"verdict: holds, does not hold, or cannot be tested here. docs/studies.md describes how a "
	"study says what would show a claim.\n\n"
	"Exit code: 0 with any verdict; 3 the study or the results cannot be used.";

static const char *const verdicts[] = {
	[FB_CLAIM_HOLDS] = "holds",
	[FB_CLAIM_FAILS] = "does not hold",
	[FB_CLAIM_OPEN] = "cannot be tested here",
};

/* The verdict over many values, and the first reason why it is open. */
struct sum {
	enum fb_claim_verdict verdict;
	char why[256];
};

static void print_term(const struct fb_claim_term *term)
{
	if (term->factor < 1 || term->factor > 1)
		printf(" %g", term->factor);
	printf("%s %s", term->best ? " best" : "", term->column);
	for (size_t i = 0; i < term->conditions; i++)
		printf(" %s", term->condition[i]);
}

static void print_value(const struct fb_claim_show *show, const struct fb_claim_value *value,
			const struct fb_claim_place *place)
{
	printf("measured:");
	print_term(&show->above);
	if (show->below.column) {
		printf(" /");
		print_term(&show->below);
	}
	for (size_t i = 0; place && i < show->columns; i++)
		printf(", %s %s", show->over[i], place->value[i]);
	if (!isnan(value->middle))
		printf(": %.4g, 95%% interval %.4g to %.4g (at %s %g wanted)\n", value->middle,
		       value->low, value->high, show->least ? "least" : "most", show->bound);
	else
		printf(": nothing (%s)\n", value->why);
}

static int measure(const struct fb_claim_show *show, const struct fb_sheets *sheets,
		   const struct fb_claim_place *place, struct fb_claim_value *value)
{
	struct fb_claim_value below;
	int err = fb_claim_measure(value, show, &show->above, sheets, place);

	if (err || !show->below.column)
		return err;
	err = fb_claim_measure(&below, show, &show->below, sheets, place);
	if (!err)
		*value = fb_claim_quotient(value, &below);
	return err;
}

/* All have to hold: the verdict is FAILS if one fails, else OPEN if one is open. */
static void all_of(struct sum *sum, enum fb_claim_verdict verdict, const char *why)
{
	if (verdict == FB_CLAIM_OPEN && sum->verdict == FB_CLAIM_HOLDS)
		snprintf(sum->why, sizeof(sum->why), "%s", why);
	if (verdict == FB_CLAIM_FAILS || sum->verdict == FB_CLAIM_HOLDS)
		sum->verdict = verdict;
}

/* One that holds is enough. */
static void one_of(struct sum *sum, enum fb_claim_verdict verdict, const char *why)
{
	if (verdict == FB_CLAIM_OPEN && sum->verdict == FB_CLAIM_FAILS)
		snprintf(sum->why, sizeof(sum->why), "%s", why);
	if (verdict == FB_CLAIM_HOLDS || sum->verdict == FB_CLAIM_FAILS)
		sum->verdict = verdict;
}

static bool same_numbers(const struct fb_claim_show *show, const struct fb_claim_place *a,
			 const struct fb_claim_place *b)
{
	for (size_t i = 0; i < show->apart; i++)
		if (strcmp(a->value[i], b->value[i]))
			return false;
	return true;
}

/*
 * Judges the places of one number of ranks and nodes from places[*i] on, and moves *i behind them.
 * A value that has no rows on this machine is ignored as long as others have some.
 */
static int judge_numbers(const struct fb_claim_show *show, const struct fb_sheets *sheets,
			 const struct fb_claim_place *places, size_t count, size_t *i,
			 struct sum *sum, bool *measured)
{
	const struct fb_claim_place *first = &places[*i];
	char lacking[256] = "";

	sum->verdict = show->some ? FB_CLAIM_FAILS : FB_CLAIM_HOLDS;
	*measured = false;
	for (; *i < count && same_numbers(show, first, &places[*i]); (*i)++) {
		struct fb_claim_value value;
		enum fb_claim_verdict verdict;
		int err = measure(show, sheets, &places[*i], &value);

		if (err)
			return err;
		verdict = fb_claim_judge(show, &value);
		print_value(show, &value, &places[*i]);
		if (value.absent) {
			snprintf(lacking, sizeof(lacking), "%s", value.why);
			continue;
		}
		*measured = true;
		(show->some ? one_of : all_of)(sum, verdict, value.why);
	}
	if (!*measured)
		*sum = (struct sum){.verdict = FB_CLAIM_OPEN};
	if (!*measured)
		snprintf(sum->why, sizeof(sum->why), "%s", lacking);
	return FB_OK;
}

static int judge(const struct fb_study *study, const struct fb_study_show *line,
		 const struct fb_sheets *sheets, struct sum *sum)
{
	struct sum lacking = {.verdict = FB_CLAIM_OPEN};
	struct fb_claim_show show;
	struct fb_claim_value value;
	struct fb_claim_place *places = NULL;
	size_t count = 0;
	bool any = false;
	int err = fb_claim_parse(&show, study, line);

	if (!err)
		err = fb_claim_places(&places, &count, &show, sheets);
	sum->verdict = FB_CLAIM_HOLDS;
	for (size_t i = 0; i < count && !err;) {
		struct sum one = {.verdict = FB_CLAIM_OPEN};
		bool measured = false;

		err = judge_numbers(&show, sheets, places, count, &i, &one, &measured);
		any = any || measured;
		if (measured)
			all_of(sum, one.verdict, one.why);
		else
			lacking = one;
	}
	if (!err && !count) {
		err = measure(&show, sheets, NULL, &value);
		snprintf(lacking.why, sizeof(lacking.why), "%s", value.why);
		print_value(&show, &value, NULL);
	}
	if (!any)
		*sum = lacking;
	return err;
}

static int judge_all(const struct fb_study *study, const struct fb_sheets *sheets,
		     const char *unmeasured)
{
	struct sum sum = {.verdict = FB_CLAIM_HOLDS};
	int err = FB_OK;

	if (!study->claim.count || !study->nshows)
		return fb_error(FB_EINPUT, "%s: no claim, or no line 'show' of what would show it",
				study->path);
	printf("claim:   ");
	for (size_t i = 0; i < study->claim.count; i++)
		printf(" %s", study->claim.word[i]);
	putchar('\n');
	for (size_t i = 0; i < study->nshows && !err; i++) {
		struct fb_claim_show show;
		struct sum one = {.verdict = FB_CLAIM_OPEN};

		if (unmeasured)
			err = fb_claim_parse(&show, study, &study->show[i]);
		else
			err = judge(study, &study->show[i], sheets, &one);
		if (!err)
			all_of(&sum, one.verdict, unmeasured ? unmeasured : one.why);
	}
	if (!err)
		printf("verdict:  %s%s%s\n", verdicts[sum.verdict],
		       sum.verdict == FB_CLAIM_OPEN ? ": " : "",
		       sum.verdict == FB_CLAIM_OPEN ? sum.why : "");
	return err;
}

static int run(void *values, char **words, size_t count)
{
	const struct settings *settings = values;
	const struct fb_study_changes changes = {.folder = settings->folder};
	struct fb_study *study = fb_new(1, sizeof(*study)); /* too large for a stack */
	struct fb_sheets sheets = {.sheet = NULL};
	int err;

	if (count == 0 || (count == 1) != (settings->unmeasured != NULL))
		err = fb_error(FB_EINPUT, "expected a study and its results, or a study and "
					  "--unmeasured; see --help");
	else
		err = fb_study_read(study, words[0], &changes);
	if (!err && count > 1)
		err = fb_sheets_read(&sheets, words + 1, count - 1);
	if (!err)
		err = judge_all(study, &sheets, settings->unmeasured);
	return fb_exit_code(err);
}

static const struct fb_tool tool = {
	.name = "claims",
	.summary = "whether what a study claims holds",
	.description = description,
	.table = table,
	.libraries = FB_TOOL_CSV,
	.run = run,
};

FB_TOOL_MAIN(struct settings)
