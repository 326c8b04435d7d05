/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What was asked of NCCL and what ran; see summary.h. What ran is what the column `path` says,
 * "NCCL 2.28.9 ncclAllReduce: ring ll128 via P2P/CUMEM", and the column `channels`.
 */
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/summary/summary.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_CHARS = 160 };

enum outcome { RAN_AS_ASKED, RAN_OTHERWISE, UNTOLD, NOT_RUN, OUTCOMES };

/* One value that was asked for, or one way in which something else ran (ran not ""). */
struct line {
	char asked[TEXT_CHARS], ran[TEXT_CHARS];
	size_t count[OUTCOMES];
	char example[TEXT_CHARS]; /* of a row that did not run: why */
};

struct table {
	struct line *line; /* [count] */
	size_t count;
};

/* What the path says, as words. */
struct ran {
	char algorithm[32], protocol[32], via[TEXT_CHARS], network[32];
	unsigned channels, cluster; /* 0: unknown */
	bool zero_ctas;
};

/* Copies what stands between two texts, where both are there. */
static void between(const char *text, const char *before, const char *ends, char *to, size_t n)
{
	const char *at = strstr(text, before);

	snprintf(to, n, "%s", "");
	if (at)
		snprintf(to, n, "%.*s", (int)strcspn(at + strlen(before), ends),
			 at + strlen(before));
}

static struct ran parse(const struct fb_result *row)
{
	const char *path = fb_result_text(row, "path"), *zero = "zero CTAs, ";
	const char *at = strstr(path, ": ");
	struct ran ran = {.channels = (unsigned)strtoul(fb_result_text(row, "channels"), NULL, 10)};
	size_t n;

	if (!at)
		return ran;
	at += 2;
	ran.zero_ctas = !strncmp(at, zero, strlen(zero));
	at += ran.zero_ctas ? strlen(zero) : 0;
	n = strcspn(at, " ,");
	if (n != strlen("untold") || strncmp(at, "untold", n))
		snprintf(ran.algorithm, sizeof(ran.algorithm), "%.*s", (int)n, at);
	at += n;
	if (*at == ' ' && strncmp(at, " via ", 5) && strncmp(at, " clusters ", 10))
		snprintf(ran.protocol, sizeof(ran.protocol), "%.*s",
			 (int)strcspn(at + 1, " ,"), at + 1);
	between(path, " clusters of ", " ,", ran.via, sizeof(ran.via));
	ran.cluster = (unsigned)strtoul(ran.via, NULL, 10);
	between(path, " via ", ";", ran.via, sizeof(ran.via));
	/* "P2P/CUMEM, NET/IB/mlx5_0, network IB, 2 warnings: ...": names of ways are upper case. */
	for (char *end = strchr(ran.via, ','); end; end = strchr(end + 1, ','))
		if (!isupper((unsigned char)end[strspn(end, ", ")]))
			*end = '\0';
	between(path, ", network ", ",;", ran.network, sizeof(ran.network));
	return ran;
}

static struct line *line_of(struct table *table, const char *asked, const char *ran)
{
	struct line *larger;

	for (size_t i = 0; i < table->count; i++)
		if (!strcmp(table->line[i].asked, asked) && !strcmp(table->line[i].ran, ran))
			return &table->line[i];
	larger = FB_ADD(table->line, table->count);
	snprintf(larger->asked, sizeof(larger->asked), "%s", asked);
	snprintf(larger->ran, sizeof(larger->ran), "%s", ran);
	return larger;
}

/* Notes one value that a row was asked for. `ran`: what ran instead, where it did. */
static void note(struct table *table, const struct fb_result *row, enum outcome outcome,
		 const char *asked, const char *ran)
{
	struct line *line = line_of(table, asked, "");

	line->count[outcome]++;
	if (outcome == NOT_RUN && !*line->example)
		snprintf(line->example, sizeof(line->example), "%s", fb_result_text(row, "reason"));
	if (outcome == RAN_OTHERWISE)
		line_of(table, asked, ran)->count[outcome]++;
}

/* Whether a word stands in a list, whatever its case: "ring" in "Ring,Tree". */
static bool listed(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (; *list; list += strcspn(list, ",")) {
		list += *list == ',';
		if (!strncasecmp(list, word, n) && (!list[n] || list[n] == ','))
			return true;
	}
	return false;
}

/*
 * What NCCL_ALGO or NCCL_PROTO say of an operation: "allreduce:ring,tree;allgather:ring", where a
 * part without a function is for all others. False: nothing.
 */
static bool part_for(const char *value, const char *operation, char list[TEXT_CHARS])
{
	static const char parting[] = "%3B"; /* as `variant` has ';' */
	char function[TEXT_CHARS] = "";
	bool found = false;

	for (size_t used = 0; *operation; operation++)
		if (*operation != '_' && used + 1 < sizeof(function))
			function[used++] = *operation;
	while (*value) {
		const char *end = strstr(value, parting), *colon = strchr(value, ':');
		size_t n = end ? (size_t)(end - value) : strlen(value), name = 0;
		bool own;

		if (colon && colon < value + n)
			name = (size_t)(colon - value);
		own = name == strlen(function) && !strncasecmp(value, function, name);
		if (own || (!name && !found))
			snprintf(list, TEXT_CHARS, "%.*s", (int)(n - name - (name > 0)),
				 value + name + (name > 0));
		if (own)
			return true;
		found |= !name;
		value += n + (end ? strlen(parting) : 0);
	}
	return found;
}

/* Whether a word is what such a part allows: "^" before a list leaves its words out. */
static bool allows(const char *list, const char *word)
{
	return *list == '^' ? !listed(list + 1, word) : listed(list, word);
}

static enum outcome as(bool known, bool right)
{
	return !known ? UNTOLD : right ? RAN_AS_ASKED : RAN_OTHERWISE;
}

/* Whether NCCL has a form of the operation for copy engines, which needs windows. */
static bool may_copy(const struct fb_result *row)
{
	return !strncmp(fb_result_text(row, "registration"), "window", 6) &&
	       listed("all_gather,all_to_all,gather,scatter", fb_result_text(row, "operation"));
}

/* What becomes of a variable that concerns symmetric windows or copy engines. */
static enum outcome window_variable(const struct fb_result *row, const char *name,
				    const char *value, const struct ran *ran, const char **instead)
{
	bool window = !strncmp(fb_result_text(row, "registration"), "window", 6);
	bool symmetric = !strcmp(ran->algorithm, "symmetric");
	bool other; /* the kernel of another function is named: "AllGather_ST" of an all_reduce */
	const char *kernel = strchr(ran->protocol, '_');
	unsigned long number = strtoul(value, NULL, 10);

	*instead = symmetric ? ran->protocol : ran->algorithm;
	if (!window || !*ran->algorithm)
		return UNTOLD;
	if (!strcmp(name, "NCCL_WIN_ENABLE"))
		return as(!number, !symmetric);
	if (!strcmp(name, "NCCL_CTA_POLICY"))
		return as(number == 2 && may_copy(row), !strcmp(ran->algorithm, "copyengine"));
	other = kernel && strncmp(value, ran->protocol, (size_t)(kernel - ran->protocol) + 1);
	return as(symmetric && !other, !strcmp(value, ran->protocol));
}

/* What becomes of a variable that NCCL tells something about. */
static enum outcome variable(const struct fb_result *row, const char *name, const char *value,
			     const struct ran *ran, const char **instead)
{
	static const struct {
		const char *name, *absent;
		bool at; /* the value, as a switch, at which that must not be there */
	} disables[] = {{"NCCL_P2P_DISABLE", "P2P/", true}, {"NCCL_SHM_DISABLE", "SHM/", true},
			{"NCCL_IB_DISABLE", "NET/IB", true}, {"NCCL_CUMEM_ENABLE", "CUMEM", false}};
	static char channels[32];
	char list[TEXT_CHARS];
	const char *operation = fb_result_text(row, "operation");
	bool copies = !strcmp(ran->algorithm, "copyengine");
	/* Sends and receives have no algorithm; all_gather is the one copied operation that has. */
	bool named = strcmp(ran->algorithm, "sendrecv") &&
		     (!copies || !strcmp(operation, "all_gather")) &&
		     part_for(value, operation, list);
	unsigned long number = strtoul(value, NULL, 10);

	*instead = ran->via;
	for (size_t i = 0; i < FB_COUNT_OF(disables); i++)
		if (!strcmp(name, disables[i].name))
			return as(*ran->via, (number > 0) != disables[i].at ||
						     !strstr(ran->via, disables[i].absent));
	if (!strcmp(name, "NCCL_P2P_LEVEL"))
		return as(*ran->via && !strcmp(value, "LOC"), !strstr(ran->via, "P2P/"));
	*instead = ran->network;
	if (!strcmp(name, "NCCL_NET"))
		return as(*ran->network, listed(value, ran->network));
	*instead = ran->algorithm;
	if (!strcmp(name, "NCCL_ALGO"))
		return as(named && *ran->algorithm,
			  named && !copies && allows(list, ran->algorithm));
	if (!strcmp(name, "NCCL_NVLS_ENABLE"))
		return as(*ran->algorithm, number || strncmp(ran->algorithm, "nvls", 4));
	*instead = copies ? ran->algorithm : ran->protocol;
	if (!strcmp(name, "NCCL_PROTO"))
		return as(named && **instead, named && !copies && allows(list, ran->protocol));
	snprintf(channels, sizeof(channels), "%u channels", ran->channels);
	*instead = channels;
	if (!strcmp(name, "NCCL_MAX_CTAS") || !strcmp(name, "NCCL_MAX_NCHANNELS"))
		return as(ran->channels, ran->channels <= number);
	if (!strcmp(name, "NCCL_MIN_CTAS") || !strcmp(name, "NCCL_MIN_NCHANNELS"))
		return as(ran->channels, ran->channels >= number);
	if (!strcmp(name, "NCCL_SYM_CTAS"))
		return as(ran->channels && !strcmp(ran->algorithm, "symmetric"),
			  ran->channels == number);
	if (!strcmp(name, "NCCL_WIN_ENABLE") || !strcmp(name, "NCCL_CTA_POLICY") ||
	    !strcmp(name, "NCCL_SYM_KERNEL"))
		return window_variable(row, name, value, ran, instead);
	snprintf(channels, sizeof(channels), "clusters of %u", ran->cluster);
	if (!strcmp(name, "NCCL_CGA_CLUSTER_SIZE"))
		return as(ran->cluster, ran->cluster == (number ? number : 1));
	return UNTOLD;
}

/* What becomes of a key that says how many CTAs NCCL's kernels may have, or which kind. */
static enum outcome ctas(const struct fb_result *row, const char *key, const char *value,
			 const struct ran *ran, char instead[TEXT_CHARS])
{
	unsigned long number = strtoul(value, NULL, 10);

	if (!strcmp(key, "nccl_cta_policy")) {
		snprintf(instead, TEXT_CHARS, "%s", ran->algorithm);
		return as(*ran->algorithm && !strcmp(value, "zero") && may_copy(row),
			  !strcmp(ran->algorithm, "copyengine"));
	}
	if (!strcmp(key, "nccl_cluster")) {
		snprintf(instead, TEXT_CHARS, "clusters of %u", ran->cluster);
		return as(ran->cluster, ran->cluster == (number ? number : 1));
	}
	snprintf(instead, TEXT_CHARS, "%u channels", ran->channels);
	if (!strcmp(key, "nccl_max_ctas"))
		return as(ran->channels, ran->channels <= number);
	if (!strcmp(key, "nccl_min_ctas"))
		return as(ran->channels, ran->channels >= number);
	return as(ran->channels, ran->channels == number);
}

/* Judges the keys of `variant`: the CTAs asked for, and variables of the environment. */
static void judge_variant(struct table *table, const struct fb_result *row, const struct ran *ran,
			  bool measured)
{
	const char *variant = fb_result_text(row, "variant");
	struct fb_span_text name, value;

	while (fb_variant_next(&variant, &name, &value)) {
		char asked[TEXT_CHARS], key[64], text[TEXT_CHARS], ctas_ran[TEXT_CHARS];
		const char *instead = ctas_ran;
		enum outcome outcome = UNTOLD;
		bool environment = name.length > 4 && !strncmp(name.text, "env.", 4);

		snprintf(key, sizeof(key), "%.*s", (int)name.length - (environment ? 4 : 0),
			 name.text + (environment ? 4 : 0));
		snprintf(text, sizeof(text), "%.*s", (int)value.length, value.text);
		snprintf(asked, sizeof(asked), "%s=%.*s", key, 80, text);
		if (environment)
			outcome = variable(row, key, text, ran, &instead);
		else if (!strcmp(key, "channels") || !strcmp(key, "nccl_cluster") ||
			 !strcmp(key, "nccl_cta_policy") || !strcmp(key, "nccl_max_ctas") ||
			 !strcmp(key, "nccl_min_ctas"))
			outcome = ctas(row, key, text, ran, ctas_ran);
		else
			continue;
		note(table, row, measured ? outcome : NOT_RUN, asked, instead);
	}
}

/*
 * Only windows show in what ran; other kinds of registration cannot be judged. A variable may rule
 * windows out, so a row with NCCL's variables is judged by these alone.
 */
static enum outcome registration(const struct fb_result *row, const char *asked,
				 const struct ran *ran)
{
	if (strstr(fb_result_text(row, "variant"), "env.NCCL_"))
		return UNTOLD;
	if (!strcmp(asked, "window"))
		return as(*ran->algorithm, !strcmp(ran->algorithm, "symmetric"));
	if (!strcmp(asked, "window-copy"))
		return as(*ran->algorithm, !strcmp(ran->algorithm, "copyengine"));
	return UNTOLD;
}

/* "NCCL ran ring:ll128 where tree:library was forced: no row of that" */
static bool refused(const char *reason, char ran[TEXT_CHARS])
{
	if (!strstr(reason, "NCCL ran ") || !strstr(reason, " was forced"))
		return false;
	between(reason, "NCCL ran ", " ", ran, TEXT_CHARS);
	return true;
}

/* Whether an algorithm and a protocol are those that ran; kernels of windows have other names. */
static bool is_same(const char *algorithm, const char *protocol, const struct ran *ran)
{
	const char *kernel = strchr(ran->protocol, '_');

	if (!strcmp(algorithm, "symk"))
		return !strcmp(ran->algorithm, "symmetric") && kernel &&
		       !strcasecmp(kernel + 1, protocol);
	return !strcmp(algorithm, ran->algorithm) &&
	       (!strcmp(protocol, "library") || !strcmp(protocol, ran->protocol));
}

static void judge(struct table *table, const struct fb_result *row)
{
	const char *algorithm = fb_result_text(row, "algorithm");
	const char *protocol = fb_result_text(row, "protocol");
	const char *registered = fb_result_text(row, "registration");
	int status = fb_status_parse(fb_result_text(row, "status"));
	bool measured = status == FB_STATUS_OK || status == FB_STATUS_FEW ||
			status == FB_STATUS_WRONG;
	struct ran ran = parse(row);
	char asked[TEXT_CHARS], other[TEXT_CHARS];

	snprintf(asked, sizeof(asked), "--nccl-force %s:%s", algorithm, protocol);
	snprintf(other, sizeof(other), "%s:%s", ran.algorithm, ran.protocol);
	if (!measured && refused(fb_result_text(row, "reason"), other))
		note(table, row, RAN_OTHERWISE, asked, other);
	else if (strcmp(algorithm, "library") && strcmp(algorithm, "grouped"))
		note(table, row,
		     !measured ? NOT_RUN : as(*ran.algorithm, is_same(algorithm, protocol, &ran)),
		     asked, other);
	snprintf(asked, sizeof(asked), "--registration %s", registered);
	if (strcmp(registered, "none"))
		note(table, row, measured ? registration(row, registered, &ran) : NOT_RUN, asked,
		     ran.algorithm);
	judge_variant(table, row, &ran, measured);
}

static int by_name(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int less = strcmp(x->asked, y->asked);

	return less ? less : strcmp(x->ran, y->ran);
}

void fb_summary_asked(const struct fb_report *report)
{
	struct table table = {0};
	size_t findings = 0;

	for (size_t i = 0; i < report->results->count; i++)
		if (!strcmp(fb_result_text(&report->results->row[i], "engine"), "nccl"))
			judge(&table, &report->results->row[i]);
	if (table.count)
		qsort(table.line, table.count, sizeof(*table.line), by_name);
	fprintf(report->out, "%-40s %8s %9s %6s %7s\n", "asked of NCCL", "ran", "otherwise",
		"untold", "not run");
	for (size_t i = 0; i < table.count; i++) {
		const struct line *l = &table.line[i];

		if (!*l->ran)
			fprintf(report->out, "%-40s %8zu %9zu %6zu %7zu%s%s\n", l->asked,
				l->count[RAN_AS_ASKED], l->count[RAN_OTHERWISE], l->count[UNTOLD],
				l->count[NOT_RUN], *l->example ? "  " : "", l->example);
	}
	fputc('\n', report->out);
	for (size_t i = 0; i < table.count; i++) {
		const struct line *l = &table.line[i];

		if (*l->ran)
			fprintf(report->out, "FINDING %zu: %s was asked, %s ran, in %zu rows\n",
				++findings, l->asked, l->ran, l->count[RAN_OTHERWISE]);
	}
	if (!findings)
		fprintf(report->out, "all that ran is what was asked, as far as NCCL tells\n");
}
