/* SPDX-License-Identifier: BSD-3-Clause */
/* Tuning tables: what they say, which rule is found, what is refused. */
#include "collectives/tuning/tuning.h"

#include <stdlib.h>

#include "collectives/algorithm/algorithm.h"
#include "common/base/error.h"
#include "tests/unit/check.h"

static const char example[] =
	"# a comment\n"
	"table one gpu  Some GPU 80GB \n"
	"\n"
	"rule cuda all_reduce 2 1 p2p any any 8 8K  auto auto  one_shot ll 0 0 0 # fast\n"
	"rule cuda all_reduce 2 1 p2p any any 64K 1M  auto auto  two_shot ll128 4 0 0\n"
	"rule cuda all_reduce 2 1 p2p any any 8M 1G  auto auto  ring direct 32 512 2M\n"
	"rule cuda all_reduce 2 1 p2p any any 8 1G  auto ll  tree ll 1 0 0\n"
	"rule cuda all_reduce 4 1 p2p any 2 8 1G  auto auto  ring ll128 8 0 0\n"
	"rule cuda all_reduce 4 1 p2p any 8 8 1G  auto auto  ring simple 8 0 0\n"
	"rule cuda broadcast 4 1 p2p yes any 8 1G  auto auto  chain simple 0 0 0\n"
	"rule cuda broadcast 4 1 p2p no any 8 1G  auto auto  star simple 0 0 0\n"
	"rule cuda reduce 4 1 p2p any any 8 1G  auto auto  tree simple 0 0 0\n"
	"rule cuda reduce 4 1 p2p any any 8 1G  auto auto  chain ll 8 0 0 channels=8\n"
	"rule cuda reduce 4 1 p2p any any 8 1G  auto auto  chain ll128 32 0 0 channels=32 # few\n"
	"rule cuda reduce 4 1 p2p any any 8 1G  auto auto  star direct 4 0 0 objective=overlapped\n"
	"rule cuda reduce 4 1 p2p any any 8 1G  auto auto  star ll 4 0 0 objective=overlapped "
	"channels=4\n"
	"rule cuda gather 4 1 p2p yes any 64K 1M  auto auto  chain simple 0 0 0 unaligned\n"
	"rule cuda gather 4 1 p2p any any 8 16K  auto auto  star ll 0 0 0\n"
	"rule cuda gather 4 1 p2p any any 64K 1M  auto auto  tree simple 0 0 0\n"
	"table two cpu Some CPU\n"
	"rule host barrier 3 2 shm+tcp any any 0 0  auto auto  tree simple 0 0 0";

static struct fb_tuning_key asked(const char *operation, int ranks)
{
	return (struct fb_tuning_key){
		.engine = "cuda", .operation = operation, .transport = "p2p", .algorithm = "auto",
		.protocol = "auto", .ranks = ranks, .nodes = 1, .in_place = 0, .element = 4};
}

/* "algorithm protocol" of the rule that is found, or "none". */
static const char *found(const struct fb_tuning *tuning, struct fb_tuning_key key, uint64_t bytes,
			 char *text, size_t n)
{
	const struct fb_tuning_rule *rule = fb_tuning_find(tuning, &key, bytes, NULL, NULL);

	snprintf(text, n, "%s%s%s", rule ? rule->algorithm : "none", rule ? " " : "",
		 rule ? rule->protocol : "");
	return text;
}

#define CHECK_FOUND(tuning, key, bytes, want)                                                      \
	do {                                                                                       \
		char text_[64];                                                                    \
		CHECK_STR(found(tuning, key, bytes, text_, sizeof(text_)), want);                  \
	} while (0)

static void test_read(void)
{
	struct fb_tunings t = {.count = 0};
	const struct fb_tuning_rule *rule;

	if (!CHECK_INT(fb_tunings_parse(&t, example, "example", stdout), FB_OK))
		return;
	CHECK_INT(t.count, 2);
	CHECK_STR(t.table[0].name, "one");
	CHECK_STR(t.table[0].model, "Some GPU 80GB");
	CHECK_INT(t.table[0].kind, FB_MACHINE_GPU);
	CHECK_INT(t.table[0].nrules, 16);
	CHECK_INT(t.table[1].kind, FB_MACHINE_CPU);
	CHECK_INT(t.table[1].nrules, 1);
	rule = &t.table[0].rule[2];
	CHECK_STR(rule->algorithm, "ring");
	CHECK_INT(rule->tuned.channels, 32);
	CHECK_INT(rule->tuned.threads, 512);
	CHECK_INT(rule->tuned.slot_bytes, 2 << 20);
	CHECK_INT(rule->from, 8 << 20);
	CHECK_INT(rule->line, 6);
	CHECK(fb_tunings_for(&t, FB_MACHINE_GPU, "Some GPU 80GB") == &t.table[0]);
	CHECK(fb_tunings_for(&t, FB_MACHINE_GPU, "Some GPU") == NULL);
	CHECK(fb_tunings_for(&t, FB_MACHINE_GPU, "Some CPU") == NULL);
	CHECK(fb_tunings_for(&t, FB_MACHINE_CPU, NULL) == &t.table[1]);
	fb_tunings_free(&t);
}

static void test_sizes(const struct fb_tuning *one)
{
	struct fb_tuning_key key = asked("all_reduce", 2);

	CHECK_FOUND(one, key, 8, "one_shot ll");
	CHECK_FOUND(one, key, 0, "one_shot ll");
	CHECK_FOUND(one, key, 8 << 10, "one_shot ll");
	/* Between 8K and 64K the geometric mean divides. */
	CHECK_FOUND(one, key, 22 << 10, "one_shot ll");
	CHECK_FOUND(one, key, 24 << 10, "two_shot ll128");
	CHECK_FOUND(one, key, 1 << 20, "two_shot ll128");
	CHECK_FOUND(one, key, 4 << 20, "ring direct");
	CHECK_FOUND(one, key, UINT64_C(1) << 40, "ring direct");
}

/* Rules that are only for who asks for few channels, or for what is best beside computing. */
static void test_conditions(const struct fb_tuning *one)
{
	struct fb_tuning_key key = asked("reduce", 4);

	CHECK_FOUND(one, key, 64, "tree simple");
	key.channels = 8;
	CHECK_FOUND(one, key, 64, "chain ll");
	key.channels = 15;
	CHECK_FOUND(one, key, 64, "chain ll");
	key.channels = 17;
	CHECK_FOUND(one, key, 64, "chain ll128");
	key.objective = FB_OVERLAPPED;
	CHECK_FOUND(one, key, 64, "star ll");
	key.channels = 0;
	CHECK_FOUND(one, key, 64, "star direct");
	/* Far below what was measured the usual rules hold. */
	CHECK_FOUND(one, key, UINT64_C(5) << 30, "star direct");
	CHECK_FOUND(one, key, 2, "star direct");
	CHECK_FOUND(one, key, 1, "tree simple");
	/* Nothing was measured beside computing with so many ranks, but with four. */
	key.ranks = 8;
	CHECK_FOUND(one, key, 64, "star direct");
	key.objective = FB_ALONE;
	CHECK_FOUND(one, key, 64, "none");
	key.objective = FB_OVERLAPPED;
	key.ranks = 1;
	CHECK_FOUND(one, key, 64, "none");
	/* In the very middle the larger sizes' rule counts. */
	key = asked("gather", 4);
	CHECK_FOUND(one, key, 32 << 10, "tree simple");
	CHECK_FOUND(one, key, (32 << 10) - 4, "star ll");
	/* So do rules for unaligned blocks, which go before those for buffers in place or not. */
	key.unaligned = true;
	CHECK_FOUND(one, key, 64 << 10, "chain simple");
	CHECK_FOUND(one, key, 16 << 10, "chain simple");
	CHECK_FOUND(one, key, 15 << 10, "star ll");
	CHECK(fb_tuning_unaligned(4100) && !fb_tuning_unaligned(4112) && !fb_tuning_unaligned(8));
	/* What has no such rule has the others. */
	key = asked("all_reduce", 2);
	key.channels = 8;
	key.objective = FB_OVERLAPPED;
	CHECK_FOUND(one, key, 8, "one_shot ll");
}

static void test_spans(const struct fb_tuning *one)
{
	struct fb_tuning_key key = asked("all_reduce", 2);

	CHECK(fb_tuning_spans(one, &key, 8));
	/* Between two ranges, and within one. */
	CHECK(fb_tuning_spans(one, &key, 32 << 10));
	CHECK(fb_tuning_spans(one, &key, 1 << 20));
	CHECK(!fb_tuning_spans(one, &key, 7));
	CHECK(!fb_tuning_spans(one, &key, (UINT64_C(1) << 30) + 1));
	key.objective = FB_OVERLAPPED;
	CHECK(!fb_tuning_spans(one, &key, 64));
}

static bool not_ring(void *arg, const struct fb_tuning_rule *rule)
{
	++*(int *)arg;
	return strcmp(rule->algorithm, "ring") != 0;
}

static void test_find(void)
{
	struct fb_tunings t = {.count = 0};
	struct fb_tuning_key key = asked("all_reduce", 2), broadcast = asked("broadcast", 4);
	const struct fb_tuning_rule *rule;
	int calls = 0;

	if (!CHECK_INT(fb_tunings_parse(&t, example, "example", stdout), FB_OK))
		return;
	test_sizes(&t.table[0]);
	test_spans(&t.table[0]);
	test_conditions(&t.table[0]);
	rule = fb_tuning_find(&t.table[0], &key, 1 << 30, not_ring, &calls);
	CHECK(rule && !strcmp(rule->algorithm, "two_shot"));
	CHECK(calls > 0);
	key.protocol = "ll";
	CHECK_FOUND(&t.table[0], key, 1 << 30, "tree ll");
	key.protocol = "simple";
	CHECK_FOUND(&t.table[0], key, 1 << 30, "none");
	key = asked("all_reduce", 2);
	key.engine = "host";
	CHECK_FOUND(&t.table[0], key, 8, "none");
	key = asked("all_reduce", 2);
	key.transport = "shm";
	CHECK_FOUND(&t.table[0], key, 8, "none");
	key = asked("all_reduce", 2);
	key.nodes = 2;
	CHECK_FOUND(&t.table[0], key, 8, "none");
	CHECK_FOUND(&t.table[0], asked("all_reduce", 3), 8, "none");
	CHECK_FOUND(NULL, asked("all_reduce", 2), 8, "none");
	key = asked("all_reduce", 4);
	key.element = 1;
	CHECK_FOUND(&t.table[0], key, 8, "ring ll128");
	key.element = 8;
	CHECK_FOUND(&t.table[0], key, 8, "ring simple");
	CHECK_FOUND(&t.table[0], broadcast, 8, "star simple");
	broadcast.in_place = 1;
	CHECK_FOUND(&t.table[0], broadcast, 8, "chain simple");
	fb_tunings_free(&t);
}

/* What a table has no rule for is another's, in which order they may stand, but of its kind. */
static void test_like(void)
{
	static const char text[] =
		"table new gpu New GPU\n"
		"like old\n"
		"rule cuda all_reduce 2 1 p2p any any 8 1G  auto auto  ring ll 0 0 0\n"
		"table old cpu Old CPU\n"
		"rule cuda all_reduce 4 1 p2p any any 8 1G  auto auto  star ll 0 0 0\n"
		"table old gpu Old GPU\n"
		"rule cuda all_reduce 2 1 p2p any any 8 1G  auto auto  tree ll 0 0 0\n"
		"rule cuda all_reduce 4 1 p2p any any 8 1G  auto auto  one_shot ll 0 0 0\n"
		"table lonely gpu Lonely GPU\n"
		"like nobody\n"
		"rule cuda all_reduce 2 1 p2p any any 8 1G  auto auto  tree ll 0 0 0\n";
	struct fb_tuning_key two = asked("all_reduce", 2), four = asked("all_reduce", 4);
	struct fb_tunings t = {.count = 0};
	const struct fb_tuning_rule *rule;
	int calls = 0;

	if (!CHECK_INT(fb_tunings_parse(&t, text, "text", stdout), FB_OK))
		return;
	CHECK(t.table[0].like == &t.table[2]);
	CHECK_FOUND(&t.table[0], two, 8, "ring ll");
	CHECK_FOUND(&t.table[0], four, 8, "one_shot ll");
	CHECK_FOUND(&t.table[0], asked("all_reduce", 3), 8, "none");
	CHECK_FOUND(&t.table[2], two, 8, "tree ll");
	CHECK(t.table[3].like == NULL);
	CHECK_FOUND(&t.table[3], four, 8, "none");
	rule = fb_tuning_find(&t.table[0], &four, 8, NULL, NULL);
	CHECK(rule && !strcmp(rule->table, "old"));
	/* One that cannot be used is none. */
	rule = fb_tuning_find(&t.table[0], &two, 8, not_ring, &calls);
	CHECK(rule && !strcmp(rule->algorithm, "tree") && !strcmp(rule->table, "old"));
	fb_tunings_free(&t);
}

/* Two that are like each other: of few channels and beside computing only one knows something. */
static void test_like_each_other(void)
{
	static const char text[] =
		"table a gpu A\n"
		"like b\n"
		"rule cuda all_reduce 2 1 p2p any any 8 1G  auto auto  ring ll 0 0 0\n"
		"table b gpu B\n"
		"like a\n"
		"rule cuda all_reduce 2 1 p2p any any 8 1G  auto auto  tree ll 0 0 0\n"
		"rule cuda all_reduce 2 1 p2p any any 1M 1G auto auto  star ll 8 0 0 channels=8\n"
		"rule cuda all_reduce 2 1 p2p any any 1M 1G auto auto  chain ll 0 0 0 "
		"objective=overlapped\n"
		"rule cuda all_gather 2 1 p2p any any 8 1G  auto auto  pat ll 0 0 0\n";
	struct fb_tuning_key any = asked("all_reduce", 2), few = any, beside = any;
	struct fb_tunings t = {.count = 0};

	few.channels = 4;
	beside.objective = FB_OVERLAPPED;
	if (!CHECK_INT(fb_tunings_parse(&t, text, "text", stdout), FB_OK))
		return;
	CHECK_FOUND(&t.table[0], any, 1 << 20, "ring ll");
	CHECK_FOUND(&t.table[0], few, 1 << 20, "star ll");
	CHECK_FOUND(&t.table[0], few, 8, "ring ll");
	CHECK_FOUND(&t.table[0], beside, 1 << 20, "chain ll");
	CHECK_FOUND(&t.table[0], asked("all_gather", 2), 8, "pat ll");
	CHECK_FOUND(&t.table[1], any, 1 << 20, "tree ll");
	CHECK_FOUND(&t.table[1], asked("broadcast", 2), 8, "none");
	CHECK(fb_tuning_apart(&t.table[1].rule[1], 1 << 18) > 1.99 &&
	      fb_tuning_apart(&t.table[1].rule[1], 1 << 21) < 0.01);
	fb_tunings_free(&t);
}

static void test_refused(void)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{"nonsense", "f:1: 'nonsense': expected table, like or rule"},
		{"#\n\ntable x", "f:3: expected: table NAME gpu|cpu MODEL"},
		{"table x tpu Some", "f:1: expected: table NAME gpu|cpu MODEL"},
		{"table x gpu   ", "f:1: expected: table NAME gpu|cpu MODEL"},
		{"rule a b 1 1 t any any 0 1 auto auto c d 0 0 0", "a rule before any line table"},
		{"table x gpu y\nrule a b", "f:2: 2 words behind rule: expected 16"},
		{"table x gpu y\nrule a b 0 1 t any any 0 1 auto auto c d 0 0 0", "ranks '0'"},
		{"table x gpu y\nrule a b 1 -1 t any any 0 1 auto auto c d 0 0 0", "nodes '-1'"},
		{"table x gpu y\nrule a b 1 1 t maybe any 0 1 auto auto c d 0 0 0", "'maybe'"},
		{"table x gpu y\nrule a b 1 1 t any 65 0 1 auto auto c d 0 0 0", "element '65'"},
		{"table x gpu y\nrule a b 1 1 t any any 2 1 auto auto c d 0 0 0", "more than to"},
		{"table x gpu y\nrule a b 1 1 t any any 0 1x auto auto c d 0 0 0", "to '1x'"},
		{"table x gpu y\nrule a b 1 1 t any any 0 1 auto auto auto d 0 0 0", "auto again"},
		{"table x gpu y\nrule a b 1 1 t any any 0 1 auto auto c d 0 9999 0", "threads"},
		{"table x gpu y\nrule a b 1 1 t any any 0 1 auto auto c d any 0 0", "channels"},
		{"table x gpu y\nrule a b 1 1 t any any 0 1 auto auto c d 0 100 0",
		 "f:2: threads '100': expected a multiple of 32"},
		{"table x gpu y\nrule a b 1 1 t any any 0 1 auto auto c d 0 0 0 e",
		 "'e': expected"},
		{"table x gpu y\nrule a b 1 1 t any any 0 1 auto auto c d 0 0 0 channels=0",
		 "channels= '0'"},
		{"table x gpu y\nrule a b 1 1 t any any 0 1 auto auto c d 0 0 0 objective=alone",
		 "'objective=alone': expected channels=N, objective=overlapped or unaligned"},
		{"like x", "f:1: like x: expected once, behind a line table"},
		{"table x gpu y\nlike a\nlike b", "f:3: like b: expected once"},
		{"table x gpu y\nlike", "f:2: expected: like NAME"},
		{"table x gpu y\nlike a b", "f:2: expected: like NAME"},
		{"table x gpu y\nlike x\ntable z gpu z", "f:2: table x is like x, which is like x"},
		{"table x gpu y\nlike a\ntable a gpu b\nlike c", "f:2: table x is like a, which"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct fb_tunings t = {.count = 7};
		char *text = NULL;
		size_t n = 0;
		FILE *errors = open_memstream(&text, &n);

		if (!CHECK(errors != NULL))
			return;
		CHECK_INT(fb_tunings_parse(&t, wrong[i].text, "f", errors), FB_EINPUT);
		fclose(errors);
		CHECK_INT(t.count, 7);
		if (!CHECK(strstr(text, wrong[i].why) != NULL))
			printf("\tgot %s", text);
		CHECK(strchr(text, '\n') == text + n - 1);
		free(text);
	}
}

/* Those of the folder: each has a model of its own, rules, and names that exist. */
static void test_built_in(void)
{
	struct fb_tunings t = {.count = 0};
	const char *stages;

	if (!CHECK_INT(fb_tunings_parse(&t, fb_tunings_built_in(), "built in", stdout), FB_OK))
		return;
	for (size_t i = 0; i < t.count; i++) {
		CHECK(fb_tunings_for(&t, t.table[i].kind, t.table[i].model) == &t.table[i]);
		CHECK(t.table[i].nrules > 0);
		CHECK(!t.table[i].like_name || t.table[i].like);
	}
	for (size_t i = 0; i < t.nrules; i++) {
		int collective = fb_collective_parse(t.rule[i].key.operation);

		if (!CHECK(collective >= 0) || !strcmp(t.rule[i].key.engine, "copy") ||
		    !strncmp(t.rule[i].algorithm, "copy/", 5))
			continue;
		if (!CHECK(fb_algorithm_of_text((enum fb_collective)collective,
						t.rule[i].algorithm, &stages) != NULL))
			printf("\tline %d\n", t.rule[i].line);
	}
	fb_tunings_free(&t);
}

int main(void)
{
	test_read();
	test_find();
	test_like();
	test_like_each_other();
	test_refused();
	test_built_in();
	return check_done("tuning");
}
