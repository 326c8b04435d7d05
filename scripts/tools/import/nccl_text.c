/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads what nccl-tests prints. Columns are found by the names in the header line, because they
 * differ: redop and root are missing in old versions, -I adds four to each half, -S a time.
 */
#include "common/base/error.h"
#include "common/option/option.h"
#include "scripts/tools/import/nccl.h"
#include "scripts/tools/lib/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HOSTS_MAX = 4096 };

enum stage { BETWEEN, STARTED, IN_TABLE };

struct state {
	struct fb_import *import;
	const struct fb_text *text;
	struct fb_nccl_run run;
	struct fb_words header; /* of the table; word[0] is "#" */
	enum stage stage;
	struct fb_facts seen; /* variables that NCCL says it has found, in this run */
	uint64_t ranks, groups;	   /* greatest of the device lines, and one */
	uint64_t hosts[HOSTS_MAX]; /* hashes of their names */
	size_t nhosts;
	double loop, aggregated;
};

bool fb_nccl_text_detect(const struct fb_text *text)
{
	bool found = fb_text_holds(text, "out-of-place") && fb_text_holds(text, "# nThread ");

	for (size_t i = 0; i < text->count && !found; i++) {
		struct fb_words words;

		fb_words_split(&words, text->line[i]);
		found = fb_nccl_header(&words, NULL, 0);
	}
	return found;
}

static struct fb_import_section *section_of(const struct state *s)
{
	return &s->import->section[s->import->nsections - 1];
}

/*
 * If mpirun starts programs that were built without MPI, each process is rank 0 of its own run and
 * prints everything. Their rows must not be taken for repetitions of one run.
 */
static int refuse_mixed(const struct state *s, size_t at)
{
	return fb_text_fail(s->text, at,
		    "lines of several runs are mixed (was nccl-tests built without MPI?): "
		    "expected one run after the other, or a file for each process");
}

/* "#  Rank  0 Group  0 Pid 1234 on  node1 device  0 [0000:04:00] NVIDIA H100" */
static int take_device(struct state *s, size_t at)
{
	const char *line = s->text->line[at];
	const char *host = fb_text_find(line, " on ");
	double rank = fb_text_number(line, " Rank", 0), group = fb_text_number(line, " Group", 0);
	const char *gpu = fb_text_find(line, "] ");
	uint64_t hash = 5381;
	size_t i = 0;

	if (!(rank > 0) && s->ranks)
		return refuse_mixed(s, at);
	if (rank >= 0 && rank < 1e9 && s->ranks < (uint64_t)rank + 1)
		s->ranks = (uint64_t)rank + 1;
	if (group >= 0 && group < 1e9 && s->groups < (uint64_t)group + 1)
		s->groups = (uint64_t)group + 1;
	if (gpu && !*s->run.gpu)
		fb_text_copy(gpu, "", s->run.gpu, sizeof(s->run.gpu));
	if (!host)
		return FB_OK;
	for (host += strspn(host, " "); *host && *host != ' '; host++)
		hash = hash * 33 + (unsigned char)*host;
	while (i < s->nhosts && s->hosts[i] != hash)
		i++;
	if (i == s->nhosts && i < HOSTS_MAX)
		s->hosts[s->nhosts++] = hash;
	return FB_OK;
}

/* "# nThread 1 nGpus 8 minBytes 8 maxBytes 128 step: 2(factor) ... iters: 20 agg iters: 1 ..." */
static void take_settings(struct state *s, const char *line)
{
	const char *iterations = fb_text_find(line, "warmup iters:");
	struct fb_nccl_run run = {.registered = -1};

	/* Lines before this one stay valid for the run: its name and the versions come first. */
	memcpy(run.program, s->run.program, sizeof(run.program));
	memcpy(run.version, s->run.version, sizeof(run.version));
	memcpy(run.library, s->run.library, sizeof(run.library));
	s->run = run;
	s->ranks = s->groups = 0;
	s->nhosts = 0;
	fb_facts_free(&s->seen);
	s->loop = iterations ? fb_text_number(iterations, " iters:", (double)NAN) : (double)NAN;
	s->aggregated = fb_text_number(line, "agg iters:", 1);
	s->run.aggregated = s->aggregated < 1e9 ? (uint64_t)s->aggregated : 1;
	s->run.graph = fb_text_number(line, "graph:", 0) > 0;
	s->run.unalign = (uint64_t)fmin(fb_text_number(line, "unalign:", 0), 1e9);
	s->run.threads = (uint64_t)fmin(fb_text_number(line, "# nThread", 0), 1e9);
	s->run.gpus = (uint64_t)fmin(fb_text_number(line, "nGpus", 0), 1e9);
	s->stage = STARTED;
}

static void take_blocking(struct state *s, const char *line)
{
	if (strstr(line, "no barrier"))
		s->run.blocking = 2;
	else if (strstr(line, "time excludes barrier"))
		s->run.blocking = 3;
	else
		s->run.blocking = 1;
}

/*
 * "NCCL INFO NCCL_ALGO set by environment to Ring". The command's value of a variable is preferred,
 * because NCCL may spell it differently. If ranks differ, no single value is right.
 */
static bool take_variable(struct state *s, const char *line)
{
	static const char words[] = " set by environment to ";
	const char *name = fb_text_find(line, "NCCL INFO "), *at = strstr(line, words);
	const char *said, *seen;
	char key[64], value[128];

	if (!name || !at || at < name)
		return false;
	fb_text_copy(name, " ", key, sizeof(key));
	fb_text_copy(at + strlen(words), " ", value, sizeof(value));
	if (*value && value[strlen(value) - 1] == '.')
		value[strlen(value) - 1] = '\0';
	if (!fb_config_variable(key) || s->stage == BETWEEN)
		return true;
	seen = fb_facts_get(&s->seen, key);
	said = s->stage == IN_TABLE ? fb_facts_get(&section_of(s)->tags, key) : NULL;
	if (seen && strcmp(seen, value) != 0)
		snprintf(value, sizeof(value), "several");
	if (s->stage == IN_TABLE && (!said || seen))
		fb_import_tag(s->import, key, value);
	if (!said || seen)
		fb_facts_add(&s->seen, key, "%s", value);
	return true;
}

/* Lines that say what is measured. Returns whether this is one. */
static bool take_comment(struct state *s, const char *line)
{
	const char *at;

	if (fb_text_after(line, "# nThread ")) {
		take_settings(s, line);
	} else if ((at = fb_text_after(line, "# Collective test starting:"))) {
		fb_text_copy(at, "", s->run.program, sizeof(s->run.program));
	} else if ((at = fb_text_after(line, "# nccl-tests version"))) {
		double library = fb_text_number(line, "nccl-library=", 0);

		fb_text_copy(at + strspn(at, " "), " ", s->run.version, sizeof(s->run.version));
		if (library > 0 && library < 1e9)
			fb_nccl_version((uint64_t)library, s->run.library, sizeof(s->run.library));
	} else if (fb_text_after(line, "# Blocking Enabled")) {
		take_blocking(s, line);
	} else if ((at = fb_text_find(line, "NCCL version ")) && !*s->run.library) {
		fb_text_copy(at, " +", s->run.library, sizeof(s->run.library));
	} else {
		return false;
	}
	return true;
}

/* Text before 2.17 does not name the program: the user, the command or the file's name may. */
static int find_program(struct state *s, size_t at)
{
	const char *said = s->import->hints.operation, *found = NULL, *name;

	if (*s->run.program)
		return FB_OK;
	if (said && !(found = fb_nccl_program(said)))
		return fb_option_reject(stderr, "operation", said,
					"one of nccl-tests' programs, as all_reduce_perf");
	for (size_t line = at; line-- > 0 && !found;)
		for (size_t i = 0; (name = fb_nccl_program_at(i)) && !found; i++)
			if (strstr(s->text->line[line], name))
				found = name;
	for (size_t i = 0; (name = fb_nccl_program_at(i)) && !found; i++)
		if (strstr(s->text->path, name))
			found = name;
	if (!found)
		return fb_text_fail(s->text, at,
			    "this version of nccl-tests does not say which of its programs "
			    "ran: give --operation NAME");
	snprintf(s->run.program, sizeof(s->run.program), "%s", found);
	return FB_OK;
}

/* Begins the table whose columns a header names. */
static int begin_table(struct state *s, size_t at, const char *header)
{
	const struct fb_facts *tags;
	int err = find_program(s, at);

	if (err)
		return err;
	fb_words_split(&s->header, header);
	s->run.groups = s->groups;
	s->run.ranks = s->groups > 1 ? s->ranks / s->groups : s->ranks;
	s->run.nodes = s->nhosts < s->run.ranks ? s->nhosts : s->run.ranks;
	s->run.iterations = s->loop * s->aggregated;
	s->stage = IN_TABLE;
	err = fb_nccl_begin(s->import, s->text, at + 1, &s->run);
	if (err)
		return err;
	tags = &section_of(s)->tags;
	for (size_t i = 0; i < s->seen.count; i++)
		if (!fb_facts_get(tags, s->seen.item[i].key))
			fb_import_tag(s->import, s->seen.item[i].key, s->seen.item[i].value);
	return FB_OK;
}

/* Begins a table that lacks its header. */
static int begin_unmarked(struct state *s, size_t at, const char *header)
{
	int err;

	if (s->stage == BETWEEN) {
		s->loop = (double)NAN;
		s->run.gpus = s->run.threads = s->run.blocking = s->run.unalign = 0;
		s->ranks = s->groups = 0;
		s->nhosts = 0;
	}
	err = begin_table(s, at, header);
	if (!err)
		section_of(s)->unmarked = true;
	return err;
}

/* The n-th column of that name (0: out of place, 1: in place): its word in the row, or NULL. */
static const char *cell_of(const struct state *s, const struct fb_words *row, const char *name,
			   size_t n)
{
	for (size_t i = 1; i < s->header.count && i <= row->count; i++)
		if (!strcmp(s->header.word[i], name) && n-- == 0)
			return row->word[i - 1];
	return NULL;
}

/* A number; N/A and a missing column are NAN. */
static bool number_of(const struct state *s, const struct fb_words *row, const char *name, size_t n,
		      double *value)
{
	const char *word = cell_of(s, row, name, n);

	*value = (double)NAN;
	return !word || !strcmp(word, "N/A") || fb_word_number(word, value);
}

static int take_half(struct state *s, size_t at, const struct fb_words *row, size_t half,
		     struct fb_nccl_cell cell)
{
	const char *time = cell_of(s, row, "time", half) ? "time" : "cputime";
	bool good = number_of(s, row, time, half, &cell.us) &&
		    number_of(s, row, "algbw", half, &cell.algbw_GBps) &&
		    number_of(s, row, "#wrong", half, &cell.wrong) &&
		    number_of(s, row, "i_min", half, &cell.min_us) &&
		    number_of(s, row, "i_max", half, &cell.max_us) &&
		    number_of(s, row, "i_p99", half, &cell.p99_us);

	cell.in_place = half == 1;
	if (!good)
		return fb_text_fail(s->text, at, "a time, rate or count of this row is no number");
	if (!isfinite(cell.us))
		return FB_OK;
	return fb_nccl_add_mean(s->import, at + 1, &s->run, &cell);
}

static int take_row(struct state *s, size_t at, const struct fb_words *row)
{
	struct fb_nccl_cell cell = {.redop = "", .root = -1};
	size_t columns = s->header.count - 1;
	const char *word;
	int err;

	if (columns && !strcmp(s->header.word[columns], "timestamp"))
		columns--;
	if (row->count < columns)
		return fb_text_fail(s->text, at, "the row is cut short");
	word = cell_of(s, row, "size", 0);
	if (!word || !fb_word_u64(word, &cell.bytes))
		return fb_text_fail(s->text, at, "the size of this row is no whole number");
	cell.type = cell_of(s, row, "type", 0);
	if (!cell.type)
		return fb_text_fail(s->text, at, "the table has no column 'type'");
	word = cell_of(s, row, "redop", 0);
	cell.redop = word ? word : "";
	word = cell_of(s, row, "root", 0);
	cell.root = word ? strtoll(word, NULL, 10) : -1;
	err = take_half(s, at, row, 0, cell);
	return err ? err : take_half(s, at, row, 1, cell);
}

static bool is_row(const struct fb_words *words)
{
	uint64_t bytes, count;

	return words->count > 0 && fb_word_u64(words->word[0], &bytes) &&
	       (words->count < 2 || fb_word_u64(words->word[1], &count));
}

static int take_words(struct state *s, size_t at, const struct fb_words *words)
{
	char header[256];
	int err = FB_OK;

	if (words->count > 4 && !strcmp(words->word[0], "#") && !strcmp(words->word[1], "size"))
		return s->stage == IN_TABLE ? refuse_mixed(s, at)
					    : begin_table(s, at, s->text->line[at]);
	if (s->stage != IN_TABLE && fb_nccl_header(words, header, sizeof(header)))
		err = begin_unmarked(s, at, header);
	if (err || s->stage != IN_TABLE || !is_row(words))
		return err;
	return fb_text_is_torn(s->text, at) ? FB_OK : take_row(s, at, words);
}

static int take_line(struct state *s, size_t at)
{
	const char *line = s->text->line[at];
	struct fb_words words;

	fb_config_take(&s->import->config, line);
	if (fb_text_after(line, "# Out of bounds") ||
	    (s->stage == IN_TABLE && section_of(s)->unmarked && !s->import->config.used)) {
		/* Another run in the same log prints its own header. */
		s->stage = BETWEEN;
		s->run.program[0] = s->run.version[0] = s->run.library[0] = '\0';
	}
	if (*line == '#' && strstr(line, " Rank ") && strstr(line, " device "))
		return take_device(s, at);
	if (take_variable(s, line) || take_comment(s, line))
		return FB_OK;
	fb_words_split(&words, line);
	return take_words(s, at, &words);
}

int fb_nccl_text_read(struct fb_import *import, const struct fb_text *text)
{
	struct state *s = fb_new(1, sizeof(*s));
	int err = FB_OK;

	s->import = import;
	s->text = text;
	s->run.registered = -1;
	s->loop = (double)NAN;
	for (size_t at = 0; at < text->count && !err; at++)
		err = take_line(s, at);
	fb_facts_free(&s->seen);
	return err;
}
