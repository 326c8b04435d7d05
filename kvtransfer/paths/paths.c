/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading path tables and looking paths up; see paths.h. */
#include "kvtransfer/paths/paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum { WORD = 32 };

/* A number of at least 0, or, where it may be missing, "-" as NAN. */
static bool number(const char *text, bool may_miss, double *value)
{
	char *end;

	*value = (double)NAN;
	if (may_miss && !strcmp(text, "-"))
		return true;
	*value = strtod(text, &end);
	return end != text && !*end && *value >= 0 && isfinite(*value);
}

/* The words of a line that say in which direction, and beside what, it was measured. */
static bool read_how(const char *verb, const char *beside, bool *get,
		     enum fb_auto_objective *objective)
{
	*get = !strcmp(verb, "get");
	*objective = !strcmp(beside, fb_auto_objectives[FB_OVERLAPPED]) ? FB_OVERLAPPED : FB_ALONE;
	return (*get || !strcmp(verb, "put")) && !strcmp(beside, fb_auto_objectives[*objective]);
}

static bool read_list(const char *bytes, const char *pieces, struct fb_path_best *best)
{
	return number(bytes, false, &best->piece_bytes) && best->piece_bytes > 0 &&
	       number(pieces, false, &best->pieces) && best->pieces > 0;
}

static bool read_path(const char *text, struct fb_path_line *path)
{
	char verb[WORD], beside[WORD], a[WORD], b[WORD], rate[WORD], more[2];

	return sscanf(text, "path %23s %31s %31s %31s %31s %31s %1s", path->mover, verb, beside, a,
		      b, rate, more) == 6 &&
	       read_how(verb, beside, &path->get, &path->objective) &&
	       number(a, true, &path->a_us) && number(b, false, &path->b_ns) &&
	       number(rate, false, &path->gbps) && path->gbps > 0;
}

static bool read_best(const char *text, struct fb_path_best *best)
{
	char verb[WORD], beside[WORD], bytes[WORD], pieces[WORD], more[2];

	*best = (struct fb_path_best){.tier = false};
	return sscanf(text, "best %23s %31s %31s %31s %31s %1s", best->mover, verb, beside, bytes,
		      pieces, more) == 5 &&
	       read_how(verb, beside, &best->get, &best->objective) &&
	       read_list(bytes, pieces, best);
}

static bool read_tier(const char *text, struct fb_path_best *best)
{
	char mover[2 * WORD], verb[WORD], bytes[WORD], pieces[WORD], more[2], *form;

	if (sscanf(text, "tier %63s %31s %31s %31s %1s", mover, verb, bytes, pieces, more) != 4)
		return false;
	form = strchr(mover, ':');
	if (form)
		*form++ = '\0';
	if (!*mover || strlen(mover) >= sizeof(best->mover) ||
	    (form && (!*form || strlen(form) >= sizeof(best->form))))
		return false;
	*best = (struct fb_path_best){.tier = true};
	memcpy(best->mover, mover, strlen(mover) + 1);
	if (form)
		memcpy(best->form, form, strlen(form) + 1);
	return read_how(verb, fb_auto_objectives[FB_ALONE], &best->get, &best->objective) &&
	       read_list(bytes, pieces, best);
}

/* Whether a line "machine KIND MODEL" is one, and of what. */
static bool read_machine(const char *text, bool *gpu, char model[FB_PATHS_MODEL_CHARS])
{
	char kind[WORD];

	if (sscanf(text, "machine %31s %127[^\n]", kind, model) != 2)
		return false;
	*gpu = !strcmp(kind, "gpu");
	return *gpu || !strcmp(kind, "cpu");
}

static int add(struct fb_paths *paths, const struct fb_path_line *path)
{
	struct fb_path_line *more = realloc(paths->line, (paths->count + 1) * sizeof(*more));

	if (!more)
		return fb_error(FB_ENOMEM, "out of memory for a path table");
	paths->line = more;
	more[paths->count++] = *path;
	return FB_OK;
}

static int add_best(struct fb_paths *paths, const struct fb_path_best *best)
{
	struct fb_path_best *more = realloc(paths->best, (paths->bests + 1) * sizeof(*more));

	if (!more)
		return fb_error(FB_ENOMEM, "out of memory for a path table");
	paths->best = more;
	more[paths->bests++] = *best;
	return FB_OK;
}

/* One line, without its end and its comment. */
static int read_line(struct fb_paths *paths, const char *text, bool gpu, const char *model,
		     int *matches)
{
	char named[FB_PATHS_MODEL_CHARS];
	struct fb_path_best best;
	struct fb_path_line path;
	bool is_gpu;

	if (!*text)
		return FB_OK;
	if (!strncmp(text, "machine ", 8) && read_machine(text, &is_gpu, named)) {
		*matches = is_gpu == gpu && !strcmp(named, model);
		return FB_OK;
	}
	if (!strncmp(text, "best ", 5) && *matches >= 0 && read_best(text, &best))
		return *matches ? add_best(paths, &best) : FB_OK;
	if (!strncmp(text, "tier ", 5) && *matches >= 0 && read_tier(text, &best))
		return *matches ? add_best(paths, &best) : FB_OK;
	if (strncmp(text, "path ", 5) || *matches < 0 || !read_path(text, &path))
		return FB_EINPUT;
	return *matches ? add(paths, &path) : FB_OK;
}

int fb_paths_parse(struct fb_paths *paths, const char *text, const char *file, bool gpu,
		   const char *model, FILE *errors)
{
	struct fb_paths made = {.line = NULL};
	int matches = -1, err = FB_OK, line = 0;

	while (*text && !err) {
		size_t length = strcspn(text, "\n"), used = strcspn(text, "#\n");
		char *one;

		while (used && (text[used - 1] == ' ' || text[used - 1] == '\t'))
			used--;
		one = strndup(text, used);
		line++;
		err = one ? read_line(&made, one, gpu, model, &matches)
			  : fb_error(FB_ENOMEM, "out of memory for a path table");
		if (err == FB_EINPUT && errors)
			fprintf(errors, "fabricbench: %s:%d: '%s': expected machine gpu|cpu MODEL, "
				"path MOVER put|get alone|overlapped A_US B_NS GBPS, best MOVER "
				"put|get alone|overlapped PIECE_BYTES PIECES, or tier MOVER[:FORM] "
				"put|get PIECE_BYTES PIECES\n", file, line, one);
		free(one);
		text += length + (text[length] == '\n');
	}
	if (err) {
		fb_paths_free(&made);
		return err;
	}
	*paths = made;
	return FB_OK;
}

void fb_paths_free(struct fb_paths *paths)
{
	free(paths->line);
	free(paths->best);
	*paths = (struct fb_paths){.line = NULL};
}

double fb_path_us(const struct fb_path_line *line, double pieces, double bytes)
{
	double a = isnan(line->a_us) ? 0 : line->a_us;

	return a + line->b_ns * pieces / 1e3 + bytes / line->gbps / 1e3;
}

const struct fb_path_line *fb_paths_find(const struct fb_paths *paths, const char *mover, bool get,
					 enum fb_auto_objective objective)
{
	const struct fb_path_line *found = NULL;

	for (size_t i = 0; i < paths->count; i++) {
		const struct fb_path_line *p = &paths->line[i];

		if (strcmp(p->mover, mover) || p->get != get ||
		    (p->objective != FB_ALONE && p->objective != objective))
			continue;
		if (!found || p->objective == objective)
			found = p;
	}
	return found;
}

const struct fb_path_best *fb_paths_best(const struct fb_paths *paths, bool tier, bool get,
					 enum fb_auto_objective objective, double pieces,
					 double bytes)
{
	const struct fb_path_best *found = NULL;
	double nearest = (double)INFINITY;

	for (size_t i = 0; i < paths->bests && pieces > 0 && bytes > 0; i++) {
		const struct fb_path_best *b = &paths->best[i];
		double size = fabs(log2(bytes / pieces / b->piece_bytes));
		double number = fabs(log2(pieces / b->pieces));
		/* All of the objective asked for go before those measured alone. */
		double far = size + number + (b->objective == objective ? 0 : 4);

		if (b->tier != tier || b->get != get ||
		    (b->objective != FB_ALONE && b->objective != objective) ||
		    size > 1 || number > 1 || far >= nearest)
			continue;
		found = b;
		nearest = far;
	}
	return found;
}
