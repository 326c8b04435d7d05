/* SPDX-License-Identifier: BSD-3-Clause */
/* Launches without their closing fact; see closing.h. */
#include "common/record/closing.h"

#include "common/base/error.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fb_closing_launch {
	char *name; /* "all_reduce.0" */
	bool rows, began, closed;
};

/* The launch whose name is text[0 .. n), which is added where it is new; NULL: no memory. */
static struct fb_closing_launch *find(struct fb_closing *closing, const char *text, size_t n)
{
	struct fb_closing_launch *more;

	/* Rows and facts of a launch follow each other. */
	for (size_t i = 0; i < closing->count; i++) {
		size_t at = (closing->last + i) % closing->count;
		const char *name = closing->launch[at].name;

		if (!strncmp(name, text, n) && !name[n]) {
			closing->last = at;
			return &closing->launch[at];
		}
	}
	more = realloc(closing->launch, (closing->count + 1) * sizeof(*more));
	if (more) {
		closing->launch = more;
		more += closing->count;
		*more = (struct fb_closing_launch){.name = strndup(text, n)};
	}
	if (!more || !more->name) {
		fb_error(FB_ENOMEM, "out of memory for the names of launches");
		return NULL;
	}
	closing->last = closing->count++;
	return more;
}

int fb_closing_fact(struct fb_closing *closing, const char *key)
{
	static const char before[] = "program.";
	struct fb_closing_launch *launch;
	const char *name = key + strlen(before), *dot = strrchr(key, '.');
	bool began = dot && !strcmp(dot, ".cases");

	if (strncmp(key, before, strlen(before)) != 0 || !dot || dot < name ||
	    (!began && strcmp(dot, ".exit_code") != 0))
		return FB_OK;
	launch = find(closing, name, (size_t)(dot - name));
	if (!launch)
		return FB_ENOMEM;
	launch->began |= began;
	launch->closed |= !began;
	return FB_OK;
}

int fb_closing_row(struct fb_closing *closing, const char *program, const char *launch)
{
	struct fb_closing_launch *found;
	char name[128];

	snprintf(name, sizeof(name), "%s.%s", program, launch);
	found = find(closing, name, strlen(name));
	if (!found)
		return FB_ENOMEM;
	found->rows = true;
	return FB_OK;
}

size_t fb_closing_lacking(const struct fb_closing *closing, char text[FB_CLOSING_CHARS])
{
	static const char others[] = " and others";
	size_t lacking = 0;

	for (size_t i = 0; i < closing->count; i++) {
		const struct fb_closing_launch *launch = &closing->launch[i];
		const char *dot = strrchr(launch->name, '.');
		size_t used = strlen(text);

		if (!launch->rows || !launch->began || launch->closed)
			continue;
		lacking++;
		if (used >= strlen(others) && !strcmp(text + used - strlen(others), others))
			continue;
		if (used + strlen(launch->name) + 2 + sizeof(others) < FB_CLOSING_CHARS)
			snprintf(text + used, FB_CLOSING_CHARS - used, "%s%.*s %s",
				 used ? ", " : "", (int)(dot - launch->name), launch->name,
				 dot + 1);
		else
			snprintf(text + used, FB_CLOSING_CHARS - used, "%s", others);
	}
	return lacking;
}

void fb_closing_free(struct fb_closing *closing)
{
	for (size_t i = 0; i < closing->count; i++)
		free(closing->launch[i].name);
	free(closing->launch);
	*closing = (struct fb_closing){.launch = NULL};
}
