/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a study; see study.h. Single lines are read in line.c. */
#include "common/base/error.h"
#include "scripts/tools/lib/files.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/study/study.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The default canary limit: launches differ by less than a fifth on a quiet machine. */
static const double default_canary_limit = 0.2;

int fb_study_error(const struct fb_study *study, int line, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return fb_error(FB_EINPUT, "%s:%d: %s", study->path, line, text);
}

/* Sets study->path and opens the file: `name` itself, or by name in the folder of studies. */
static int open_file(struct fb_study *study, const char *name, const char *folder, FILE **file)
{
	/* A folder may well be called as a study is. */
	study->path = access(name, F_OK) || fb_is_folder(name)
			      ? fb_new_text("%s/%s.study", folder, name) : fb_new_copy(name);
	*file = fopen(study->path, "r");
	return *file ? FB_OK
		     : fb_error(FB_EINPUT,
				"no study '%s': neither a file that can be read nor "
				"%s/%s.study",
				name, folder, name);
}

static int read_lines(struct fb_study *study, const struct fb_study_changes *changes, FILE *file)
{
	char *text;
	int err = FB_OK;

	for (int line = 1; !err && (text = fb_file_line(file)); line++) {
		struct fb_word_list words = {0};

		text[strcspn(text, "\r")] = '\0';
		if (fb_word_list_split_line(&words, text))
			err = fb_study_error(study, line,
					     "'%s': accepted is a second \" at the value's end",
					     text);
		else if (words.count)
			err = fb_study_line(study, changes, &words, line);
	}
	if (!err && ferror(file))
		err = fb_error(FB_EINPUT, "%s: %s", study->path, strerror(errno));
	return err;
}

/* The folder of a side's programs: `bin`, unless the side has its own. */
static const char *bin_of(const struct fb_study *study, int side, const char *bin)
{
	const char *build = study->side[side].build;

	return build ? fb_new_text("%s/bin", build) : bin;
}

/* The folder of a side that lacks the program; NULL: none does. */
static const char *who_lacks(const struct fb_study *study, const char *bin, const char *name)
{
	for (int side = 0; side < FB_SIDES; side++) {
		const char *folder = bin_of(study, side, bin);

		if (access(fb_new_text("%s/%s", folder, name), X_OK))
			return folder;
	}
	return NULL;
}

/* Removes optional programs that are absent; it is an error if another program is absent. */
static int find_programs(struct fb_study *study, const char *bin)
{
	size_t kept = 0, count = study->nprograms;
	int err = FB_OK;

	for (size_t i = 0; i < count; i++) {
		struct fb_study_program *program = &study->program[i];
		const char *where = err ? NULL : who_lacks(study, bin, program->name);

		if (where && !program->optional)
			err = fb_study_error(study, program->line,
					     "no program '%s' in %s; accepted are " FB_STUDY_WORDS,
					     program->name, where);
		else if (where)
			fprintf(stderr, "fabricbench: %s:%d: left out: no program '%s' in %s\n",
				study->path, program->line, program->name, where);
		if (!where || err)
			study->program[kept++] = *program;
	}
	study->nprograms = kept;
	return err;
}

/* Whether each name that was asked for is a program of the study. */
static int find_names(const struct fb_study *study, const char *only)
{
	struct fb_word_list names = {0};
	int err = FB_OK;

	if (only)
		fb_word_list_split(&names, only);
	for (size_t i = 0; !err && i < names.count; i++) {
		size_t j = 0;

		while (j < study->nprograms && strcmp(study->program[j].name, names.word[i]))
			j++;
		if (j == study->nprograms)
			err = fb_error(FB_EINPUT, "ONLY=%s: no such program in %s", names.word[i],
				       study->path);
	}
	return err;
}

/* Whether the folders exist that sides name. */
static int check_builds(const struct fb_study *study)
{
	for (int side = 0; side < FB_SIDES; side++) {
		if (study->side[side].build && access(bin_of(study, side, "."), X_OK))
			return fb_study_error(study, study->side[side].line,
					      "side %c: --build=%s: accepted is a folder with bin/",
					      "ab"[side], study->side[side].build);
	}
	return FB_OK;
}

/* Refuses variables that both a side and a line `env` set, because the order would decide. */
static int check_sides(const struct fb_study *study)
{
	char name[128];

	for (int side = 0; side < FB_SIDES; side++)
		for (size_t v = 0; v < study->side[side].variables.count; v++)
			for (size_t i = 0; i < study->nenv; i++)
				for (size_t j = 0; j < study->env[i].count; j++)
					if (fb_assignments_clash(
						    study->side[side].variables.word[v],
						    study->env[i].word[j], name, sizeof(name)))
						return fb_study_error(
							study, study->side[side].line,
							"side %c: %s is set by an env line too; "
							"accepted is either",
							"ab"[side], name);
	return FB_OK;
}

int fb_study_read(struct fb_study *study, const char *name, const struct fb_study_changes *changes)
{
	FILE *file = NULL;
	int err = open_file(study, name, changes->folder, &file);

	if (err)
		return err;
	study->canary_limit = default_canary_limit;
	study->launches = 1;
	err = read_lines(study, changes, file);
	fclose(file);
	if (!err)
		err = check_sides(study);
	if (!err && changes->bin)
		err = check_builds(study);
	if (!err && changes->bin)
		err = find_programs(study, changes->bin);
	if (!err)
		err = find_names(study, changes->only);
	if (!err && study->nprograms == 0)
		err = fb_error(FB_EINPUT, "%s names no program that is there", study->path);
	return err;
}
