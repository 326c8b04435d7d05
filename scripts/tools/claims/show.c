/* SPDX-License-Identifier: BSD-3-Clause */
/* A line `show` of a study; see claims.h. */
#include "common/base/error.h"
#include "scripts/tools/claims/claims.h"
#include "scripts/tools/query/query.h"

#include <math.h>
#include <string.h>

static const char accepted[] = "least|most BOUND [each|some COLUMN,...] TERM [/ TERM], where a "
			       "TERM is [FACTOR] [best] COLUMN CONDITION...";

struct words {
	const struct fb_study_show *line;
	size_t at;
};

/* The next word, "" behind the last one. */
static const char *peek(const struct words *words)
{
	return words->at < words->line->words.count ? words->line->words.word[words->at] : "";
}

static bool take(struct words *words, const char *word)
{
	if (strcmp(peek(words), word))
		return false;
	words->at++;
	return true;
}

static bool number(struct words *words, double *value)
{
	if (!fb_query_number(peek(words), value))
		return false;
	words->at++;
	return true;
}

static bool term(struct words *words, struct fb_claim_term *term)
{
	if (!number(words, &term->factor))
		term->factor = 1;
	term->best = take(words, "best");
	term->column = peek(words);
	if (!fb_word_is_program(term->column) && !strstr(term->column, "_GBps"))
		return false;
	words->at++;
	term->condition = words->line->words.word + words->at;
	while (fb_query_is_filter(peek(words))) {
		term->conditions++;
		words->at++;
	}
	return true;
}

/* Whether a term has the condition COLUMN=NUMBER. */
static bool names(const struct fb_claim_term *term, const char *column)
{
	size_t n = strlen(column);

	for (size_t i = 0; i < term->conditions; i++) {
		const char *condition = term->condition[i];

		if (!strncmp(condition, column, n) && condition[n] == '=' &&
		    condition[n + 1 + strspn(condition + n + 1, "0123456789")] == '\0')
			return true;
	}
	return false;
}

static bool add_over(struct fb_claim_show *show, const char *name, size_t length)
{
	if (!length || length >= FB_CLAIM_NAME_CHARS || show->columns == FB_CLAIM_COLUMNS)
		return false;
	snprintf(show->over[show->columns++], FB_CLAIM_NAME_CHARS, "%.*s", (int)length, name);
	return true;
}

static bool add_list(struct fb_claim_show *show, const char *list)
{
	bool right = true;

	while (right) {
		size_t length = strcspn(list, ",");

		right = show->columns < show->apart + FB_CLAIM_EACH && add_over(show, list, length);
		if (!list[length])
			break;
		list += length + 1;
	}
	return right;
}

/* Ranks and nodes, then the columns of the list ("" for none). */
static bool find_columns(struct fb_claim_show *show, const char *list)
{
	bool ranks = names(&show->above, "ranks") || names(&show->below, "ranks");
	bool nodes = names(&show->above, "nodes") || names(&show->below, "nodes");

	/* More nodes have more ranks. */
	if (!ranks && !nodes)
		add_over(show, "ranks", 5);
	if (!nodes)
		add_over(show, "nodes", 5);
	show->apart = show->columns;
	return !*list || add_list(show, list);
}

int fb_claim_parse(struct fb_claim_show *show, const struct fb_study *study,
		   const struct fb_study_show *line)
{
	struct words words = {.line = line};
	const char *list = "";
	bool right;

	*show = (struct fb_claim_show){.least = take(&words, "least")};
	right = (show->least || take(&words, "most")) && number(&words, &show->bound);
	if (right && (!strcmp(peek(&words), "each") || !strcmp(peek(&words), "some"))) {
		show->some = take(&words, "some");
		if (!show->some)
			words.at++;
		list = peek(&words);
		right = *list;
		words.at++;
	}
	right = right && term(&words, &show->above);
	if (right && take(&words, "/"))
		right = term(&words, &show->below);
	if (right && !*peek(&words) && find_columns(show, list))
		return FB_OK;
	return fb_study_error(study, line->line, "show: '%s' at word %zu: accepted is %s",
			      peek(&words), words.at + 1, accepted);
}

struct fb_claim_value fb_claim_quotient(const struct fb_claim_value *above,
					const struct fb_claim_value *below)
{
	struct fb_claim_value value = {(double)NAN, (double)NAN, (double)NAN, "",
					above->absent || below->absent};
	const double ends[4] = {above->low / below->low, above->low / below->high,
				above->high / below->low, above->high / below->high};

	snprintf(value.why, sizeof(value.why), "%s", *above->why ? above->why : below->why);
	if (*value.why)
		return value;
	if (!(below->low > 0)) {
		snprintf(value.why, sizeof(value.why), "the divisor may be zero");
		return value;
	}
	value.middle = above->middle / below->middle;
	value.low = fmin(fmin(ends[0], ends[1]), fmin(ends[2], ends[3]));
	value.high = fmax(fmax(ends[0], ends[1]), fmax(ends[2], ends[3]));
	return value;
}

enum fb_claim_verdict fb_claim_judge(const struct fb_claim_show *show,
				     struct fb_claim_value *value)
{
	if (*value->why)
		return FB_CLAIM_OPEN;
	if (show->least ? value->low >= show->bound : value->high <= show->bound)
		return FB_CLAIM_HOLDS;
	if (show->least ? value->high < show->bound : value->low > show->bound)
		return FB_CLAIM_FAILS;
	snprintf(value->why, sizeof(value->why), "the interval contains %g", show->bound);
	return FB_CLAIM_OPEN;
}
