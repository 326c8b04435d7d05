/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tuner plugin of NCCL, in libfabricbench-nccl.so. It chooses by a table (tuner.h), in any job:
 *
 *	NCCL_TUNER_PLUGIN=/path/libfabricbench-nccl.so FB_NCCL_TABLE=file mpirun ...
 *
 * or as a program that has loaded the plugin itself demands before each call (plugin.h).
 */
#include "common/library/nccl/tuner.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, MOST_RULES = 1024 };

/* NCCL's numbers of functions, algorithms and protocols are indices in these lists. */
static const char *const functions[] = {"broadcast", "reduce", "allgather", "reducescatter",
					"allreduce"};
static const char *const algorithms[] = {"tree", "ring", "collnetdirect", "collnetchain", "nvls",
					 "nvlstree", "pat"};
static const char *const protocols[] = {"ll", "ll128", "simple"};

struct rule {
	int function, algorithm, protocol, channels;
	unsigned long long from, to;
};

struct table {
	size_t n;
	struct rule rule[MOST_RULES];
};

/*
 * The cell that a program forces. NCCL may ask from a thread that it has started for the call;
 * starting a thread makes the program's earlier stores visible to it.
 */
static struct {
	bool by_program;          /* so no table is needed */
	int algorithm, protocol;  /* -1: NCCL chooses */
	unsigned obeyed;
} forced = {.algorithm = -1, .protocol = -1};

static int number_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return (int)i;
	return -1;
}

#define NUMBER_OF(name, names) number_of(name, names, sizeof(names) / sizeof((names)[0]))

/* 1: the line has a rule; 0: it is empty; -1: it is wrong (printed). */
static int parse(const char *line, int number, struct rule *rule)
{
	char function[32], algorithm[32], protocol[32], more;
	int n;

	if (line[strspn(line, " \t\n")] == '\0' || line[strspn(line, " \t")] == '#')
		return 0;
	n = sscanf(line, "%31s %llu %llu %31s %31s %d %c", function, &rule->from, &rule->to,
		   algorithm, protocol, &rule->channels, &more);
	if (n == 6 || (n == 7 && more == '#')) {
		rule->function = NUMBER_OF(function, functions);
		rule->algorithm = NUMBER_OF(algorithm, algorithms);
		rule->protocol = NUMBER_OF(protocol, protocols);
		if (rule->function >= 0 && rule->algorithm >= 0 && rule->protocol >= 0 &&
		    rule->channels >= 0)
			return 1;
	}
	fprintf(stderr, "fabricbench: FB_NCCL_TABLE, line %d: expected FUNCTION FROM TO ALGORITHM "
		"PROTOCOL CHANNELS, as allreduce 0 65536 ring ll 4\n", number);
	return -1;
}

int fb_nccl_tuner_force(const char *algorithm, const char *protocol)
{
	forced.by_program = true;
	forced.algorithm = algorithm ? NUMBER_OF(algorithm, algorithms) : -1;
	forced.protocol = protocol ? NUMBER_OF(protocol, protocols) : -1;
	forced.obeyed = 0;
	return (algorithm && forced.algorithm < 0) || (protocol && forced.protocol < 0) ? -1 : 0;
}

unsigned fb_nccl_tuner_obeyed(void)
{
	return forced.obeyed;
}

/* Rules out all other cells. If none of the requested cells is possible, all cells stay. */
static void force_cells(float *costs, int nalgorithms, int nprotocols)
{
	bool possible = false;

	for (int pass = 0; pass < 2 && (pass == 0 || possible); pass++)
		for (int i = 0; i < nalgorithms * nprotocols; i++) {
			bool asked = i / nprotocols == forced.algorithm &&
				     (forced.protocol < 0 || i % nprotocols == forced.protocol);

			possible |= asked && costs[i] >= 0;
			if (pass && !asked)
				costs[i] = -1;
		}
	forced.obeyed += possible;
}

/* A table that is missing or wrong is an error, so that no job runs without it unnoticed. */
static int open_table(void **context)
{
	const char *file = getenv("FB_NCCL_TABLE");
	struct table *table = calloc(1, sizeof(*table));
	FILE *f = file ? fopen(file, "r") : NULL;
	char line[256];
	int number = 0, found = 0, err = INVALID_ARGUMENT;

	*context = NULL;
	if (forced.by_program && !file) {
		free(table);
		return 0;
	}
	if (!table || !f) {
		fprintf(stderr, "fabricbench: FB_NCCL_TABLE=%s cannot be read\n",
			file ? file : "");
		found = -1;
		err = SYSTEM_ERROR;
	}
	while (found >= 0 && table && table->n < MOST_RULES && fgets(line, sizeof(line), f)) {
		found = parse(line, ++number, &table->rule[table->n]);
		table->n += found > 0;
	}
	if (f)
		fclose(f);
	if (found < 0) {
		free(table);
		return err;
	}
	*context = table;
	return 0;
}

static int init_2(size_t ranks, size_t nodes, void (*log)(void), void **context)
{
	(void)ranks;
	(void)nodes;
	(void)log;
	return open_table(context);
}

static int init_5(void **context, uint64_t hash, size_t ranks, size_t nodes, void (*log)(void),
		  void *domains, void *constants)
{
	(void)hash;
	(void)domains;
	(void)constants;
	return init_2(ranks, nodes, log, context);
}

static const struct rule *find(const struct table *table, int function, size_t bytes)
{
	for (size_t i = 0; table && i < table->n; i++)
		if (table->rule[i].function == function && table->rule[i].from <= bytes &&
		    bytes <= table->rule[i].to)
			return &table->rule[i];
	return NULL;
}

static int choose_2(void *context, int function, size_t bytes, int collnet, int nvls,
		    int operations, int *algorithm, int *protocol, int *channels)
{
	/* Bits of the functions that have each algorithm in NCCL 2.21, which has no pat. */
	static const unsigned char has[] = {0x10, 0x1f, 0x1c, 0x10, 0x1c, 0x10, 0};
	const struct rule *rule = find(context, function, bytes);

	(void)operations;
	/* NCCL checks no choice here, so this does. Only ring and tree have LL. */
	if (!rule || !(has[rule->algorithm] >> function & 1) ||
	    (rule->algorithm > 1 && rule->protocol != 2) ||
	    (!collnet && (rule->algorithm == 2 || rule->algorithm == 3)) ||
	    (!nvls && (rule->algorithm == 4 || rule->algorithm == 5)))
		return 0;
	*algorithm = rule->algorithm;
	*protocol = rule->protocol;
	if (rule->channels)
		*channels = rule->channels;
	return 0;
}

static int choose_4(void *context, int function, size_t bytes, int operations, float **costs,
		    int nalgorithms, int nprotocols, int registered, int *channels)
{
	const struct rule *rule = find(context, function, bytes);
	float *cell;

	(void)operations;
	(void)registered;
	if (forced.algorithm >= 0) {
		force_cells((float *)(void *)costs, nalgorithms, nprotocols);
		return 0;
	}
	if (!rule || rule->algorithm >= nalgorithms || rule->protocol >= nprotocols)
		return 0;
	/* The costs are one array, despite their type. Below 0: NCCL cannot use the cell here. */
	cell = (float *)(void *)costs + rule->algorithm * nprotocols + rule->protocol;
	if (*cell < 0)
		return 0;
	*cell = 0;
	if (rule->channels)
		*channels = rule->channels;
	return 0;
}

static int choose_3(void *context, int function, size_t bytes, int operations, float **costs,
		    int nalgorithms, int nprotocols, int *channels)
{
	return choose_4(context, function, bytes, operations, costs, nalgorithms, nprotocols, 0,
			channels);
}

static int destroy(void *context)
{
	free(context);
	return 0;
}

#define TUNER(version, init_, choose_)                                                             \
	extern const struct fb_nccl_tuner ncclTunerPlugin_v##version;                              \
	const struct fb_nccl_tuner ncclTunerPlugin_v##version = {                                  \
		.name = "fabricbench", .init = (void (*)(void))(init_),                            \
		.choose = (void (*)(void))(choose_), .destroy = destroy}

TUNER(2, init_2, choose_2);
TUNER(3, init_2, choose_3);
TUNER(4, init_2, choose_4);
TUNER(5, init_5, choose_4);
TUNER(6, init_5, choose_4);
TUNER(7, init_5, choose_4);
