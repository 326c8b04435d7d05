/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command line options from const tables.
 *
 * A program states each option once, as one line of a table: parsing, defaults, --help, the man
 * page, error messages and the record of options in environment.csv all come from that line,
 * so they cannot disagree. Values are stored at an offset into a structure of the program's.
 *
 *	struct settings { int iterations; double max_time_s; struct fb_sizes bytes; };
 *	static const struct fb_option options[] = {
 *		FB_OPTION_GROUP("Sweep"),
 *		FB_OPTION_SIZES(struct settings, bytes, 'b', "bytes", "8:64M:2", "message sizes"),
 *		FB_OPTION_INT(struct settings, iterations, 'n', "iterations", "N", "10", 1, 1000,
 *			      "repetitions per size"),
 *		FB_OPTION_TIME(struct settings, max_time_s, 0, "max-time", "1s", 1e-3, 3600,
 *			       "longest time for one row"),
 *		FB_OPTION_END,
 *	};
 *
 * Accepted on the command line: --name=value, --name value, -n value, -nvalue, and for flags
 * --name, --name=yes, --name=no. Abbreviated names are not accepted, positional arguments are
 * an error, "--" ends the options (and nothing may follow it). An option may be repeated with
 * the very same value only: two different values are an error, not a silent choice.
 */
#ifndef FB_COMMON_OPTION_OPTION_H
#define FB_COMMON_OPTION_OPTION_H

#include "common/base/sizes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum fb_option_type {
	FB_OPT_END,	/* closes a table */
	FB_OPT_GROUP,	/* a heading in --help and in the man page */
	FB_OPT_FLAG,	/* bool */
	FB_OPT_INT,	/* int */
	FB_OPT_U64,	/* uint64_t; suffixes K, M, G, T */
	FB_OPT_DOUBLE,	/* double */
	FB_OPT_RATIO,	/* double; "1%" and "0.01" are the same; above 1 with % only */
	FB_OPT_TIME,	/* double, in seconds; "500ms", "20us", "7ns", "2min", "1h", "3" (s) */
	FB_OPT_CHOICE,	/* int: the index of one of `names` */
	FB_OPT_CHOICES, /* uint64_t: bit i for names[i]; a comma-separated list, or "all" */
	FB_OPT_STRING,	/* const char *, borrowed from argv or the table; NULL where no default */
	FB_OPT_SIZES,	/* struct fb_sizes */
};

/*
 * Judges a string that the type alone cannot judge. Pure, the same on all ranks. Returns 0, or
 * non-zero after writing what is accepted, as one phrase, to `accepted` (n characters). It must
 * refuse the empty string: that is how --help asks for the phrase.
 */
typedef int (*fb_option_check_fn)(const char *value, char *accepted, size_t n);

struct fb_option {
	enum fb_option_type type;
	char short_name;	 /* 0 for none */
	const char *name;	 /* without dashes; the title of a group */
	const char *placeholder; /* "N", "SIZE", "DIR"; NULL for flags */
	const char *fallback;	 /* default as it would be typed; NULL: false, 0, NULL string */
	const char *help;	 /* one phrase or sentence, no full stop */
	size_t offset;		 /* into the values structure */
	union {
		struct {
			long long low, high;
		} integer; /* FB_OPT_INT */
		struct {
			uint64_t low, high;
		} u64; /* FB_OPT_U64, each size of FB_OPT_SIZES, length of FB_OPT_STRING */
		struct {
			double low, high;
		} real; /* FB_OPT_DOUBLE, FB_OPT_RATIO, FB_OPT_TIME (seconds); inclusive */
	} range;
	/*
	 * Choices, ending in NULL; at most 64 for FB_OPT_CHOICES. Of FB_OPT_U64: a word for 0, or
	 * NULL.
	 */
	const char *const *names;
	fb_option_check_fn check; /* FB_OPT_STRING only; NULL: every string within the lengths */
	/*
	 * The program's name, of a common option that it does not use (users.h). Then the option
	 * keeps its default, is refused when given, and is neither explained nor recorded.
	 */
	const char *unused_by;
};

/* A table and where its values go; chains join the common table with a program's own. */
struct fb_option_chain {
	const struct fb_option *table; /* ends in FB_OPTION_END */
	void *values;		       /* the structure that the offsets are of */
	const struct fb_option_chain *next;
};

/* What --help and the man page say around the table. Texts are one line, or paragraphs. */
struct fb_option_about {
	const char *program;	 /* "all_reduce" */
	const char *summary;	 /* one phrase */
	const char *description; /* paragraphs separated by an empty line; may be NULL */
	const char *version;	 /* "1.0" */
};

/*
 * Sets every value of the chain to its default, then parses argv[1..argc). Returns 0, or
 * FB_EINPUT after writing exactly one line to `errors` (nothing where it is NULL: only one rank
 * of a job should speak), naming the option, the value given and what is accepted. The values
 * are unspecified after an error. A mistake in the tables themselves (a name or a short name
 * twice, a default out of range) is reported the same way, so no such table can be shipped.
 * Local; every rank calls it with the same arguments.
 */
int fb_option_parse(const struct fb_option_chain *chain, int argc, char *const argv[],
		    FILE *errors);

/* A table in separate memory, in which defaults can be replaced. malloced, or NULL (printed). */
struct fb_option *fb_option_copy(const struct fb_option *table);

/*
 * Reports a value that only the program can judge (two options that exclude each other, say) in
 * the same form, and returns FB_EINPUT. `accepted` is a phrase that follows "expected". A flag,
 * which has no value, has NULL.
 */
int fb_option_reject(FILE *errors, const char *name, const char *value, const char *accepted);

/* Calls emit for each option of the chain with its name and effective value as text. */
typedef void (*fb_option_emit_fn)(void *arg, const char *name, const char *value);
void fb_option_list(const struct fb_option_chain *chain, fb_option_emit_fn emit, void *arg);

/* The effective value of one option as text ("8:64M:2", "host,mpi", "500ms"). Returns buf. */
const char *fb_option_text(const struct fb_option *option, const void *values, char *buf, size_t n);

/* Writes the --help text: grouped, aligned, at most 100 columns. */
void fb_option_help(const struct fb_option_chain *chain, const struct fb_option_about *about,
		    FILE *out);

/* Writes a manual page (roff, section 1) with the same content. */
void fb_option_man(const struct fb_option_chain *chain, const struct fb_option_about *about,
		   FILE *out);

/* Whether the program uses any option of the group whose heading this is. */
bool fb_option_group_used(const struct fb_option *heading);

/* The accepted values of an option as one phrase ("a whole number from 1 to 1000"). Returns buf. */
const char *fb_option_accepted(const struct fb_option *option, char *buf, size_t n);

/*
 * Parses one value into `values` at the option's offset. Returns 0, or FB_EINPUT with `why`
 * holding a phrase where more can be said than what is accepted, else "". Prints nothing.
 */
int fb_option_set(const struct fb_option *option, const char *text, void *values, char *why,
		  size_t n);

/* Zeroes the option's value. */
void fb_option_clear(const struct fb_option *option, void *values);

/*
 * Walks a comma-separated list: copies the next item to `item` and advances *cursor. Returns
 * 1, 0 at the end, or FB_EINPUT for an item that is empty or does not fit n characters.
 */
int fb_option_next_item(const char **cursor, char *item, size_t n);

/* Writes `first` and the names, which end in NULL, with ", " between them. */
void fb_option_join(const char *first, const char *const *names, char *buf, size_t n);

/* Whether a list has the item, or is "all"; what it names wrongly is found when cases are made. */
bool fb_option_names(const char *list, const char *item);

#define FB_OPTION_END                                                                              \
	{                                                                                          \
		.type = FB_OPT_END                                                                 \
	}

#define FB_OPTION_GROUP(title)                                                                     \
	{                                                                                          \
		.type = FB_OPT_GROUP, .name = (title)                                              \
	}

#define FB_OPTION_FLAG(s, field, short_, name_, help_)                                             \
	{                                                                                          \
		.type = FB_OPT_FLAG, .short_name = (short_), .name = (name_), .fallback = "no",    \
		.help = (help_), .offset = offsetof(s, field)                                      \
	}

#define FB_OPTION_INT(s, field, short_, name_, placeholder_, default_, low_, high_, help_)         \
	{                                                                                          \
		.type = FB_OPT_INT, .short_name = (short_), .name = (name_),                       \
		.placeholder = (placeholder_), .fallback = (default_), .help = (help_),            \
		.offset = offsetof(s, field), .range.integer.low = (low_),                         \
		.range.integer.high = (high_)                                                      \
	}

#define FB_OPTION_U64(s, field, short_, name_, placeholder_, default_, low_, high_, help_)         \
	{                                                                                          \
		.type = FB_OPT_U64, .short_name = (short_), .name = (name_),                       \
		.placeholder = (placeholder_), .fallback = (default_), .help = (help_),            \
		.offset = offsetof(s, field), .range.u64.low = (low_), .range.u64.high = (high_)   \
	}

#define FB_OPTION_DOUBLE(s, field, short_, name_, placeholder_, default_, low_, high_, help_)      \
	{                                                                                          \
		.type = FB_OPT_DOUBLE, .short_name = (short_), .name = (name_),                    \
		.placeholder = (placeholder_), .fallback = (default_), .help = (help_),            \
		.offset = offsetof(s, field), .range.real.low = (low_), .range.real.high = (high_) \
	}

#define FB_OPTION_RATIO(s, field, short_, name_, default_, low_, high_, help_)                     \
	{                                                                                          \
		.type = FB_OPT_RATIO, .short_name = (short_), .name = (name_),                     \
		.placeholder = "RATIO", .fallback = (default_), .help = (help_),                   \
		.offset = offsetof(s, field), .range.real.low = (low_), .range.real.high = (high_) \
	}

#define FB_OPTION_TIME(s, field, short_, name_, default_, low_, high_, help_)                      \
	{                                                                                          \
		.type = FB_OPT_TIME, .short_name = (short_), .name = (name_),                      \
		.placeholder = "TIME", .fallback = (default_), .help = (help_),                    \
		.offset = offsetof(s, field), .range.real.low = (low_), .range.real.high = (high_) \
	}

#define FB_OPTION_CHOICE(s, field, short_, name_, default_, names_, help_)                         \
	{                                                                                          \
		.type = FB_OPT_CHOICE, .short_name = (short_), .name = (name_),                    \
		.placeholder = "NAME", .fallback = (default_), .help = (help_),                    \
		.offset = offsetof(s, field), .names = (names_)                                    \
	}

#define FB_OPTION_CHOICES(s, field, short_, name_, default_, names_, help_)                        \
	{                                                                                          \
		.type = FB_OPT_CHOICES, .short_name = (short_), .name = (name_),                   \
		.placeholder = "LIST", .fallback = (default_), .help = (help_),                    \
		.offset = offsetof(s, field), .names = (names_)                                    \
	}

/* The same with "auto" for 0, whatever the range. */
#define FB_OPTION_U64_AUTO(s, field, short_, name_, placeholder_, default_, low_, high_, help_)    \
	{                                                                                          \
		.type = FB_OPT_U64, .short_name = (short_), .name = (name_),                       \
		.placeholder = (placeholder_), .fallback = (default_), .help = (help_),            \
		.offset = offsetof(s, field), .range.u64.low = (low_), .range.u64.high = (high_),  \
		.names = fb_option_auto                                                            \
	}

/* "auto", NULL. */
extern const char *const fb_option_auto[];

/* check_ may be NULL; the empty string is never accepted. */
#define FB_OPTION_STRING(s, field, short_, name_, placeholder_, default_, check_, help_)           \
	{                                                                                          \
		.type = FB_OPT_STRING, .short_name = (short_), .name = (name_),                    \
		.placeholder = (placeholder_), .fallback = (default_), .help = (help_),            \
		.offset = offsetof(s, field), .range.u64 = {1, 4095}, .check = (check_)            \
	}

/* Every size of the sweep lies between 0 and 1T; write the entry by hand for another range. */
#define FB_OPTION_SIZES(s, field, short_, name_, default_, help_)                                  \
	{                                                                                          \
		.type = FB_OPT_SIZES, .short_name = (short_), .name = (name_),                     \
		.placeholder = "SIZES", .fallback = (default_), .help = (help_),                   \
		.offset = offsetof(s, field), .range.u64.low = (0),                                \
		.range.u64.high = (UINT64_C(1) << 40)                                              \
	}

#endif
