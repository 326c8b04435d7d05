/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walks a command line over option tables; see option.h for the rules.
 *
 * getopt_long is not used: it accepts abbreviations, which turn into other options when a table
 * grows, it prints its own messages on every rank, and it knows neither ranges nor defaults.
 */
#include "common/option/option.h"

#include "common/base/error.h"
#include "common/base/near.h"
#include "common/option/users.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPTIONS_MAX = 256,
	LINE_CHARS = 2048,
	PHRASE_CHARS = 1024,
	SHOWN_CHARS = 80, /* most of a bad value that a message repeats */
};

/* One option of a chain, with its place in it. */
struct entry {
	const struct fb_option *option;
	void *values;
	const char *given; /* value on the command line, NULL so far */
};

struct parser {
	struct entry entries[OPTIONS_MAX];
	size_t count;
	FILE *errors;
};

/* One line whatever a value contains; always FB_EINPUT. */
__attribute__((format(printf, 2, 3))) static int complain(FILE *errors, const char *fmt, ...)
{
	char line[LINE_CHARS];
	va_list args;

	if (!errors)
		return FB_EINPUT;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	fprintf(errors, "fabricbench: %s\n", line);
	return FB_EINPUT;
}

static int complain_value(FILE *errors, const char *name, const char *value, const char *why,
			  const char *accepted)
{
	bool whole = strlen(value) <= SHOWN_CHARS;

	return complain(errors, "option --%s: '%.*s%s' is not accepted%s%s: expected %s", name,
			SHOWN_CHARS, value, whole ? "" : "...", *why ? ", as " : "", why, accepted);
}

int fb_option_reject(FILE *errors, const char *name, const char *value, const char *accepted)
{
	if (!value)
		return complain(errors, "option --%s: expected %s", name, accepted);
	return complain_value(errors, name, value, "", accepted);
}

static bool is_option(const struct fb_option *option)
{
	return option->type != FB_OPT_GROUP && option->type != FB_OPT_END;
}

static int add_entry(struct parser *p, const struct fb_option *option, void *values)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct fb_option *other = p->entries[i].option;

		if (!strcmp(other->name, option->name))
			return complain(p->errors, "option table: --%s is there twice",
					option->name);
		if (option->short_name && other->short_name == option->short_name)
			return complain(p->errors, "option table: -%c is --%s and --%s",
					option->short_name, other->name, option->name);
	}
	if (p->count == OPTIONS_MAX)
		return complain(p->errors, "option table: more than %d options", OPTIONS_MAX);
	p->entries[p->count++] = (struct entry){option, values, NULL};
	return FB_OK;
}

static int set_default(const struct fb_option *option, void *values, FILE *errors)
{
	char why[PHRASE_CHARS], accepted[PHRASE_CHARS];

	fb_option_clear(option, values);
	if (!option->fallback || !fb_option_set(option, option->fallback, values, why, sizeof(why)))
		return FB_OK;
	fb_option_accepted(option, accepted, sizeof(accepted));
	return complain(errors, "option table: default '%s' of --%s: expected %s", option->fallback,
			option->name, accepted);
}

/* Flattens the chain and sets the defaults. */
static int set_up(struct parser *p, const struct fb_option_chain *chain)
{
	for (; chain; chain = chain->next)
		for (const struct fb_option *o = chain->table; o->type != FB_OPT_END; o++) {
			int ret;

			if (!is_option(o))
				continue;
			ret = add_entry(p, o, chain->values);
			if (!ret)
				ret = set_default(o, chain->values, p->errors);
			if (ret)
				return ret;
		}
	return FB_OK;
}

static struct entry *find_long(struct parser *p, const char *name, size_t length)
{
	for (size_t i = 0; i < p->count; i++) {
		const char *own = p->entries[i].option->name;

		if (strlen(own) == length && !memcmp(own, name, length))
			return &p->entries[i];
	}
	return NULL;
}

static struct entry *find_short(struct parser *p, char name)
{
	for (size_t i = 0; name && i < p->count; i++)
		if (p->entries[i].option->short_name == name)
			return &p->entries[i];
	return NULL;
}

static int complain_unknown(struct parser *p, const char *name, size_t length)
{
	const char *names[OPTIONS_MAX], *nearest;

	for (size_t i = 0; i < p->count; i++)
		names[i] = p->entries[i].option->name;
	nearest = fb_near_name(name, length, names, p->count);
	if (nearest)
		return complain(p->errors,
				"unknown option --%.*s: did you mean --%s? (--help lists "
				"what is accepted)",
				(int)length, name, nearest);
	return complain(p->errors, "unknown option --%.*s%s: --help lists what is accepted",
			length > SHOWN_CHARS ? SHOWN_CHARS : (int)length, name,
			length > SHOWN_CHARS ? "..." : "");
}

static int give(struct parser *p, struct entry *entry, const char *value)
{
	const struct fb_option *option = entry->option;
	char why[PHRASE_CHARS], accepted[PHRASE_CHARS];

	if (option->unused_by)
		return complain(p->errors,
				"option --%s: '%.*s' is not accepted: %s does not use it; programs "
				"that do: %s",
				option->name, SHOWN_CHARS, value, option->unused_by,
				fb_option_users(option->name, accepted, sizeof(accepted)));
	if (fb_option_set(option, value, entry->values, why, sizeof(why))) {
		/* A check may say what is wrong with this value. */
		if (!option->check || !option->check(value, accepted, sizeof(accepted)))
			fb_option_accepted(option, accepted, sizeof(accepted));
		return complain_value(p->errors, option->name, value, why, accepted);
	}
	if (entry->given && strcmp(entry->given, value))
		return complain(p->errors,
				"option --%s: given twice, as '%.*s' and as '%.*s': "
				"expected once",
				option->name, SHOWN_CHARS, entry->given, SHOWN_CHARS, value);
	entry->given = value;
	return FB_OK;
}

/*
 * Gives the entry its value: `attached` where one was joined to the name, else the next
 * argument, which *i then steps over. A next argument that begins with "--" is an option, not a
 * value: "--csv --raw" is a forgotten folder.
 */
static int give_next(struct parser *p, struct entry *entry, const char *attached, int argc,
		     char *const argv[], int *i)
{
	const struct fb_option *option = entry->option;
	char accepted[PHRASE_CHARS];

	if (attached)
		return give(p, entry, attached);
	if (option->type == FB_OPT_FLAG)
		return give(p, entry, "yes");
	if (*i + 1 >= argc || !strncmp(argv[*i + 1], "--", 2)) {
		fb_option_accepted(option, accepted, sizeof(accepted));
		return complain(p->errors, "option --%s: no value given: expected %s", option->name,
				accepted);
	}
	return give(p, entry, argv[++*i]);
}

static int parse_long(struct parser *p, int argc, char *const argv[], int *i)
{
	const char *name = argv[*i] + 2, *equals = strchr(name, '=');
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	struct entry *entry = find_long(p, name, length);

	if (!entry)
		return complain_unknown(p, name, length);
	return give_next(p, entry, equals ? equals + 1 : NULL, argc, argv, i);
}

static int parse_short(struct parser *p, int argc, char *const argv[], int *i)
{
	const char *argument = argv[*i];
	struct entry *entry = find_short(p, argument[1]);

	if (!entry)
		return complain(p->errors,
				"unknown option %.*s: --help lists what is accepted; docs/start.md "
				"says what options of nccl-tests, OSU and perftest are called here",
				SHOWN_CHARS, argument);
	return give_next(p, entry, argument[2] ? argument + 2 : NULL, argc, argv, i);
}

static int complain_argument(struct parser *p, const char *argument)
{
	return complain(p->errors,
			"argument '%.*s' is not accepted: expected options only, as --help lists "
			"them; docs/start.md says what options of other benchmarks are called here",
			SHOWN_CHARS, argument);
}

int fb_option_parse(const struct fb_option_chain *chain, int argc, char *const argv[], FILE *errors)
{
	struct parser p = {.errors = errors};
	int ret = set_up(&p, chain);

	for (int i = 1; !ret && i < argc; i++) {
		if (!strcmp(argv[i], "--"))
			return i + 1 < argc ? complain_argument(&p, argv[i + 1]) : FB_OK;
		if (argv[i][0] == '-' && argv[i][1] == '-')
			ret = parse_long(&p, argc, argv, &i);
		else if (argv[i][0] == '-' && argv[i][1])
			ret = parse_short(&p, argc, argv, &i);
		else
			ret = complain_argument(&p, argv[i]);
	}
	return ret;
}

struct fb_option *fb_option_copy(const struct fb_option *table)
{
	size_t count = 1;
	struct fb_option *copy;

	while (table[count - 1].type != FB_OPT_END)
		count++;
	copy = malloc(count * sizeof(*copy));
	if (copy)
		memcpy(copy, table, count * sizeof(*copy));
	else
		fb_error(FB_ENOMEM, "out of memory for an option table");
	return copy;
}

bool fb_option_group_used(const struct fb_option *heading)
{
	for (const struct fb_option *o = heading + 1; is_option(o); o++)
		if (!o->unused_by)
			return true;
	return false;
}

void fb_option_list(const struct fb_option_chain *chain, fb_option_emit_fn emit, void *arg)
{
	char text[LINE_CHARS * 2];

	for (; chain; chain = chain->next)
		for (const struct fb_option *o = chain->table; o->type != FB_OPT_END; o++)
			if (is_option(o) && !o->unused_by)
				emit(arg, o->name,
				     fb_option_text(o, chain->values, text, sizeof(text)));
}

int fb_option_next_item(const char **cursor, char *item, size_t n)
{
	const char *start = *cursor;
	size_t length;

	if (!start)
		return 0;
	length = strcspn(start, ",");
	if (length == 0 || length >= n)
		return FB_EINPUT;
	memcpy(item, start, length);
	item[length] = '\0';
	*cursor = start[length] ? start + length + 1 : NULL;
	return 1;
}

bool fb_option_names(const char *list, const char *item)
{
	char next[64];

	if (!strcmp(list, "all"))
		return true;
	while (fb_option_next_item(&list, next, sizeof(next)) > 0)
		if (!strcmp(next, item))
			return true;
	return false;
}

void fb_option_join(const char *first, const char *const *names, char *buf, size_t n)
{
	size_t used = (size_t)snprintf(buf, n, "%s", first);

	for (size_t i = 0; names[i] && used < n; i++)
		used += (size_t)snprintf(buf + used, n - used, "%s%s", i ? ", " : "", names[i]);
}
