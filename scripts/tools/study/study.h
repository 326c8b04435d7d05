/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A study: which programs with which options, on how many ranks and nodes, in which environments
 * and on which sides. Read from a text file; docs/studies.md has the grammar.
 *
 * A study holds only what the file says; plan.h makes an order of launches of it.
 */
#ifndef FB_SCRIPTS_TOOLS_STUDY_STUDY_H
#define FB_SCRIPTS_TOOLS_STUDY_STUDY_H

#include "common/base/sizes.h"
#include "scripts/tools/study/words.h"

#include <stdint.h>

enum { FB_SIDE_A, FB_SIDE_B, FB_SIDES };
/* Upper limits. */
enum { FB_STUDY_LAUNCHES = 10000, FB_STUDY_RANKS = 1 << 20, FB_STUDY_VARIANTS = 1000 };

/* A program and its options. */
struct fb_study_program {
	char *name;
	struct fb_word_list options; /* merged: each name once */
	int line;		     /* of the file */
	bool optional;		     /* left out where the program is absent */
};

/* What differs between the two sides of a comparison. */
struct fb_study_side {
	struct fb_word_list variables; /* NAME=VALUE, or several joined by ';' */
	struct fb_word_list options;   /* replace those of every program */
	char *build;		       /* folder with bin/; NULL: the one that is used anyway */
	int line;		       /* 0: the file does not name this side */
};

/* A line `show` of a claim: its words, which scripts/tools/claims reads. */
struct fb_study_show {
	struct fb_word_list words; /* behind `show` */
	int line;
};

struct fb_study {
	char *path;
	struct fb_word_list claim;  /* the sentence that the study puts to the test; may be empty */
	struct fb_study_show *show; /* [nshows] what must be seen if the claim holds */
	size_t nshows;
	struct fb_study_program *program; /* [nprograms] */
	size_t nprograms;
	int line;		    /* the one that is being read */
	struct fb_word_list common; /* options after * that have been read so far */
	uint64_t launches;	    /* of each variant and side, 1 or more */
	struct fb_sizes ranks;	    /* count 0: not said */
	struct fb_sizes nodes;	    /* count 0: not said */
	bool ranks_per_node;	    /* whether `ranks` counts those of one node */
	struct fb_word_list goal;   /* of a search: column and conditions; may be empty */
	struct fb_word_list *env;   /* [nenv] axes: alternatives, of which "-" sets nothing */
	size_t nenv;
	struct fb_study_side side[FB_SIDES];
	bool two_sides;
	struct fb_study_program canary; /* name NULL: the default one; "none": none */
	double canary_limit;		/* 0.2: a fifth more or less */
	struct fb_word_list directives; /* those that only mean something for several launches */
};

/* What the command line may override. */
struct fb_study_changes {
	const char *only;    /* programs whose lines count, by blanks; NULL or "": all */
	const char *options; /* replace the study's for every program, by blanks; or NULL */
	const char *bin;     /* folder of the programs; NULL: not looked for */
	const char *folder;  /* where studies are looked for by name */
};

/*
 * Reads the study `name` (a file, or FOLDER/name.study). Returns 0; FB_EINPUT after one line
 * "FILE:LINE: ..." on stderr that says what is wrong and what is accepted. Optional programs that
 * are absent are left out, which a line on stderr says.
 */
int fb_study_read(struct fb_study *study, const char *name, const struct fb_study_changes *changes);

/* An error at a line of the study: "FILE:LINE: ...". Returns FB_EINPUT. */
int fb_study_error(const struct fb_study *study, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* What may begin a line. */
#define FB_STUDY_WORDS                                                                             \
	"a program's name (after a ? where it may be absent), *, launches, ranks, "                \
	"ranks-per-node, nodes, env, goal, side, canary, canary-limit, claim, show"

/* line.c, part of fb_study_read: takes one line of the file, without its comment. */
int fb_study_line(struct fb_study *study, const struct fb_study_changes *changes,
		  const struct fb_word_list *words, int line);

#endif
