/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading tuning tables; see tuning.h. */
#include "collectives/tuning/tuning.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/sizes.h"

enum { MOST_WORDS = 32 };

const char *const fb_machine_names[FB_MACHINES + 1] = {
	[FB_MACHINE_GPU] = "gpu", [FB_MACHINE_CPU] = "cpu", [FB_MACHINES] = NULL};

static const char blanks[] = " \t\r";

/* What is being read. */
struct reader {
	struct fb_tunings *made;
	const char *file;
	FILE *errors;
	int line;
};

static int refuse(const struct reader *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int refuse(const struct reader *r, const char *fmt, ...)
{
	va_list args;

	if (!r->errors)
		return FB_EINPUT;
	va_start(args, fmt);
	fprintf(r->errors, "fabricbench: %s:%d: ", r->file, r->line);
	vfprintf(r->errors, fmt, args);
	fputc('\n', r->errors);
	va_end(args);
	return FB_EINPUT;
}

/* An item more behind `count` of `size` bytes; NULL where memory is out. */
static void *grow(void *list, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room ? 2 * *room : 16;
	void *larger;

	if (count < *room)
		return list;
	larger = realloc(list, wanted * size);
	if (larger)
		*room = wanted;
	return larger;
}

/* "table NAME gpu MODEL": the model is the rest of the line. */
static int read_table(struct reader *r, char *rest)
{
	struct fb_tunings *made = r->made;
	char *at = rest, *name = strtok_r(rest, blanks, &at), *kind = strtok_r(NULL, blanks, &at);
	char *model = at ? at + strspn(at, blanks) : NULL;
	struct fb_tuning *list;
	int i = 0;

	for (size_t n = model ? strlen(model) : 0; n && strchr(blanks, model[n - 1]); n--)
		model[n - 1] = '\0';
	while (kind && fb_machine_names[i] && strcmp(kind, fb_machine_names[i]))
		i++;
	if (!kind || !fb_machine_names[i] || !model || !*model)
		return refuse(r, "expected: table NAME gpu|cpu MODEL");
	list = grow(made->table, made->count, &made->tables_room, sizeof(*list));
	if (!list)
		return fb_error(FB_ENOMEM, "out of memory for a tuning table");
	made->table = list;
	made->table[made->count++] = (struct fb_tuning){
		.name = name, .kind = (enum fb_machine)i, .model = model};
	return FB_OK;
}

static int read_like(struct reader *r, char *rest)
{
	struct fb_tunings *made = r->made;
	char *at = rest, *name = strtok_r(rest, blanks, &at), *more = strtok_r(NULL, blanks, &at);
	struct fb_tuning *table = made->count ? &made->table[made->count - 1] : NULL;

	if (!name || more)
		return refuse(r, "expected: like NAME");
	if (!table || table->like_name)
		return refuse(r, "like %s: expected once, behind a line table", name);
	table->like_name = name;
	table->like_line = r->line;
	return FB_OK;
}

/* A number of a rule, or the word "any" where that is allowed. */
static int read_number(const struct reader *r, const char *what, const char *word, bool any,
		       uint64_t low, uint64_t high, uint64_t *value)
{
	if (any && !strcmp(word, "any")) {
		*value = UINT64_MAX;
		return FB_OK;
	}
	if (fb_size_parse(word, value) || *value < low || *value > high)
		return refuse(r, "%s '%s': expected %sa number from %llu to %llu", what, word,
			      any ? "any, or " : "", (unsigned long long)low,
			      (unsigned long long)high);
	return FB_OK;
}

static int read_in_place(const struct reader *r, const char *word, int *value)
{
	static const struct {
		const char *name;
		int value;
	} names[] = {{"no", 0}, {"yes", 1}, {"any", FB_TUNING_ANY}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(word, names[i].name)) {
			*value = names[i].value;
			return FB_OK;
		}
	return refuse(r, "in place '%s': expected yes, no or any", word);
}

enum word {
	ENGINE, OPERATION, RANKS, NODES, TRANSPORT, IN_PLACE, ELEMENT, FROM, TO, ASKED_ALGORITHM,
	ASKED_PROTOCOL, ALGORITHM, PROTOCOL, CHANNELS, THREADS, SLOT_BYTES, WORDS,
};

/* The words that are numbers. */
static int read_numbers(const struct reader *r, char *const *word, struct fb_tuning_rule *rule)
{
	static const struct {
		enum word word;
		const char *what;
		uint64_t low, high;
		bool any;
	} numbers[] = {
		{RANKS, "ranks", 1, INT_MAX, false}, {NODES, "nodes", 1, INT_MAX, false},
		{ELEMENT, "element", 1, 64, true}, {FROM, "from", 0, UINT64_MAX, false},
		{TO, "to", 0, UINT64_MAX, false}, {CHANNELS, "channels", 0, 4096, false},
		{THREADS, "threads", 0, 4096, false},
		{SLOT_BYTES, "slot bytes", 0, UINT64_C(1) << 30, false},
	};
	uint64_t value[WORDS] = {0};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		int err = read_number(r, numbers[i].what, word[numbers[i].word], numbers[i].any,
				      numbers[i].low, numbers[i].high, &value[numbers[i].word]);

		if (err)
			return err;
	}
	if (value[FROM] > value[TO])
		return refuse(r, "from '%s' is more than to '%s'", word[FROM], word[TO]);
	if (value[THREADS] % 32)
		return refuse(r, "threads '%s': expected a multiple of 32", word[THREADS]);
	rule->key.ranks = (int)value[RANKS];
	rule->key.nodes = (int)value[NODES];
	rule->key.element = value[ELEMENT] == UINT64_MAX ? FB_TUNING_ANY : (int)value[ELEMENT];
	rule->from = value[FROM];
	rule->to = value[TO];
	rule->tuned = (struct fb_tuned){.channels = (uint32_t)value[CHANNELS],
					.threads = (uint32_t)value[THREADS],
					.slot_bytes = value[SLOT_BYTES]};
	return FB_OK;
}

/* "channels=8", "unaligned" and the like: what is asked for beside the words of all rules. */
static int read_condition(const struct reader *r, char *word, struct fb_tuning_key *key)
{
	static const char channels[] = "channels=", objective[] = "objective=";
	uint64_t value = 0;
	int err = FB_OK;

	if (!strncmp(word, channels, strlen(channels))) {
		err = read_number(r, "channels=", word + strlen(channels), false, 1, 4096, &value);
		key->channels = (uint32_t)value;
	} else if (!strncmp(word, objective, strlen(objective)) &&
		   !strcmp(word + strlen(objective), fb_auto_objectives[FB_OVERLAPPED])) {
		key->objective = FB_OVERLAPPED;
	} else if (!strcmp(word, "unaligned")) {
		key->unaligned = true;
	} else {
		err = refuse(r, "'%s': expected channels=N, objective=overlapped or unaligned",
			     word);
	}
	return err;
}

static int read_rule(struct reader *r, char *rest)
{
	struct fb_tunings *made = r->made;
	char *word[MOST_WORDS] = {NULL}, *at = rest;
	struct fb_tuning_rule rule = {.line = r->line}, *list;
	size_t n = 0;
	int err;

	for (char *w = strtok_r(rest, blanks, &at); w && n < MOST_WORDS;
	     w = strtok_r(NULL, blanks, &at))
		word[n++] = w;
	if (n < WORDS)
		return refuse(r, "%zu words behind rule: expected %d", n, WORDS);
	if (!made->count)
		return refuse(r, "a rule before any line table");
	rule.table = made->table[made->count - 1].name;
	rule.key.engine = word[ENGINE];
	rule.key.operation = word[OPERATION];
	rule.key.transport = word[TRANSPORT];
	rule.key.algorithm = word[ASKED_ALGORITHM];
	rule.key.protocol = word[ASKED_PROTOCOL];
	rule.algorithm = word[ALGORITHM];
	rule.protocol = word[PROTOCOL];
	err = read_in_place(r, word[IN_PLACE], &rule.key.in_place);
	if (!err)
		err = read_numbers(r, word, &rule);
	for (size_t i = WORDS; i < n && !err; i++)
		err = read_condition(r, word[i], &rule.key);
	if (err)
		return err;
	if (!strcmp(rule.algorithm, "auto") || !strcmp(rule.protocol, "auto"))
		return refuse(r, "the answer is auto again: expected names");
	list = grow(made->rule, made->nrules, &made->room, sizeof(*list));
	if (!list)
		return fb_error(FB_ENOMEM, "out of memory for tuning rules");
	made->rule = list;
	made->rule[made->nrules++] = rule;
	made->table[made->count - 1].nrules++;
	return FB_OK;
}

static int read_line(struct reader *r, char *line)
{
	char *at = line, *word;

	line[strcspn(line, "#")] = '\0';
	word = strtok_r(line, blanks, &at);
	if (!word)
		return FB_OK;
	if (!strcmp(word, "table"))
		return read_table(r, at);
	if (!strcmp(word, "like"))
		return read_like(r, at);
	if (!strcmp(word, "rule"))
		return read_rule(r, at);
	return refuse(r, "'%s': expected table, like or rule", word);
}

/* Tables are like such as stand for themselves, or the two are like each other. */
static int find_likes(struct reader *r)
{
	const struct fb_tunings *made = r->made;

	for (size_t i = 0; i < made->count; i++) {
		struct fb_tuning *table = &made->table[i];

		for (size_t k = 0; table->like_name && k < made->count; k++)
			if (made->table[k].kind == table->kind &&
			    !strcmp(made->table[k].name, table->like_name))
				table->like = &made->table[k];
		r->line = table->like_line;
		if (table->like && table->like->like_name &&
		    (table->like == table || strcmp(table->like->like_name, table->name)))
			return refuse(r, "table %s is like %s, which is like %s itself",
				      table->name, table->like_name, table->like->like_name);
	}
	return FB_OK;
}

int fb_tunings_parse(struct fb_tunings *tunings, const char *text, const char *file, FILE *errors)
{
	struct fb_tunings made = {.text = strdup(text)};
	struct reader r = {.made = &made, .file = file, .errors = errors};
	size_t rules = 0;
	int err = FB_OK;

	if (!made.text)
		return fb_error(FB_ENOMEM, "out of memory for a tuning table");
	for (char *line = made.text, *next; line && !err; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		r.line++;
		err = read_line(&r, line);
	}
	if (!err)
		err = find_likes(&r);
	if (err) {
		fb_tunings_free(&made);
		return err;
	}
	/* Only now: the list moved while it grew. */
	for (size_t i = 0; i < made.count && made.rule; i++) {
		made.table[i].rule = made.rule + rules;
		rules += made.table[i].nrules;
	}
	*tunings = made;
	return FB_OK;
}

void fb_tunings_free(struct fb_tunings *tunings)
{
	free(tunings->table);
	free(tunings->rule);
	free(tunings->text);
	*tunings = (struct fb_tunings){.count = 0};
}

const struct fb_tuning *fb_tunings_for(const struct fb_tunings *tunings, enum fb_machine kind,
				       const char *model)
{
	for (size_t i = 0; i < tunings->count; i++)
		if (tunings->table[i].kind == kind &&
		    (!model || !strcmp(tunings->table[i].model, model)))
			return &tunings->table[i];
	return NULL;
}
