/* SPDX-License-Identifier: BSD-3-Clause */
/* A line `show` of a study; see claims.h. */
#include "common/base/error.h"
#include "scripts/tools/claims/claims.h"
#include "scripts/tools/query/query.h"

#include <math.h>
#include <string.h>

static const char accepted[] = "least|most BOUND [each|some COLUMN] TERM [/ TERM], where a TERM "
			       "is [FACTOR] [best] COLUMN CONDITION...";

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

int fb_claim_parse(struct fb_claim_show *show, const struct fb_study *study,
		   const struct fb_study_show *line)
{
	struct words words = {.line = line};
	bool right;

	*show = (struct fb_claim_show){.least = take(&words, "least")};
	right = (show->least || take(&words, "most")) && number(&words, &show->bound);
	if (right && (!strcmp(peek(&words), "each") || !strcmp(peek(&words), "some"))) {
		show->some = take(&words, "some");
		if (!show->some)
			words.at++;
		show->over = peek(&words);
		right = *show->over;
		words.at++;
	}
	right = right && term(&words, &show->above);
	if (right && take(&words, "/"))
		right = term(&words, &show->below);
	if (right && !*peek(&words))
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
