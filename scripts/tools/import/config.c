/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines and variables in a log; see config.h. */
#include "scripts/tools/import/config.h"
#include "scripts/tools/lib/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const char *const libraries[] = {
	"NCCL_", "UCX_", "FI_", "OMPI_MCA_", "MPICH_", "MPIR_CVAR_", "NVSHMEM_",
};

/* They say where a library lies or what it prints. */
static const char *const quiet[] = {
	"NCCL_DEBUG",	    "NCCL_HOME", "NCCL_ROOT", "NCCL_VERSION",	    "NCCL_LIB",
	"NCCL_INC",	    "NCCL_PATH", "NCCL_DIR",  "NCCL_COMM_ID",	    "NCCL_TOPO_DUMP",
	"NCCL_GRAPH_DUMP",  "UCX_LOG",	 "UCX_HOME",  "UCX_ROOT",	    "UCX_DIR",
	"FI_LOG",	    "OMPI_MCA_plm", "OMPI_MCA_orte", "NVSHMEM_HOME", "NVSHMEM_DEBUG",
};

static const char *const launchers[] = {
	"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "srun", "aprun", "jsrun",
};

static const char *const benchmarks[] = {"osu_", "IMB-", "ib_", "nvbandwidth"};

/* Lines after which the run of the last command gives no results. */
static const char *const failures[] = {
	"MPI_ABORT was invoked", "srun: error:", "Test NCCL failure", "Test CUDA failure",
	"Primary job  terminated", "BAD TERMINATION",
};

static bool begins(const char *text, const char *const list[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(text, list[i], strlen(list[i])))
			return true;
	return false;
}

bool fb_config_variable(const char *name)
{
	return begins(name, libraries, COUNT(libraries)) && !begins(name, quiet, COUNT(quiet)) &&
	       fb_environment_listed(name) && !fb_environment_secret(name, "");
}

/* Forgets the command and its variables, as after a run that failed. */
static void forget(struct fb_config *config)
{
	fb_facts_free(&config->command);
	config->words = NULL;
	config->processes = 0;
	config->launched = config->used = false;
}

void fb_config_free(struct fb_config *config)
{
	forget(config);
	fb_facts_free(&config->script);
}

/* The line's words, each ended by NUL. Quotes are taken off; blanks within `NAME="a b"` stay. */
static char *split(const char *line)
{
	char *words = fb_new(strlen(line) + 2, 1), *to = words;
	char quote = '\0';

	for (char before = ' '; *line; before = *line++) {
		if (quote && *line == quote)
			quote = '\0';
		else if (!quote && (*line == '"' || *line == '\'') && before == '=')
			quote = *line;
		else if (!quote && strchr(" \t\"'`;", *line))
			to += to > words && to[-1] ? 1 : 0;
		else
			*to++ = *line;
	}
	return words;
}

static const char *next_word(const char *word)
{
	return word + strlen(word) + 1;
}

static const char *base_of(const char *word)
{
	const char *slash = strrchr(word, '/');

	return slash ? slash + 1 : word;
}

static bool is_one(const char *word, const char *const list[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(base_of(word), list[i]))
			return true;
	return false;
}

static bool is_benchmark(const char *word)
{
	const char *base = base_of(word);
	size_t n = strlen(base);

	return (n > 5 && !strcmp(base + n - 5, "_perf")) ||
	       begins(base, benchmarks, COUNT(benchmarks));
}

/* Where a variable's name ends with '=' in this text; NULL: it is no assignment. */
static const char *assignment(const char *text)
{
	size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				"0123456789_");

	return n && text[n] == '=' && !isdigit((unsigned char)*text) ? text + n : NULL;
}

static void add(struct fb_facts *facts, const char *name, size_t n, const char *value,
		size_t length)
{
	char key[64];

	if (n >= sizeof(key))
		return;
	snprintf(key, sizeof(key), "%.*s", (int)n, name);
	if (!fb_config_variable(key) || fb_environment_secret(key, value))
		return;
	fb_facts_add(facts, key, "%.*s", (int)length, value);
}

void fb_config_export(struct fb_config *config, const char *variable)
{
	const char *equals = assignment(variable);

	if (equals)
		add(&config->script, variable, (size_t)(equals - variable), equals + 1,
		    strlen(equals + 1));
}

/*
 * Assignments in a word: NAME=VALUE, and several in "--export=ALL,NAME=VALUE,NAME=VALUE", where a
 * value may hold commas of its own. Returns whether the word begins with one.
 */
static bool take_assignments(struct fb_facts *facts, const char *word)
{
	const char *at = !strncmp(word, "--export=", 9) ? word + 9 : word, *equals;
	bool first = assignment(word) != NULL;

	while (*at) {
		const char *end = at;

		equals = assignment(at);
		do
			end += strcspn(end + 1, ",") + 1;
		while (*end && equals && !assignment(end + 1));
		if (equals)
			add(facts, at, (size_t)(equals - at), equals + 1,
			    (size_t)(end - equals - 1));
		at = *end ? end + 1 : end;
	}
	return first;
}

/*
 * "+ export A=1 B=2", "declare -x A=1", and lines that hold assignments and nothing else, as env
 * prints them. bash -x shows "+ A=1" for a variable of the command in the next line alone.
 */
static bool is_script(const char *words)
{
	const char *first = words + (*words == '+' ? strlen(words) + 1 : 0);

	if (!strcmp(first, "export") || !strcmp(first, "declare"))
		return true;
	if (!*first || first != words)
		return false;
	for (; *words; words = next_word(words))
		if (!assignment(words))
			return false;
	return true;
}

static void take_unset(struct fb_config *config, const char *words)
{
	struct fb_facts kept = {0};

	for (size_t i = 0; i < config->script.count; i++) {
		const struct fb_fact *fact = &config->script.item[i];
		bool unset = false;

		for (const char *word = words; *word; word = next_word(word))
			unset |= !strcmp(word, fact->key);
		if (!unset)
			fb_facts_add(&kept, fact->key, "%s", fact->value);
	}
	fb_facts_free(&config->script);
	config->script = kept;
}

/* A launcher's option that has the next word as its value. */
static void take_launcher_option(struct fb_config *config, const char *word, const char *value)
{
	static const char *const counts[] = {"-n", "-np", "--np", "--ntasks", "-c"};
	char key[64];

	if (!strncmp(word, "--ntasks=", 9))
		config->processes = strtoull(word + 9, NULL, 10);
	else if (is_one(word, counts, COUNT(counts)) && strcmp(word, "-c") != 0)
		config->processes = strtoull(value, NULL, 10);
	else if ((!strcmp(word, "-genv") || !strcmp(word, "-env")) && !assignment(value))
		add(&config->command, value, strlen(value), next_word(value),
		    strlen(next_word(value)));
	else if ((!strcmp(word, "--mca") || !strcmp(word, "-mca")) && *value) {
		snprintf(key, sizeof(key), "OMPI_MCA_%.50s", value);
		add(&config->command, key, strlen(key), next_word(value),
		    strlen(next_word(value)));
	}
}

/* The words of a command line, which are kept for fb_config_option. */
static void take_command(struct fb_config *config, char *words, const char *program)
{
	bool launcher = false;

	for (const char *word = words; *word && word != program; word = next_word(word)) {
		if (launcher)
			take_launcher_option(config, word, next_word(word));
		launcher |= is_one(word, launchers, COUNT(launchers));
	}
	config->launched |= launcher;
	config->words = words;
	config->program = (size_t)(program - words);
}

static void take_words(struct fb_config *config, char *words)
{
	const char *program = NULL, *first = words + (*words == '+' || *words == '$' ? 2 : 0);
	bool options = false, launcher = false, script = is_script(words), found = false;
	struct fb_facts *facts = script ? &config->script : &config->command;

	if (!strcmp(first, "unset"))
		take_unset(config, next_word(first));
	for (const char *word = words; *word; word = next_word(word)) {
		if (!program && is_benchmark(word))
			program = word;
		options |= *word == '-';
		launcher |= is_one(word, launchers, COUNT(launchers));
		found |= assignment(word) && fb_config_variable(word);
	}
	/* A program's name alone may stand in any sentence. */
	if (program && !options && !launcher && !found && program != first)
		program = NULL;
	if (config->used && ((found && !script) || program))
		forget(config);
	for (const char *word = words; *word; word = next_word(word))
		take_assignments(facts, word);
	if (program)
		take_command(config, words, program);
}

void fb_config_take(struct fb_config *config, const char *line)
{
	for (size_t i = 0; i < COUNT(failures); i++)
		if (strstr(line, failures[i]))
			forget(config);
	if (strstr(line, " NCCL ") || !strncmp(line, "# Collective test", 17))
		return;
	take_words(config, split(line));
}

const char *fb_config_option(const struct fb_config *config, char letter, const char *name)
{
	const char *found = NULL, *word = config->words ? config->words + config->program : "";

	for (; *word; word = next_word(word)) {
		size_t n = strcspn(word, "=");

		if (word[0] != '-' || !word[1])
			continue;
		if (word[1] == letter)
			found = word[2] ? word + 2 : next_word(word);
		else if (word[1] == '-' && n > 4 && !strncmp(word + 2, name, n - 2))
			found = word[n] ? word + n + 1 : next_word(word);
	}
	return found && *found ? found : NULL;
}
