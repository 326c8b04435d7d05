/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slow_node: which node is slow, from one study run on many pairs of nodes, as scripts/slurm/submit
 * --permute does. lib/slow_nodes.h explains the method.
 *
 * Small, medium and large messages are judged separately. A port that negotiated half its rate
 * slows large messages only, a processor in a deep sleep state small ones only, and a mean over all
 * sizes would hide both.
 */
#include "common/base/error.h"
#include "common/option/option.h"
#include "scripts/tools/lib/slow_nodes.h"
#include "scripts/tools/lib/memory.h"
#include "scripts/tools/lib/node_sets.h"
#include "scripts/tools/lib/text.h"
#include "scripts/tools/lib/tool.h"

#include <csv.h>
#include <math.h>

struct settings {
	double threshold;
};

#define FLAG(field, short_, name, help) FB_OPTION_FLAG(struct settings, field, short_, name, help)

static const struct fb_option table[] = {
	FB_OPTION_GROUP("What counts"),
	FB_OPTION_RATIO(struct settings, threshold, 't', "threshold", "10%", 1e-3, 100,
			"how much slower than the others a node has to be"),
	FB_OPTION_END,
};

static const char description[] =
	"slow_node [option...] DIR\n\n"
	"Reads the results of one study on many sets of nodes, as scripts/slurm/submit --permute "
	"makes them, and names nodes with which most sets are slow, and sets that are slow though "
	"none of their nodes is. 1.00 is the time of an unimpaired set; small, medium and large "
	"messages are judged apart. Where allocation.txt says at which switches the nodes are, the "
	"times within one leaf switch and across several are compared, too.\n\n"
	"Exit code: 0 none is slow; 1 some are; 3 the input cannot be used; 4 not sure: a node "
	"that luck alone may have made look slow, two that are slow together only, or nodes in "
	"fewer than two sets with times.";

static const struct tier {
	const char *title, *phrase;
	uint64_t low, high; /* bytes */
} tiers[] = {
	{"to 4K", "up to 4K", 0, 4096},
	{"to 256K", "of 4K to 256K", 4097, 262144},
	{"above", "above 256K", 262145, UINT64_MAX},
};
enum { TIERS = FB_COUNT_OF(tiers) };

/* What is known of one tier. */
struct finding {
	size_t experiments;
	double *ratio;		    /* [nsets] */
	bool *slow_set;		    /* [nsets] */
	struct fb_node_score *node; /* [nnames] */
};

struct analysis {
	struct fb_node_sets sets;
	struct finding tier[TIERS];
};

static void judge_tier(const struct fb_node_sets *sets, const struct tier *tier, double threshold,
		       struct finding *finding)
{
	struct fb_timed_set *set = fb_new(sets->nsets + 1, sizeof(*set));

	finding->ratio = fb_new(sets->nsets + 1, sizeof(*finding->ratio));
	finding->slow_set = fb_new(sets->nsets + 1, sizeof(*finding->slow_set));
	finding->node = fb_new(sets->nnames + 1, sizeof(*finding->node));
	fb_node_sets_ratios(sets, tier->low, tier->high, finding->ratio, &finding->experiments);
	for (size_t i = 0; i < sets->nsets; i++)
		set[i] = (struct fb_timed_set){
			.node = sets->set[i].node,
			.count = sets->set[i].count,
			.time = finding->ratio[i],
		};
	fb_find_slow_nodes(set, sets->nsets, threshold, finding->node, sets->nnames,
			   finding->slow_set);
}

/* Whether a node's sets say anything, in any tier. */
static bool is_known(const struct analysis *a, size_t node)
{
	for (size_t t = 0; t < TIERS; t++)
		if (a->tier[t].experiments && isfinite(a->tier[t].node[node].score))
			return true;
	return false;
}

static bool is_slow(const struct analysis *a, size_t node)
{
	for (size_t t = 0; t < TIERS; t++)
		if (a->tier[t].node[node].slow)
			return true;
	return false;
}

static void print_table(const struct analysis *a)
{
	printf("%-24s %5s", "node", "sets");
	for (size_t t = 0; t < TIERS; t++)
		if (a->tier[t].experiments)
			printf(" %9s", tiers[t].title);
	printf("\n");
	for (size_t i = 0; i < a->sets.nnames; i++) {
		size_t sets = 0;

		for (size_t t = 0; t < TIERS; t++)
			if (a->tier[t].node[i].sets > sets)
				sets = a->tier[t].node[i].sets;
		printf("%-24s %5zu", a->sets.name[i], sets);
		for (size_t t = 0; t < TIERS; t++) {
			if (!a->tier[t].experiments)
				continue;
			if (isfinite(a->tier[t].node[i].score))
				printf(" %9.2f", a->tier[t].node[i].score);
			else
				printf(" %9s", "-");
		}
		printf("%s\n", is_slow(a, i) ? "  slow" : "");
	}
	printf("\n");
}

/* How much it costs that nodes are at several leaf switches: 1.00 is the time at the fewest. */
static void print_switches(const struct analysis *a)
{
	double base[TIERS] = {0};
	size_t most = 0, kinds = 0;

	for (size_t i = 0; i < a->sets.nsets; i++)
		if (a->sets.set[i].switches > most)
			most = a->sets.set[i].switches;
	for (size_t s = 1; s <= most; s++) {
		size_t sets = 0;

		for (size_t i = 0; i < a->sets.nsets; i++)
			sets += a->sets.set[i].switches == s ? 1 : 0;
		if (!sets)
			continue;
		kinds++;
		printf("%zu leaf switch%-11s %5zu", s, s == 1 ? "" : "es", sets);
		for (size_t t = 0; t < TIERS; t++) {
			size_t count;
			double median = fb_node_sets_by_switches(&a->sets, a->tier[t].ratio, s,
								 &count);

			if (!a->tier[t].experiments)
				continue;
			if (count) {
				base[t] = base[t] > 0 ? base[t] : median;
				printf(" %9.2f", median / base[t]);
			} else {
				printf(" %9s", "-");
			}
		}
		printf("\n");
	}
	if (kinds)
		printf("\n");
}

/* "h0 h2": prints the names of a set's nodes. */
static void print_set(const struct fb_node_sets *sets, const struct fb_node_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		printf(" %s", sets->name[set->node[i]]);
}

/* How certain the result is; the exit code follows from it. */
struct verdicts {
	size_t sure, suspected;
};

static void print_node(const char *name, const struct fb_node_score *node, const char *phrase,
		       struct verdicts *verdicts)
{
	bool sure = node->chance <= FB_SLOW_NODE_SURE;

	printf("%s: %s, %.2f times the time of other nodes, messages %s\n",
	       sure ? "slow node" : "perhaps slow", name, node->score, phrase);
	if (!sure)
		printf("  luck alone would name a node so in %.0f%% of such runs: more rounds "
		       "tell\n",
		       100 * node->chance);
	verdicts->sure += sure ? 1 : 0;
	verdicts->suspected += sure ? 0 : 1;
}

static struct verdicts print_verdicts(const struct analysis *a)
{
	struct verdicts verdicts = {0};

	for (size_t i = 0; i < a->sets.nnames; i++)
		for (size_t t = 0; t < TIERS; t++)
			if (a->tier[t].node[i].slow)
				print_node(a->sets.name[i], &a->tier[t].node[i], tiers[t].phrase,
					   &verdicts);
	for (size_t i = 0; i < a->sets.nsets; i++)
		for (size_t t = 0; t < TIERS; t++) {
			if (!a->tier[t].slow_set[i])
				continue;
			verdicts.suspected++;
			printf("slow together:");
			print_set(&a->sets, &a->sets.set[i]);
			printf(", though not with others, messages %s\n", tiers[t].phrase);
		}
	return verdicts;
}

static int report(const struct analysis *a)
{
	size_t unknown = 0;
	struct verdicts verdicts;

	printf("%zu nodes, %zu sets", a->sets.nnames, a->sets.nsets);
	if (a->sets.without)
		printf(", %zu of them without a time", a->sets.without);
	printf("\n\n");
	print_table(a);
	print_switches(a);
	verdicts = print_verdicts(a);
	for (size_t i = 0; i < a->sets.nnames; i++)
		unknown += is_known(a, i) && a->sets.nnames >= 3 ? 0 : 1;
	if (unknown)
		printf("cannot tell for %zu of %zu nodes: each has to be in two sets or more, "
		       "and there have to be three nodes\n",
		       unknown, a->sets.nnames);
	else if (verdicts.sure + verdicts.suspected == 0)
		printf("no node is slow\n");
	if (verdicts.sure)
		return FB_EXIT_REGRESSION;
	return unknown || verdicts.suspected ? FB_EXIT_UNSURE : FB_EXIT_OK;
}

static int run(void *values, char **words, size_t count)
{
	const struct settings *settings = values;
	struct analysis a = {0};
	int err;

	if (count != 1) {
		fb_error(FB_EINPUT, "%zu folders: expected one results folder; see --help", count);
		return FB_EXIT_INPUT;
	}
	err = fb_node_sets_read(&a.sets, words[0]);
	if (err)
		return fb_exit_code(err);
	for (size_t t = 0; t < TIERS; t++)
		judge_tier(&a.sets, &tiers[t], settings->threshold, &a.tier[t]);
	return report(&a);
}

static const struct fb_tool tool = {
	.name = "slow_node",
	.summary = "which node is slow",
	.description = description,
	.table = table,
	.libraries = FB_TOOL_CSV,
	.run = run,
};

FB_TOOL_MAIN(struct settings)
