/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a study; see study.h. Single lines are read in line.c. */
#include "common/base/error.h"
#include "scripts/tools/study/study.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where a study says nothing else. A fifth is more than launches differ by on a quiet machine. */
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

static int no_memory(void)
{
	return fb_error(FB_ENOMEM, "out of memory for a study");
}

/* Sets study->path and opens the file: `name` itself, or by name in the folder of studies. */
static int open_file(struct fb_study *study, const char *name, const char *folder, FILE **file)
{
	char *path = NULL;
	struct stat st;

	/* A folder may well be called as a study is. */
	if (stat(name, &st) || S_ISDIR(st.st_mode))
		path = asprintf(&path, "%s/%s.study", folder, name) < 0 ? NULL : path;
	else
		path = strdup(name);
	if (!path)
		return no_memory();
	study->path = path;
	*file = fopen(path, "r");
	return *file ? FB_OK
		     : fb_error(FB_EINPUT,
				"no study '%s': neither a file that can be read nor "
				"%s/%s.study",
				name, folder, name);
}

static int read_lines(struct fb_study *study, const struct fb_study_changes *changes, FILE *file)
{
	char *text = NULL;
	size_t size = 0;
	int err = FB_OK;

	for (int line = 1; !err && getline(&text, &size, file) >= 0; line++) {
		struct fb_word_list words = {0};

		text[strcspn(text, "\r\n")] = '\0';
		err = fb_word_list_split_line(&words, text);
		if (err == FB_EINPUT)
			err = fb_study_error(study, line,
					     "'%s': accepted is a second \" at the value's end",
					     text);
		if (!err && words.count)
			err = fb_study_line(study, changes, &words, line);
		fb_word_list_free(&words);
	}
	if (!err && ferror(file))
		err = fb_error(FB_EINPUT, "%s: %s", study->path, strerror(errno));
	free(text);
	return err;
}

char *fb_study_bin(const struct fb_study *study, int side, const char *bin)
{
	char *path = NULL;

	if (!study->side[side].build)
		return strdup(bin);
	return asprintf(&path, "%s/bin", study->side[side].build) < 0 ? NULL : path;
}

/* The side that lacks the program; -1: none. Its folder goes to *where, malloced. */
static int who_lacks(const struct fb_study *study, const char *bin, const char *name, char **where)
{
	for (int side = 0; side < FB_SIDES; side++) {
		char *folder = fb_study_bin(study, side, bin), *path = NULL;
		int absent;

		if (!folder || asprintf(&path, "%s/%s", folder, name) < 0) {
			free(folder);
			return no_memory();
		}
		absent = access(path, X_OK);
		free(path);
		if (absent) {
			*where = folder;
			return side;
		}
		free(folder);
	}
	return -1;
}

static void free_program(struct fb_study_program *program)
{
	free(program->name);
	fb_word_list_free(&program->options);
}

/* Takes optional programs that are absent out; the absence of others is an error. */
static int find_programs(struct fb_study *study, const char *bin)
{
	size_t kept = 0, count = study->nprograms;
	int err = FB_OK;

	for (size_t i = 0; i < count; i++) {
		struct fb_study_program *program = &study->program[i];
		char *where = NULL;

		if (!err)
			who_lacks(study, bin, program->name, &where);
		if (where && !program->optional)
			err = fb_study_error(study, program->line,
					     "no program '%s' in %s; accepted are " FB_STUDY_WORDS,
					     program->name, where);
		else if (where)
			fprintf(stderr, "fabricbench: %s:%d: left out: no program '%s' in %s\n",
				study->path, program->line, program->name, where);
		if (where && !err)
			free_program(program);
		else
			study->program[kept++] = *program;
		free(where);
	}
	study->nprograms = kept;
	return err;
}

/* Whether each name that was asked for is a program of the study. */
static int find_names(const struct fb_study *study, const char *only)
{
	struct fb_word_list names = {0};
	int err = only ? fb_word_list_split(&names, only) : FB_OK;

	for (size_t i = 0; !err && i < names.count; i++) {
		size_t j = 0;

		while (j < study->nprograms && strcmp(study->program[j].name, names.word[i]))
			j++;
		if (j == study->nprograms)
			err = fb_error(FB_EINPUT, "ONLY=%s: no such program in %s", names.word[i],
				       study->path);
	}
	fb_word_list_free(&names);
	return err;
}

/* Whether the folders exist that sides name. */
static int check_builds(const struct fb_study *study)
{
	for (int side = 0; side < FB_SIDES; side++) {
		char *bin = fb_study_bin(study, side, ".");
		bool absent = bin && study->side[side].build && access(bin, X_OK);

		free(bin);
		if (!bin)
			return no_memory();
		if (absent)
			return fb_study_error(study, study->side[side].line,
					      "side %c: --build=%s: accepted is a folder with bin/",
					      "ab"[side], study -> side[side].build);
	}
	return FB_OK;
}

/* Variables that a side and an env line set: which of them counts would depend on the order. */
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

void fb_study_free(struct fb_study *study)
{
	for (size_t i = 0; i < study->nprograms; i++)
		free_program(&study->program[i]);
	free(study->program);
	free_program(&study->canary);
	for (size_t i = 0; i < study->nenv; i++)
		fb_word_list_free(&study->env[i]);
	free(study->env);
	for (int side = 0; side < FB_SIDES; side++) {
		fb_word_list_free(&study->side[side].variables);
		fb_word_list_free(&study->side[side].options);
		free(study->side[side].build);
	}
	for (size_t i = 0; i < study->nshows; i++)
		fb_word_list_free(&study->show[i].words);
	free(study->show);
	fb_word_list_free(&study->claim);
	fb_word_list_free(&study->common);
	fb_word_list_free(&study->directives);
	free(study->path);
	*study = (struct fb_study){0};
}
